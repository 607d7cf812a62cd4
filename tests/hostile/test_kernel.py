"""Attacks by system call: the filter or missing rights refuse calls that reach out of a job or into the kernel."""

from __future__ import annotations

import platform

import pytest

from tests.attacks import Attack, Hold, times_out

pytestmark = pytest.mark.engine

MACHINE = {"x86_64": 0, "aarch64": 1}[platform.machine()]
REFUSED, NOT_THERE = "1", "38"

CALLS: dict[str, tuple[tuple[int, int], str, str]] = {
    "unshare a user namespace": ((272, 97), "0x10000000", REFUSED),
    "unshare a network": ((272, 97), "0x40000000", REFUSED),
    "unshare mounts": ((272, 97), "0x20000", REFUSED),
    "unshare time": ((272, 97), "0x80", REFUSED),
    "clone into a user namespace": ((56, 220), "0x10000011,0,0,0,0", REFUSED),
    "clone into a network": ((56, 220), "0x40000011,0,0,0,0", REFUSED),
    "clone into mounts": ((56, 220), "0x20011,0,0,0,0", REFUSED),
    "clone into processes": ((56, 220), "0x20000011,0,0,0,0", REFUSED),
    "clone3": ((435, 435), "$b,88", NOT_THERE),
    "setns": ((308, 268), "0,0", REFUSED),
    "mount": ((165, 40), "$none,$root,$tmpfs,0,$b", REFUSED),
    "umount": ((166, 39), "$root,2", REFUSED),
    "pivot_root": ((155, 41), "$root,$root", REFUSED),
    "chroot": ((161, 51), "$root", REFUSED),
    "fsopen": ((430, 430), "$tmpfs,0", REFUSED),
    "fsmount": ((432, 432), "0,0,0", REFUSED),
    "open_tree": ((428, 428), "-100,$root,1", REFUSED),
    "move_mount": ((429, 429), "0,$root,0,$root,0", REFUSED),
    "mount_setattr": ((442, 442), "-100,$root,0,$b,32", REFUSED),
    "open_tree_attr": ((467, 467), "-100,$root,0,$b,32", NOT_THERE),
    "a call of kernels to come": ((500, 500), "0", NOT_THERE),
    "ptrace": ((101, 117), "16,1,0,0", REFUSED),
    "process_vm_readv": ((310, 270), "1,$b,1,$b,1,0", REFUSED),
    "process_vm_writev": ((311, 271), "1,$b,1,$b,1,0", REFUSED),
    "kcmp": ((312, 272), "1,2,0,0,0", REFUSED),
    "keyctl": ((250, 219), "0,-3,1", REFUSED),
    "add_key": ((248, 217), "$user,$root,$b,5,-3", REFUSED),
    "request_key": ((249, 218), "$user,$root,0,-3", REFUSED),
    "bpf": ((321, 280), "0,$b,72", REFUSED),
    "perf_event_open": ((298, 241), "$b,0,-1,-1,0", REFUSED),
    "userfaultfd": ((323, 282), "1", REFUSED),
    "io_setup": ((206, 0), "8,$b", REFUSED),
    "io_uring_setup": ((425, 425), "8,$b", REFUSED),
    "io_uring_enter": ((426, 426), "0,0,0,0,0", REFUSED),
    "io_uring_register": ((427, 427), "0,0,0,0", REFUSED),
    "init_module": ((175, 105), "$b,64,$b", REFUSED),
    "finit_module": ((313, 273), "0,$b,0", REFUSED),
    "delete_module": ((176, 106), "$root,0", REFUSED),
    "kexec_load": ((246, 104), "0,0,0,0", REFUSED),
    "reboot": ((169, 142), "0xfee1dead,672274793,0,0", REFUSED),
    "swapon": ((167, 224), "$root,0", REFUSED),
    "acct": ((163, 89), "$root", REFUSED),
    "quotactl": ((179, 60), "0,$root,0,0", REFUSED),
    "syslog": ((103, 116), "3,$b,64", REFUSED),
    "sethostname": ((170, 161), "$root,1", REFUSED),
    "setdomainname": ((171, 162), "$root,1", REFUSED),
    "clock_settime": ((227, 112), "0,$b", REFUSED),
    "settimeofday": ((164, 170), "$b,0", REFUSED),
    "adjtimex": ((159, 171), "$b", REFUSED),
    "clock_adjtime": ((305, 266), "0,$b", REFUSED),
    "open_by_handle_at": ((304, 265), "-100,$b,0", REFUSED),
    "name_to_handle_at": ((303, 264), "-100,$root,$b,$b,0", REFUSED),
    "fanotify_init": ((300, 262), "0,0", REFUSED),
    "memfd_secret": ((447, 447), "0", REFUSED),
    "vhangup": ((153, 58), "0", REFUSED),
    "process_madvise": ((440, 440), "0,$b,1,4,0", REFUSED),
    "steal a descriptor of the first process": ((438, 438), "syscall(434,1,0),0,0", REFUSED),
    "raise the limit of files": ((160, 164), "7,$files", REFUSED),
    "become a capability again": ((126, 91), "$version,$all", REFUSED),
    "lower one's niceness": ((141, 140), "0,0,-20", "13"),
    "run in real time": ((144, 119), "0,1,$first", REFUSED),
    "make a device": ((259, 33), "-100,$made,0x61b0,0x101", REFUSED),
    "make a whiteout": ((259, 33), "-100,$made,0x21b0,0", REFUSED),
    "set an overlay's attribute": ((188, 5), "$root,$trusted,$b,1,0", REFUSED),
    "inject into the terminal": ((16, 29), "0,0x5412,$b", REFUSED),
}
"""Number on x86_64 and aarch64, arguments in Perl, the error that must come."""

