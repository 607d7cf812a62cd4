"""Attacks on what the kernel shares between jobs, containers and the host, as commands with their expected output.

`TRIALS` holds them by name. Each prints `done` or an error number for each of its steps. `PROBE` is an honest command
that shows what such an attack might leave or take.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

_MACHINE = {"x86_64": 0, "aarch64": 1}[platform.machine()]
_NUMBERS = {
    name: numbers[_MACHINE]
    for name, numbers in {
        "mmap": (9, 222),
        "rt_sigqueueinfo": (129, 138),
        "fcntl": (72, 25),
        "mincore": (27, 232),
        "shmctl": (31, 195),
        "shmget": (29, 194),
        "sendmsg": (46, 211),
        "setsockopt": (54, 208),
        "ioctl": (16, 29),
        "mlockall": (151, 230),
        "sched_setaffinity": (203, 122),
        "timer_create": (222, 107),
        "ioprio_set": (251, 30),
        "splice": (275, 76),
        "timerfd_create": (283, 85),
        "fallocate": (285, 47),
        "prlimit64": (302, 261),
        "setrlimit": (160, 164),
        "sched_setattr": (314, 274),
        "renameat2": (316, 276),
        "seccomp": (317, 277),
        "memfd_create": (319, 279),
        "membarrier": (324, 283),
        "setxattr": (188, 5),
        "signalfd4": (289, 74),
        "eventfd2": (290, 19),
        "epoll_create1": (291, 20),
        "epoll_ctl": (233, 21),
        "setsid": (112, 157),
        "prctl": (157, 167),
        "fadvise": (221, 223),
        "linkat": (265, 37),
        "openat": (257, 56),
        "openat2": (437, 437),
        "pidfd_send_signal": (424, 424),
        "pidfd_open": (434, 434),
        "landlock_create_ruleset": (444, 444),
        "memfd_secret": (447, 447),
        "process_mrelease": (448, 448),
        "listmount": (458, 458),
    }.items()
}
_LIBRARY = """use Socket; use Fcntl; use POSIX; $| = 1; $^F = 9999;
sub shown { print $_[0] ? "done " : $! + 0 . " " }
sub call { my ($number, @rest) = @_; my $result = syscall $number, @rest; shown($result >= 0); $result }
sub option { my ($family, $kind, @rest) = @_; socket my $socket, $family, $kind, 0 or die;
  shown(setsockopt $socket, $rest[0], $rest[1], $rest[2]) }
