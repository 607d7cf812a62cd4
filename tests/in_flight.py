"""Commands that leave a descriptor in flight: it waits in the queue of a local socket that is itself in that queue.

No process has such a descriptor, so it can outlive the job. `LEFT` holds one command for each kind of descriptor.
`HONEST` uses the same kinds, so its evidence would show what an earlier command left.
"""

from __future__ import annotations

import platform

_X86 = platform.machine() == "x86_64"
_SENDMSG, _MEMFD, INOTIFY, _SHMGET, _SHMAT, _EVENTFD, _TIMERFD, MQ_OPEN, _FALLOCATE = (
    (46, 319, 294, 29, 30, 290, 283, 240, 285) if _X86 else (211, 279, 26, 194, 196, 19, 85, 180, 47)
)

_SEND = f"""use Socket; use Fcntl; $^F = 9999; sub fly {{
my $rights = pack "QLLL*", 16 + 4 * @_, 1, 1, @_; $rights .= "\\0" x (-length($rights) % 8); my $data = "x";
my $vector = pack "PQ", $data, 1;
syscall {_SENDMSG}, fileno A, pack("QQPQPQQ", 0, 0, $vector, 1, $rights, length $rights, 0), 0 }}
socketpair A, B, AF_UNIX, SOCK_DGRAM, 0; @pair = (fileno A, fileno B);"""


def _perl(body: str) -> str:
    return f"perl -e '{_SEND} {body}'"


def _left(make: str) -> str:
    """Return a command that makes the descriptors in `@made` and leaves them in flight."""
    return _perl(f"{make} fly @pair, @made; print scalar @made")


_MEMORY = f'$name = "leak"; $memory = syscall {_MEMFD}, $name, 0;'


def memory(megabytes: int) -> str:
    """Return a command that leaves this much memory in flight."""
    fill = f"syscall {_FALLOCATE}, $memory, 0, $_ << 20, 1 << 20 for 0 .. {megabytes - 1};"
    return _left(f"{_MEMORY} {fill} @made = $memory;")


ALL_MEMORY = _perl(
    f"{_MEMORY} fly @pair, $memory; 1 while 0 == syscall {_FALLOCATE}, $memory, 0, $at++ << 20, 1 << 20;"
)
"""Leaves as much memory in flight as its container allows. Then the kernel kills the command."""


def _file(path: str) -> str:
    return _left(f'open F, "<", "{path}" or die $!; @made = fileno F;')


OUTPUT = _left("@made = (1, 2);")
"""A command that leaves the pipes that the runner reads in flight."""

LEFT = {
    "memory": memory(550),
    "output": OUTPUT,
    "abstract socket": _left(
        'socket S, 1, 1, 0; bind S, sockaddr_un("\\0left") or die; listen S, 1; @made = fileno S;'
    ),
    "inotify": _left(f"while (($one = syscall {INOTIFY}, 0) >= 0) {{ push @made, $one }}"),
    "ipc namespace": _left(
        f"$id = syscall {_SHMGET}, 0, 100 << 20, 0600; $at = syscall {_SHMAT}, $id, 0, 0; "
        'open Z, "/dev/zero"; for (0 .. 24) { sysread Z, $x, 4 << 20; shmwrite $id, $x, $_ * (4 << 20), '
        '4 << 20 } open F, "<", "/proc/self/ns/ipc" or die; @made = fileno F;'
    ),
    "port": _left(
        "socket S, 2, 1, 0; bind S, sockaddr_in(8123, INADDR_LOOPBACK) or die; listen S, 9; @made = fileno S;"
    ),
    "datagram port": _left("socket S, 2, 2, 0; bind S, sockaddr_in(8124, INADDR_LOOPBACK) or die; @made = fileno S;"),
    "netlink socket": _left("socket S, 16, 3, 0 or die; bind S, pack(q(SSLL), 16, 0, 4242, 0); @made = fileno S;"),
    "full pipes": _left(
        'for (1 .. 40) { pipe *{"R$_"}, *{"W$_"}; fcntl *{"W$_"}, 1031, 1 << 20; syswrite *{"W$_"}, "x" x (1 << 16); '
        'push @made, fileno *{"R$_"}, fileno *{"W$_"} }'
    ),
    "mount namespace": f"head -c 20m /dev/zero > big; {_file('/proc/self/ns/mnt')}",
    "network namespace": _file("/proc/self/ns/net"),
    "process namespace": _file("/proc/self/ns/pid"),
    "time namespace": _file("/proc/self/ns/time"),
    "deleted file": "head -c 20m /dev/zero > big; "
    + _left('open F, "+<", "big" or die; unlink "big"; @made = fileno F;'),
    "directory": _file("/srv/tiny"),
    "process": _left("$pid = fork // die; if (!$pid) { sleep 99 } @made = syscall 434, $pid, 0;"),
    "event": _left(f"@made = syscall {_EVENTFD}, 0, 0;"),
    "timer": _left(f"push @made, syscall {_TIMERFD}, 1, 0 for 1 .. 100;"),
    "pairs in pairs": _perl(
        "for (1 .. 60) { socketpair my $x, my $y, AF_UNIX, SOCK_DGRAM, 0; push @keep, $x, $y; "
        "fly @pair, fileno $x, fileno $y; fly fileno $x, fileno $y } print 60"
    ),
}
"""A command for each kind of descriptor. It prints the number of descriptors that it leaves."""

HONEST = f"""perl -MSocket -e 'socket S,1,1,0; bind S, sockaddr_un("\\0left") or print "taken\\n"; listen S, 1;
socket T,2,1,0; bind T, sockaddr_in(8123,INADDR_LOOPBACK) or print "taken\\n";
socket U,2,2,0; bind U, sockaddr_in(8124,INADDR_LOOPBACK) or print "taken\\n";
socket N,16,3,0; bind N, pack(q(SSLL),16,0,4242,0) or print "taken\\n";
print "watched\\n" if syscall({INOTIFY}, 0) > 0; $x = "x" x 150e6; print length $x, "\\n"'
wc -l < /proc/net/unix; cat /proc/net/tcp /proc/net/udp /proc/net/dev; wc -l < /proc/net/netlink; cat /proc/sysvipc/*
for process in /proc/[0-9]*; do echo $process; done
wc -l < /proc/mounts; df /; head -c 25m /dev/zero > filled; wc -c filled
"""