PERL = (
    "perl -e '$b = qq(\\0) x 256; $root = q(/); $none = q(none); $tmpfs = q(tmpfs); $user = q(user);"
    " $made = q(/tmp/made); $trusted = q(trusted.overlay.opaque);"
    " $files = pack(q(QQ), 1e6, 1e6); $version = pack(q(LL), 0x20080522, 0); $all = pack(q(L6), (-1) x 6);"
    " $first = pack(q(L), 1);"
    " $r = syscall({number}, {arguments}); print $r == -1 ? $! + 0 : qq(done $r)'"
)


def call(name: str) -> Attack:
    numbers, arguments, error = CALLS[name]
    return Attack(PERL.format(number=numbers[MACHINE], arguments=arguments), prints=error)


@pytest.mark.parametrize("attack", [call(name) for name in CALLS], ids=list(CALLS))
def test_calls(hold: Hold, attack: Attack) -> None:
    """The kernel answers a forbidden or missing call with its error."""
    hold(attack)


def new_socket(family: int, kind: int, protocol: int = 0) -> str:
    return f"perl -e 'print socket(S, {family}, {kind}, {protocol}) ? qq(open) : $! + 0'"


def new_pair(family: int, kind: int) -> str:
    return f"perl -e 'print socketpair(A, B, {family}, {kind}, 0) ? qq(open) : $! + 0'"