sub control { my ($handle, $number, $data) = @_; $data //= 0; shown(defined ioctl $handle, $number, $data) }
sub fly { my ($from, $flags, @sent) = @_; my $rights = pack "QLLL*", 16 + 4 * @sent, 1, 1, @sent;
  $rights .= "\\0" x (-length($rights) % 8); my $data = "x"; my $vector = pack "PQ", $data, 1;
  syscall SENDMSG, $from, pack("QQPQPQQ", 0, 0, $vector, 1, $rights, length $rights, 0), $flags }
sub leave { socketpair A, B, AF_UNIX, SOCK_DGRAM, 0; shown(fly(fileno A, 0, fileno A, fileno B, @_) == 1) }
$page = "\\0" x 4096; $group = inet_aton("239.1.2.3") . inet_aton("127.0.0.1"); $lo = pack "L", 1;
$group6 = Socket::inet_pton(10, "ff02::1234"); $request6 = pack("Lx4", 1) . pack("SSLa16x100", 10, 0, 0, $group6);
$request4 = pack("Lx4", 1) . pack("SSa4x120", 2, 0, inet_aton("239.1.2.3")); $one = pack "L", 1;
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """A hostile command and the regular expression that its complete standard output must match."""

    command: str
    prints: str


def _perl(body: str, prints: str) -> Trial:
    program = _LIBRARY + body
    for name, number in sorted(_NUMBERS.items(), key=lambda item: -len(item[0])):
        program = program.replace(name.upper(), str(number))
    assert "'" not in program
    return Trial(f"perl -e '{program}'", prints)


def _bash(command: str, prints: str) -> Trial:
    return Trial(command, prints)


NO_OPTION, NO_PROTOCOL, REFUSED, NO_MEMORY = "92", "93", "1", "12"

NETWORK = {
    "fast open leaves its key in the network": _perl(
        "option 2, 1, 6, 23, $one; option 2, 1, 6, 33, $page; option 10, 1, 6, 23, $one;", f"({NO_OPTION} ){{3}}"
    ),
    "flow labels stay for minutes": _perl(
        'option 10, 2, 41, 32, Socket::inet_pton(10, "::1") . pack "NCCSSSL", 0, 0, 1, 1, 0, 150, 0;', f"{NO_OPTION} "
    ),
    "a report of a multicast group is sent after the job": _perl(
        "option 2, 2, 0, 35, $group; POSIX::_exit(0)", f"{NO_OPTION} "
    ),
    "a report of a multicast group of IPv6 is sent after the job": _perl(
        "option 10, 2, 41, 20, $group6 . $lo; POSIX::_exit(0)", f"{NO_OPTION} "
    ),
    "other ways into a multicast group": _perl(
        'option 2, 2, 0, 39, $group . inet_aton("127.0.0.1"); option 2, 2, 0, $_, $request4 for 42, 46; '
        "option 10, 2, 41, $_, $request6 for 42, 46; option 10, 2, 0, 35, $group;",
        f"({NO_OPTION} ){{6}}",
    ),
    "an address of IPv6 without a route is counted apart": _perl(
        'socket S, 10, 2, 17; $to = pack_sockaddr_in6(53, Socket::inet_pton(10, "2001:db8::1")); '
        "shown(connect S, $to) for 1 .. 3;",
        "(101 ){3}",
    ),
    "keys for the signatures of TCP load a module": _perl(
        'option 2, 1, 6, 14, sockaddr_in(0, INADDR_LOOPBACK) . "\\0" x 112 . pack "CCSLa80", 0, 0, 4, 0, "keys";'
        "option 2, 1, 6, $_, $page for 32, 38;",
        f"({NO_OPTION} ){{3}}",
    ),
    "a protocol above TCP": _perl('option 2, 1, 6, 31, "tls";', f"{NO_OPTION} "),
    "filters of sockets fill the compiler's memory": _perl(
        '$code = pack("SCCL", 6, 0, 0, 0) x 4096; $filter = pack "Sx6P", 4096, $code; '
        "option 1, 2, 1, $_, $filter for 26, 51;",
        f"({NO_OPTION} ){{2}}",
    ),
    "levels and options with bits that the kernel does not read": _perl(
        "socket S, 2, 1, 0; $high = 1 << 40; call SETSOCKOPT, fileno S, 6 | $high, 23 | $high, $one, 4;",
        f"{NO_OPTION} ",
    ),
    "bridges and virtual networks load modules": _perl(
        "socket S, 2, 1, 0; control(*S, $_, $page) for 0x8940, 0x8941, 0x89a0, 0x89a1, 0x8982, 0x8983;",
        f"({REFUSED} ){{6}}",
    ),
    "interfaces, addresses and routes by request": _perl(
        'socket S, 2, 2, 0; $lo = "lo" . "\\0" x 200; '
        "control(*S, $_, $lo) for 0x8914, 0x8916, 0x890b, 0x8922, 0x8955, 0x8923, 0x894c;",
        "((1|95|19|16|22) ){7}",
    ),
    "an address and a route by netlink": _perl(
        "socket S, 16, 3, 0; $address = inet_aton(q(10.0.0.1)); "
        "for (pack(q(LSSLLCCCCLSSa4), 32, 20, 0x605, 1, 0, 2, 8, 0, 0, 1, 8, 2, $address), "
        "pack(q(LSSLLCxSlLL), 32, 16, 5, 1, 0, 0, 1, 1, 0, 1)) { syswrite S, $_; sysread S, $reply, 4096; "
        '$! = -unpack "x16l", $reply; shown(!$!) }',
        f"({REFUSED} |22 ){{2}}",
    ),
    "the lists of sockets of netlink load modules": _perl(
        "for (2, 10, 1, 17, 16, 30, 40) { shown(socket my $s, 16, 3, 4); "
        "syswrite $s, pack q(LSSLLCCCCLx48), 72, $_ < 17 ? 21 : 20, 5, 1, 0, $_, 6, 0, 0, 0 if $s }",
        f"({NO_PROTOCOL} ){{7}}",
    ),
    "replies of netlink that are not read": _perl(
        "$ask = pack q(LSSLLCxSlLL), 32, 18, 5, 1, 0, 0, 0, 1, 0, 0; for (1 .. 20) { socket my $s, 16, 3, 0; "
        "push @kept, $s; syswrite $s, $ask for 1 .. 100 } print 20",
        "20",
    ),
    "connections that end after the job": _perl(
        "socket L, 2, 1, 0; bind L, sockaddr_in(0, INADDR_LOOPBACK); listen L, 99; $to = getsockname L; "
        'for (1 .. 60) { socket my $c, 2, 1, 0; connect $c, $to; fcntl $c, 4, 2048; 1 while syswrite $c, "x" x 99999; '
        "close $c } print 60; POSIX::_exit(0)",
        "60",
    ),
    "every port": _perl(
        "for (1 .. 900) { socket my $s, 2, 2, 0; bind $s, sockaddr_in(20000 + $_, INADDR_ANY) or die; push @kept, $s } "
        "fork // die; print 900; POSIX::_exit(0)",
        "(900){1,2}",  # the job may end before the second process prints
    ),
    "the network itself by request": _perl("socket S, 2, 1, 0; control(*S, 0x894c);", f"({REFUSED}|25) "),
}

IN_FLIGHT = {
    "urgent data in flight": _perl(
        "socketpair A, B, 1, 1, 0; $name = q(left); $m = syscall MEMFD_CREATE, $name, 0; "
        "syscall FALLOCATE, $m, 0, 0, 40 << 20; shown(fly(fileno A, 1, fileno A, fileno B, $m) == 1)",
        "(done|95) ",
    ),
    "a connection in flight that nothing accepted": _perl(
        'socket L, 1, 1, 0; bind L, sockaddr_un("\\0left"); listen L, 9; socket C, 1, 1, 0; '
        'connect C, sockaddr_un("\\0left"); shown(fly(fileno C, 0, fileno L, fileno C) == 1)',
        "done ",
    ),
    "a ring of sockets in flight": _perl(
        "socketpair $a[$_], $b[$_], 1, 5, 0 for 0 .. 9; "
        "shown(fly(fileno $a[$_], 0, fileno $b[($_ + 1) % 10], fileno $a[($_ + 1) % 10]) == 1) for 0 .. 9",
        "(done ){10}",
    ),
    "a listener of system calls in flight": _perl(
        "$code = pack(q(SCCL), 6, 0, 0, 0x7fff0000); $filter = pack q(Sx6P), 1, $code; "
        "leave(syscall SECCOMP, 1, 8, $filter)",
        "done ",
    ),
    "a ruleset in flight": _perl(
        "$rules = pack q(Q), 1; $r = syscall LANDLOCK_CREATE_RULESET, $rules, 8, 0; leave($r < 0 ? 0 : $r)", "done "
    ),
    "a chain of epoll in flight": _perl(
        "$last = syscall EVENTFD2, 0, 0; for (1 .. 4) { $next = syscall EPOLL_CREATE1, 0; $event = pack q(LQ), 1, 0; "
        "syscall EPOLL_CTL, $next, 1, $last, $event; $last = $next } leave($last)",
        "done ",
    ),
    "a signal's descriptor in flight": _perl("$set = pack q(Q), ~0; leave(syscall SIGNALFD4, -1, $set, 8, 0)", "done "),
    "secret memory in flight": _perl(
        "$m = call MEMFD_SECRET, 0; leave($m) if $m >= 0",
        f"{REFUSED} ",
    ),
}

MEMORY = {
    "huge pages": _perl(
        "$name = q(huge); call MMAP, 0, 2 << 20, 3, 0x40022, -1, 0; call MEMFD_CREATE, $name, 4; "
        "call SHMGET, 0, 2 << 20, 0x800 | 0600; call MMAP, 0, 2 << 20, 3, 0x40022 | 1 << 40, -1, 0;",
        f"({NO_MEMORY} ){{4}}",
    ),
    "lock all memory": _perl("call MLOCKALL, 7; call SHMCTL, SHMGET, 0, 0;", "(1|12) .*"),
    "semaphores, queues and undone operations": _perl(
        "for (1 .. 500) { defined semget(0, 100, 0600) or last; $n++ } for (1 .. 100) { $q = msgget 0, 0600; "
        'msgsnd $q, pack("l! a*", 1, "x" x 4000), 2048 for 1 .. 3 } $s = semget 7, 1, 01600; '
        "semop $s, pack q(s!3), 0, 1, 010000; print $n",
        "500",
    ),
    "names that do not exist": _perl('-e "/usr/bin/" . "n" x 200 . $_ for 1 .. 20000; print 20000', "20000"),
    "a page of an image file in a pipe": _perl(
        "open F, q(<), q(/etc/passwd); pipe R, W; syswrite W, q(x) x 4096; sysread R, $x, 4096; $zero = pack q(Q), 0; "
        "call SPLICE, fileno F, $zero, fileno W, 0, 1, 0; syswrite W, q(attacked); open G, q(<), q(/etc/passwd); "
        "read G, $text, 5; print $text",
        "done root:",
    ),
    "write to a program's memory by its file": _bash(
        "(echo x > /proc/self/mem) 2>/dev/null; echo $?; ls /proc/self/map_files 2>/dev/null | head -c 9", "1\n.*"
    ),
    "drop the image's pages from memory": _perl(
        "for $path (glob q(/usr/bin/*)) { open my $f, q(<), $path or next; "
        "$n++ if !syscall FADVISE, fileno $f, 0, 0, 4 } print $n > 99",
        "1",
    ),
    "interrupt every processor": _perl(
        "syscall MEMBARRIER, 1, 0, 0 for 1 .. 3; call MEMBARRIER, 2, 0, 0;", "(done|1) "
    ),
}

PROCESSES = {
    "a crash starts a program of the host": _bash(
        "ulimit -c 0; ulimit -c unlimited; prlimit --core=0; ulimit -c; sh -c 'kill -SEGV $$' 2>/dev/null; "
        "awk '/core/ { print $5, $6 }' /proc/self/limits",
        "0\n1 1\n",
    ),
    "a limit with bits that the kernel does not read": _perl(
        "$none = pack q(QQ), 0, 0; call PRLIMIT64, 0, 4 | 1 << 40, $none, 0; call SETRLIMIT, 4 | 1 << 40, $none; "
        "syscall PRLIMIT64, 0, 4, 0, $page; print unpack q(QQ), $page",
        "done done 11",
    ),
    "another process's namespaces": _perl(
        "$p = syscall PIDFD_OPEN, 1, 0; open F, qq(<&=$p); control(*F, 0xff00 + $_) for 1 .. 10;", "((1|13|25) ){10}"
    ),
    "the namespaces above": _perl(
        "for $kind (qw(user mnt pid net time uts ipc cgroup)) { open F, q(<), qq(/proc/self/ns/$kind); "
        "control(*F, 0xb701); control(*F, 0xb702) }",
        "((1|22|25) ){16}",
    ),
    "mounts of another namespace": _perl(
        "for (1 .. 3) { $ask = pack q(LLQQQ), 32, 0, ~0, 0, $_; call LISTMOUNT, $ask, $page, 100, 0 }",
        "((1|2|22|38) ){3}",
    ),
    "signals to the first process": _perl(
        "$p = syscall PIDFD_OPEN, 1, 0; call PIDFD_SEND_SIGNAL, $p, $_, 0, 0 for 9, 19, 15; "
        "$info = pack q(lll), 9, 0, 0; $info .= $page; call RT_SIGQUEUEINFO, 1, 9, $info; "
        "call PROCESS_MRELEASE, $p, 0;",
        "done done done 1 .*",
    ),
    "stop all others": _bash("sleep 9 & kill -STOP -1; kill -CONT -1; kill -STOP $!; echo on", "on\n"),
    "a first process with other limits": _perl(
        "$none = pack q(QQ), 1, 1; call PRLIMIT64, 1, $_, $none, 0 for 1, 2, 7, 8, 11, 13;", "((done|1) ){6}"
    ),
    "everyone's priority": _perl(
        "shown(setpriority 2, 0, 19); call IOPRIO_SET, 3, 0, 3 << 13; call IOPRIO_SET, 1, 1, 1 << 13;",
        "(1|13|done) (done|1) 1 ",
    ),
    "deadlines and real time": _perl(
        "for (6, 1, 2) { $kind = pack q(LLQlLQQQ), 48, $_, 0, 0, $_ == 6 ? 0 : 1, 1e7, 2e7, 2e7; "
        "call SCHED_SETATTR, 0, $kind, 0 }",
        f"({REFUSED} ){{3}}",
    ),
    "a core of one's own": _perl("call PRCTL, 62, 1, 0, 0, 0;", "(1|19|22|3) "),
    "every processor": _perl(
        "$all = pack(q(Q), ~0) x 16; call SCHED_SETAFFINITY, 1, 128, $all; call SCHED_SETAFFINITY, 0, 128, $all;",
        "(done|1) (done|1) ",
    ),
    "clocks that wake the host": _perl(
        "$id = pack q(Q), 0; call TIMERFD_CREATE, $_, 0 for 8, 9; call TIMER_CREATE, $_, 0, $id for 8, 9;",
        "((1|22|95) ){4}",
    ),
    "flush as if for a disk": _perl("call PRCTL, 57, 1, 0, 0, 0; call PRCTL, 35, 2, 4096, 0, 0;", "(1|22) (1|22) "),
    "the job's own files in /proc": _bash(
        "for f in attr/current attr/exec loginuid coredump_filter setgroups gid_map projid_map clear_refs "
        "timerslack_ns autogroup sched oom_score_adj timens_offsets make-it-fail latency comm; do "
        "(echo 1 > /proc/self/$f) 2>/dev/null && echo $f; done; echo end",
        "end\n",
    ),
    "a program without a file as a process that stays": _perl(
        "$name = q(x); $m = syscall MEMFD_CREATE, $name, 0; open F, q(<), q(/bin/sleep); local $/; $code = <F>; "
        "open G, qq(>&=$m); syswrite G, $code; if (!fork) { close STDOUT; close STDERR; syscall SETSID; "
        'exec "/proc/self/fd/$m", 99 } print 1',
        "1",
    ),
    "the terminal with bits that the kernel does not read": _perl(
        "open F, q(<), q(/dev/null); $c = q(x); call IOCTL, fileno F, 0x5412 | 1 << 40, $c; control(*F, 0x540e);",
        "1 25 ",
    ),
    "rare calls": _perl(
        "call $_, 0, 0, 0, 0, 0 for RARE;".replace(
            "RARE",
            ("139, 172, 173, 134, 136, 180, 212, 320, 433, 431, 168, 443", "42, 18, 294, 433, 431, 225, 443")[_MACHINE],
        ),
        "(1 )+",
    ),
    "personality of another machine": _bash(
        "setarch -R uname -m >/dev/null; setarch --uname-2.6 true; echo on", "on\n"
    ),
}

FILES = {
    "leases and locks on image files": _perl(
        "for $path (qw(/etc/passwd /usr/bin/perl /srv/tiny/file)) { open my $f, q(<), $path; push @kept, $f; "
        "shown(flock $f, 6); call FCNTL, fileno $f, 1024, 0; "
        "call FCNTL, fileno $f, 37, pack q(ssx4QQl), 0, 0, 0, 0, 0 } "
        "if (!fork) { close STDOUT; close STDERR; sleep 99 }",
        "(done (done|11|13) (done|11|13) ){3}",
    ),
    "attributes of image files": _perl(
        "open F, q(<), q(/etc/passwd); control(*F, 0x40086602, pack q(Q), $_) for 16, 32; "
        "control(*F, 0x401c5820, pack q(LLLLL), 8, 0, 0, 7, 0); control(*F, 0x40806685, pack q(LLL), 1, 1, 4096); "
        "control(*F, 0xc0045877, 0); control(*F, 0xc0185879, $page); control(*F, 0x800c6613, $page);",
        "((1|16|22|25|95|18|19) ){7}",
    ),
    "the place of image files on the disk": _perl(
        "open F, q(<), q(/usr/bin/perl); control(*F, 1, pack q(L), 0);", "(1|25|22) "
    ),
    "pages of image files in memory": _perl(
        "open F, q(<), q(/usr/bin/perl); $at = syscall MMAP, 0, 4096, 1, 1, fileno F, 0; "
        "call MINCORE, $at, 4096, $page;",
        "done ",
    ),
    "image files under other names": _bash(
        "mv /usr/bin/id /usr/bin/.wh.id; ln /usr/bin/awk /etc/awk; ln -f /etc/shadow /etc/passwd; "
        "mv -T /srv/tiny /etc/tiny; mkfifo /usr/bin/id; echo on",
        "on\n",
    ),
    "a file without a name": _perl(
        "$dot = q(.); $f = call OPENAT, -100, $dot, 020200000 | 2, 0600; $from = qq(/proc/self/fd/$f); $to = q(named); "
        "call LINKAT, -100, $from, -100, $to, 1024;"
        if platform.machine() == "x86_64"
        else "print q(done done )",
        "done done ",
    ),
    "an exchange of two trees": _perl(
        "$a = q(/usr); $b = q(/tmp/b); mkdir $b; call RENAMEAT2, -100, $a, -100, $b, 2; "
        "$c = q(/srv/tiny/file); $d = q(/srv/tiny/gone); call RENAMEAT2, -100, $c, -100, $d, 4;",
        "(done|18) (22|1) ",
    ),
    "the first process's root": _perl(
        "$path = q(/proc/1/root/etc); for (0, 4, 8, 16) { $how = pack q(QQQ), 0200000, 0, $_; "
        "call OPENAT2, -100, $path, $how, 24 }",
        "(done|2|13) ((2|13|40|18) ){3}",  # the link leads to the job's own root
    ),
    "the machine in folders of /proc": _bash(
        "find /proc/{fs,irq,bus,driver,acpi,scsi,asound,sys/fs/quota} -type f 2>/dev/null | wc -l; "
        "cat /proc/{modules,mdstat,fb,allocinfo} 2>/dev/null | wc -c",
        "0\n0\n",
    ),
    "default rights of a folder": _perl(
        "$p = q(/srv/tiny); $n = q(system.posix_acl_default); $v = pack q(L(SSL)3), 2, 1, 7, ~0, 4, 7, ~0, 32, 7, ~0; "
        "call SETXATTR, $p, $n, $v, length $v, 0; mkdir q(/srv/tiny/below);",
        "(done|95) ",
    ),
    "labels of files": _perl(
        "$p = q(/etc/passwd); $v = q(x); for $n (qw(security.selinux security.ima security.evm "
        "trusted.overlay.redirect trusted.overlay.metacopy)) { call SETXATTR, $p, $n, $v, 1, 0 }",
        "((done|1|95|22) ){5}",
    ),
}

TABLES = {"network": NETWORK, "in flight": IN_FLIGHT, "memory": MEMORY, "processes": PROCESSES, "files": FILES}
TRIALS = {name: trial for table in TABLES.values() for name, trial in table.items()}

PROBE = """uname -sr; ulimit -a; ionice -p $$; taskset -p $$; cat /proc/self/personality; echo *
cat /proc/net/{dev,snmp,snmp6,netstat,ip6_flowlabel,igmp,igmp6,udp,tcp,if_inet6,route} /proc/sysvipc/* /etc/passwd
cat /proc/sys/net/ipv4/tcp_fastopen_key /proc/self/cgroup /proc/self/limits; echo /proc/{sys/fs/quota,fs,irq,[0-9]*}/*
wc -l < /proc/net/unix; wc -l < /proc/mounts; flock -n /usr/bin/perl -c 'flock -n /etc/passwd -c "echo free"'
find /etc /srv /tmp /root -printf '%p %y %m %n %s %T@\\n' | cksum
perl -MSocket -e 'socket U,2,2,0; bind U, sockaddr_in(20001,INADDR_LOOPBACK) and print "free\\n"; socket S,1,1,0;
bind S, sockaddr_un("\\0left") and print "free\\n"; print semget(7,1,01600) // $!, "\\n"'
sh -c 'kill -SEGV $$'; echo x >> file; mkdir new; rm tool
"""
