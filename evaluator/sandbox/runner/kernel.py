"""Access to kernel features that the standard library lacks: mounts, sealed files, namespaces, cgroup counters."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 1, 2, 4, 32
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432  # one number on every architecture
_CLOEXEC, _SET_STRING, _CREATE = 1, 1, 6
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40

_OWN_NETWORK = "/proc/self/ns/net"
_PING_GROUPS = Path("/proc/sys/net/ipv4/ping_group_range")
"""The groups whose processes may send echo requests of ICMP through a socket that is not raw."""

LAST_GROUP = 0x7FFFFFFF
"""The largest number that the kernel accepts in a range of groups."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """Call the system call mount(2). Raises OSError with the mount's target in the message."""
    arguments = (source.encode(), target.encode(), kind.encode(), flags, options.encode())
    _check(_libc.mount(*arguments), f"mount {kind} on {target}")


def unmount(target: str) -> None:
    """Call umount2(2) with MNT_DETACH, so that open files do not matter. Raises OSError if the call fails."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"unmount {target}")


def leave_mounts(kept: frozenset[str]) -> None:
    """Enter a new mount namespace and unmount everything except the paths in `kept`. Raises OSError if this fails.

    The start of every job copies the runner's mounts. Without this function, each start would copy dozens of mounts
    that the container engine made.
    """
    _check(_libc.unshare(CLONE_NEWNS), "new mount namespace")
    mount("none", "/", "", MS_REC | MS_PRIVATE, "")
    targets = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for target in reversed(targets):
        if not any(path == target or path.startswith(f"{target}/") for path in kept):
            unmount(target.encode().decode("unicode_escape"))


def detached_overlay(lower: str) -> int:
    """Return a descriptor of a new read-only overlay of the directories in `lower`. Raises OSError if this fails.

    The overlay is not in the runner's mount table, so the start of a job does not copy it. `lower` must not be
    longer than 255 bytes, the limit of fsconfig(2).
    """
    context = _libc.syscall(_FSOPEN, b"overlay", _CLOEXEC)
    _check(context, "fsopen overlay")
    try:
        _check(_libc.syscall(_FSCONFIG, context, _SET_STRING, b"lowerdir", lower.encode(), 0), f"overlay of {lower}")
        _check(_libc.syscall(_FSCONFIG, context, _CREATE, None, None, 0), f"overlay of {lower}")
        mounted: int = _libc.syscall(_FSMOUNT, context, _CLOEXEC, MS_RDONLY | MS_NOSUID | MS_NODEV)
        _check(mounted, f"overlay of {lower}")
        return mounted
    finally:
        os.close(context)


def sealed_file(data: bytes) -> int:
    """Return a descriptor of a new read-only file in memory with this content. bash reads scripts from such files."""
    descriptor = os.memfd_create("bash", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def _open_net(name: str) -> int:
    return os.open(f"/proc/self/net/{name}", os.O_RDONLY | os.O_CLOEXEC)


def user_namespace() -> int | None:
    """Return a descriptor of a new user namespace for the jobs of this container, or None if the kernel refuses it.

    Users have the same numbers inside and outside this namespace. The namespace's owner is a random user. The kernel
    counts the jobs' inotify instances, timers and similar objects for this owner, not for the host's root.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child == 0:
        ours.close()
        _send_user_namespace(theirs)
    theirs.close()
    try:
        with ours:
            _, (descriptor,), *_ = socket.recv_fds(ours, 1, 1)
            for kind in ("uid_map", "gid_map"):
                Path(f"/proc/{child}/{kind}").write_text(_own_numbers(kind))
    except (OSError, ValueError):
        return None
    finally:
        os.waitpid(child, 0)
    kept = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64)  # above all numbers that the jail program gets
    os.close(descriptor)
    return kept


def _own_numbers(kind: str) -> str:
    """Return a user or group map for a new namespace, in which all users or groups keep their present numbers.

    `kind` is the name of the map's file: `uid_map` or `gid_map`.
    """
    lines = Path(f"/proc/self/{kind}").read_text().splitlines()
    ranges = [(line.split()[0], line.split()[2]) for line in lines]
    return "".join(f"{first} {first} {count}\n" for first, count in ranges)