NO_FAMILY, NO_PROTOCOL = "97", "93"
SOCKETS = {
    "packet": (new_socket(17, 3), NO_FAMILY),
    "virtual machine": (new_socket(40, 1), NO_FAMILY),
    "kernel crypto": (new_socket(38, 5), NO_FAMILY),
    "key management": (new_socket(15, 3, 2), NO_FAMILY),
    "bluetooth": (new_socket(31, 3), NO_FAMILY),
    "CAN": (new_socket(29, 3, 1), NO_FAMILY),
    "TIPC": (new_socket(30, 1), NO_FAMILY),
    "XDP": (new_socket(44, 3), NO_FAMILY),
    "AppleTalk": (new_socket(5, 2), NO_FAMILY),
    "raw internet": (new_socket(2, 3, 1), REFUSED),
    "raw internet 6": (new_socket(10, 3, 58), REFUSED),
    "audit": (new_socket(16, 3, 9), NO_PROTOCOL),
    "device events": (new_socket(16, 3, 15), NO_PROTOCOL),
    "generic netlink": (new_socket(16, 3, 16), NO_PROTOCOL),
    "netfilter": (new_socket(16, 3, 12), NO_PROTOCOL),
    "list of sockets": (new_socket(16, 3, 4), NO_PROTOCOL),
    "stream control": (new_socket(2, 1, 132), NO_PROTOCOL),
    "group management": (new_socket(2, 3, 2), NO_PROTOCOL),
    "congestion control": (new_socket(2, 6, 33), NO_PROTOCOL),
    "light datagrams": (new_socket(2, 2, 136), NO_PROTOCOL),
    "light datagrams 6": (new_socket(10, 2, 136), NO_PROTOCOL),
    "multipath": (new_socket(2, 1, 262), NO_PROTOCOL),
    "raw": (new_socket(2, 3, 255), NO_PROTOCOL),
    "every other protocol": (
        "perl -e 'for (2 .. 5, 7 .. 16, 18 .. 57, 59 .. 300) "
        "{ socket(S, 2, 3, $_) and print $_; $! == 93 or print qq( $_:$!) }'",
        "",
    ),
    "a pair of internet": (new_pair(2, 1), NO_FAMILY),
    "a pair of TIPC": (new_pair(30, 1), NO_FAMILY),
    "a pair of virtual machines": (new_pair(40, 1), NO_FAMILY),
    "a pair of netlink": (new_pair(16, 3), NO_FAMILY),
    "a pair of CAN": (new_pair(29, 3), NO_FAMILY),
    "a local pair": (new_pair(1, 1), "open"),
    "TCP": (new_socket(2, 1, 6), "open"),
    "UDP 6": (new_socket(10, 2, 17), "open"),
    "routes may be read": (new_socket(16, 3, 0), "open"),
    "local": (new_socket(1, 1), "open"),
    "internet": (new_socket(2, 1), "open"),
}


@pytest.mark.parametrize(
    "attack", [Attack(command, prints=output) for command, output in SOCKETS.values()], ids=list(SOCKETS)
)
def test_sockets(hold: Hold, attack: Attack) -> None:
    """Local and internet sockets exist. Other families and protocols do not, whatever the host supports."""
    hold(attack)


def elf(machine: int, code: bytes, *, wide: bool) -> bytes:
    """Return a program of one page that contains only this code."""
    start = 0x10000
    size = (120 if wide else 84) + len(code)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    word = 8 if wide else 4

    def number(value: int, length: int = word) -> bytes:
        return value.to_bytes(length, "little")

    head = 64 if wide else 52
    entry = start + head + (56 if wide else 32)
    header = ident + number(2, 2) + number(machine, 2) + number(1, 4) + number(entry) + number(head) + number(0)
    header += number(0, 4) + number(head, 2) + number(56 if wide else 32, 2) + number(1, 2) + bytes(6)
    if wide:
        segment = number(1, 4) + number(5, 4) + number(0) + number(start) * 2 + number(size) * 2 + number(0x1000)
    else:
        segment = number(1) + number(0) + number(start) * 2 + number(size) * 2 + number(5) + number(0x1000)
    return header + segment + code


def run_program(program: bytes) -> bytes:
    """Return a command that writes a program and runs it."""
    text = "".join(f"\\x{byte:02x}" for byte in program)
    return f"printf '{text}' > /tmp/p; chmod +x /tmp/p; /tmp/p 2>/dev/null; echo $?".encode()


