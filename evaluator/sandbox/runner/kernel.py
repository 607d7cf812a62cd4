"""The few kernel facilities the standard library leaves out: mounts, sealed files, networks, the counters."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 1, 2, 4, 32
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432  # one number on every architecture
_CLOEXEC, _SET_STRING, _CREATE = 1, 1, 6
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40

_OWN_NETWORK = "/proc/self/ns/net"
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """mount(2). Raises OSError naming the target."""
    arguments = (source.encode(), target.encode(), kind.encode(), flags, options.encode())
    _check(_libc.mount(*arguments), f"mount {kind} on {target}")


def unmount(target: str) -> None:
    """umount2(2), lazily, so that nothing a job left can hold it. Raises OSError."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"unmount {target}")


def leave_mounts(kept: frozenset[str]) -> None:
    """Move to mounts of our own and let go of all but those at the paths `kept`.

    Every job copies the mounts that it starts from, and an engine hands out dozens. Raises OSError.
    """
    _check(_libc.unshare(CLONE_NEWNS), "new mount namespace")
    mount("none", "/", "", MS_REC | MS_PRIVATE, "")
    targets = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for target in reversed(targets):
        if not any(path == target or path.startswith(f"{target}/") for path in kept):
            unmount(target.encode().decode("unicode_escape"))


def detached_overlay(lower: str) -> int:
    """A descriptor of a read-only overlay of directories that hangs in no mount table, so that no job copies it.

    `lower` may have 255 bytes, which is what fsconfig(2) takes. Raises OSError.
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
    """A descriptor of an unchangeable memory file, the way a script's bytes reach bash."""
    descriptor = os.memfd_create("bash", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


class Network:
    """The loopback network that jobs run in: a new one for the job after one that used it.

    A connection outlives its programs by a minute, and the counters for ever; a network for every job would cost
    as much as a third of a job.
    """

    def __init__(self) -> None:
        self._outside = os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)
        self._files: list[int] = []
        self._make()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Outside the jobs' network for a moment: a socket made there is not to be seen by them."""
        inside = os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _check(_libc.setns(self._outside, CLONE_NEWNET), "leave the network namespace")
            yield
        finally:
            _check(_libc.setns(inside, CLONE_NEWNET), "enter the network namespace")
            os.close(inside)

    def _make(self) -> None:
        _check(_libc.unshare(CLONE_NEWNET), "new network namespace")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            up = struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING)
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, up)
        for descriptor in self._files:
            os.close(descriptor)
        self._files = [os.open(f"/proc/self/net/{name}", os.O_RDONLY) for name in ("dev", "snmp")]
        self._unused = self._counters()

    def _counters(self) -> list[bytes]:
        return [os.pread(descriptor, 1 << 16, 0) for descriptor in self._files]

    def renew(self) -> bool:
        """Make a new network if this one was used; whether it was. Raises OSError."""
        used = self._counters() != self._unused
        if used:
            self._make()
        return used


class Counters:
    """CPU time and out-of-memory kills of this container, from cgroup v2 or v1, whichever is mounted."""

    def __init__(self, root: Path = Path("/sys/fs/cgroup")) -> None:
        self._cpu = _open_first(root / "cpu.stat", root / "cpuacct" / "cpuacct.usage")
        self._oom = _open_first(root / "memory.events", root / "memory" / "memory.oom_control")

    def cpu_s(self) -> float:
        """CPU seconds used by everything in the container so far; 0 where no counter is mounted."""
        words = _words(self._cpu)
        return int(words[1]) / 1e6 if len(words) > 1 else int(words[0]) / 1e9 if words else 0.0

    def oom_kills(self) -> int:
        """How often the kernel killed for memory in this container."""
        words = _words(self._oom)
        return int(words[words.index(b"oom_kill") + 1]) if b"oom_kill" in words else 0


def _open_first(*paths: Path) -> int | None:
    return next((os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths if path.exists()), None)


def _words(descriptor: int | None) -> list[bytes]:
    return [] if descriptor is None else os.pread(descriptor, 1 << 12, 0).split()