def _send_user_namespace(parent: socket.socket) -> NoReturn:
    """Make a user namespace and send its descriptor to the parent process. End this process when `parent` closes."""
    try:
        owner = 1 << 30 | int.from_bytes(os.urandom(4), "big") >> 2
        os.setresuid(owner, owner, owner)
        _check(_libc.unshare(CLONE_NEWUSER), "new user namespace")
        socket.send_fds(parent, [b"n"], [os.open("/proc/self/ns/user", os.O_RDONLY)])
        parent.recv(1)
    finally:
        os._exit(0)


def _all_groups() -> str:
    """Return the smallest and the largest number of a group, as the kernel reads a range of groups."""
    ranges = [tuple(map(int, line.split())) for line in Path("/proc/self/gid_map").read_text().splitlines()]
    last = max(first + count - 1 for first, _, count in ranges)
    return f"{min(first for first, *_ in ranges)} {min(last, LAST_GROUP)}"


class Network:
    """The loopback network of the jobs. If a job uses the network, the runner makes a new one for the next job.

    Connections stay for a minute after their programs end, and counters of the network never return to zero. The next
    job must not see these traces. But a new network for every job would take a third of a job's time.
    """

    def __init__(self) -> None:
        self._outside = os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)
        self._files: list[int] = []
        self._tables: list[int] = []
        self._make()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave the jobs' network during the context, so that jobs cannot see the sockets that the runner opens."""
        inside = os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _check(_libc.setns(self._outside, CLONE_NEWNET), "leave the network namespace")
            yield
        finally:
            _check(_libc.setns(inside, CLONE_NEWNET), "enter the network namespace")
            os.close(inside)

    def _make(self) -> None:
        _check(_libc.unshare(CLONE_NEWNET), "new network namespace")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as any_socket:  # the kernel frees others with a delay
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
        _PING_GROUPS.write_text(_all_groups())
        for descriptor in (*self._files, *self._tables):
            os.close(descriptor)
        names = [name for name in ("dev", "snmp", "snmp6") if Path("/proc/self/net", name).exists()]
        self._files = [_open_net(name) for name in names]
        self._tables = [_open_net(name) for name in ("unix", "sockstat")]
        self._initial_counters = self._counters()

    def _counters(self) -> list[bytes]:
        return [os.pread(descriptor, 1 << 16, 0) for descriptor in self._files]

    def local_sockets(self) -> int:
        """Return the number of local sockets in the jobs' network. The largest result is about 1,000.

        The number includes sockets that a job sent through another socket and that no process received. The list of
        local sockets takes time, so it is read only if there is a socket of any kind.
        """
        if not self.sockets_in_use():
            return 0
        return max(0, os.pread(self._tables[0], 1 << 16, 0).count(b"\n") - 1)  # the first line has the columns' names

    def sockets_in_use(self) -> int:
        """Return the number of sockets of all kinds in the jobs' network."""
        return int(os.pread(self._tables[1], 1 << 12, 0).split()[2])

    def renew(self) -> bool:
        """Make a new network if a job used the current one. Return whether a job used it. Raises OSError on failure."""
        used = self._counters() != self._initial_counters
        if used:
            self._make()
        return used


class Counters:
    """The CPU time and out-of-memory kills of this container, from cgroup v2 or v1."""

    def __init__(self, root: Path = Path("/sys/fs/cgroup")) -> None:
        self._cpu = _open_first(root / "cpu.stat", root / "cpuacct" / "cpuacct.usage")
        self._oom = _open_first(root / "memory.events", root / "memory" / "memory.oom_control")

    def cpu_s(self) -> float:
        """Return the CPU seconds of all processes of this container so far, or 0 if no counter is mounted."""
        words = _words(self._cpu)
        return int(words[1]) / 1e6 if len(words) > 1 else int(words[0]) / 1e9 if words else 0.0

    def oom_kills(self) -> int:
        """Return the number of processes of this container that the kernel killed for lack of memory."""
        words = _words(self._oom)
        return int(words[words.index(b"oom_kill") + 1]) if b"oom_kill" in words else 0


def _open_first(*paths: Path) -> int | None:
    return next((os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths if path.exists()), None)


def _words(descriptor: int | None) -> list[bytes]:
    return [] if descriptor is None else os.pread(descriptor, 1 << 12, 0).split()