# mov eax, 20 (getpid of the 32-bit table); int 0x80; mov eax, 60; xor edi, edi; syscall
OLD_GATE = bytes.fromhex("b814000000cd80b83c00000031ff0f05")
# mov eax, 0x40000027 (getpid of the x32 table); syscall; mov eax, 60; xor edi, edi; syscall
X32_CALL = bytes.fromhex("b8270000400f05b83c00000031ff0f05")
# mov eax, 1; xor ebx, ebx; int 0x80
EXIT_32 = bytes.fromhex("b80100000031dbcd80")
KILLED_BY_FILTER = "159"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are the other doors of this processor alone")
@pytest.mark.parametrize(
    "attack",
    [
        Attack(run_program(elf(62, OLD_GATE, wide=True)), prints=KILLED_BY_FILTER),
        Attack(run_program(elf(62, X32_CALL, wide=True)), prints=KILLED_BY_FILTER),
        Attack(run_program(elf(3, EXIT_32, wide=False)), prints=KILLED_BY_FILTER),
    ],
    ids=["old gate", "x32 numbers", "32-bit program"],
)
def test_other_tables_of_calls(hold: Hold, attack: Attack) -> None:
    """A call through another system call table than the filter's ends the program."""
    hold(attack)


PROGRAMS = [
    Attack("mount -t tmpfs none /mnt", status=32),
    Attack("mount --bind / /mnt", status=32),
    Attack("mount -o remount,rw /proc/sys", status=32),
    Attack("umount /proc/uptime", status=32),
    Attack("umount -l /proc", status=32),
    Attack("unshare -Urm true", status=1),
    Attack("unshare -n true", status=1),
    Attack("nsenter -t 1 -a true", status=1),
    Attack("chroot / true", status=125),
    Attack("pivot_root . .", status=1),
    Attack("swapon /srv/tiny/file", endings=("exited",)),
    Attack("dmesg", status=1),
    Attack("hostname attacked 2>/dev/null; hostname", prints="box"),
    Attack("date -s 2000-01-01 2>/dev/null >&2; date +%Y", prints="2025"),
    Attack("setpriv --inh-caps +sys_admin --ambient-caps +sys_admin true", status=127),
    Attack("capsh --print", status=127),
    Attack(
        "cp /bin/bash /tmp/sh; chmod 4755 /tmp/sh; setpriv --reuid 1500 --clear-groups /tmp/sh -p -c 'id -u'",
        prints="1500",
    ),
    Attack("sudo -u tess sudo -n id -u", status=1, user=False),
    Attack("su -c 'id -u' root </dev/null", status=1, user=True),
    Attack("sudo -n id", status=1, user=True),
    Attack("chown 0:0 /tmp; passwd -d root; echo 'tess ALL=NOPASSWD: ALL' > /etc/sudoers", status=1, user=True),
    Attack("newgrp root </dev/null", user=True),
    times_out("ulimit -t 3600; ulimit -St unlimited; ulimit -n 1048576; while :; do :; done"),
    Attack("kill -SEGV $$; echo no", status=139),
    Attack("ulimit -c unlimited; sh -c 'kill -SEGV $$'; ls /core* core* /tmp/core* 2>/dev/null | wc -l", prints="0"),
    Attack("echo '|/tmp/x' > /proc/sys/kernel/core_pattern", status=1),
    Attack("modprobe overlay", status=127),
    Attack("sysctl -w kernel.domainname=x 2>&1 | grep -c .", prints="1"),
    Attack("exec 3< /proc/1/ns/mnt; nsenter --mount=/proc/self/fd/3 true", status=1),
    Attack("prlimit --pid 1 --nofile=4 --fsize=0 --cpu=1 --nproc=1; renice 19 -p 1 >/dev/null; echo on", prints="on"),
    Attack("taskset -p 3 1; chrt -p 1; ionice -c 1 -p 1"),
    Attack("strace true", status=127),
]


@pytest.mark.parametrize("attack", PROGRAMS, ids=str)
def test_programs(hold: Hold, attack: Attack) -> None:
    """The usual tools fail like for any user without the right, and a set-uid bit gives no right."""
    hold(attack)
