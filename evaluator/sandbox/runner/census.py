"""Look for leftovers of a job: compare the container after the job with the same container before its first job.

All processes of a job have ended before this comparison. The kernel can still keep objects of the job. For example, a
local socket's queue can hold a descriptor of the same socket. No process has such a descriptor, so no process can close
it. The kernel removes such descriptors only when a process closes any other local socket.

So this comparison, called the census, makes and closes a local socket after each job. It then waits at most 50 ms until
the container has its earlier state. To compare the states, it reads a few short files of the kernel. They show the
memory of the container and the local sockets of the jobs. After every 64th job, and if these files show a leftover, the
census also reads longer lists, such as mounts and timers.

The kernel has no list of namespaces, pipes or inotify instances. But each of them needs a descriptor, which only a
process or the queue of a local socket can hold. The census counts all processes and all local sockets. POSIX message
queues outlive their descriptors for a moment, so jobs get none (see `image/jail.c`).
"""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evaluator.sandbox.runner.kernel import Network

TOLERANCE = 2 << 20
"""The most bytes of anonymous, shared or kernel memory that may be left."""

TOLERANCE_WITH_CACHES = 32 << 20
"""The same for kernel memory in cgroup v1, which counts the kernel's caches of file names and inodes too."""

RUNNER_GROWTH = 64 << 20
"""The most memory that the runner itself may keep after reading large evidence."""

WAIT_S = 0.05
PAUSE_S = 0.001
FULL_EVERY = 64

_PAGE = os.sysconf("SC_PAGE_SIZE")
_KERNEL_MEMORY = (b"kernel_stack", b"pagetables", b"sec_pagetables", b"percpu", b"sock", b"slab_unreclaimable")
_IPC = tuple(f"/proc/sysvipc/{kind}" for kind in ("shm", "sem", "msg"))


class ContainerUsage:
    """The memory and number of processes of this container, from the files of cgroup v2 or v1.

    The constructor opens these files. `own_disk` is the mount point of the runner's file system for the worlds' layers.
    The constructor does not need this file system yet.
    """

    def __init__(self, own_disk: Path, root: Path = Path("/sys/fs/cgroup")) -> None:
        self._own_disk = str(own_disk)
        self._processes = _open(root / "pids" / "pids.current", root / "pids.current")
        folder = root / "memory" if (root / "memory").is_dir() else root
        self._stat = _open(folder / "memory.stat")
        self._kernel = _open(folder / "memory.kmem.usage_in_bytes")
        self._own = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def processes(self) -> int | None:
        """Return the number of processes in this container, or None if this kernel does not show it."""
        return None if self._processes is None else int(os.pread(self._processes, 64, 0))

    def memory(self) -> Mapping[str, int | None]:
        """Return the bytes that this container uses of each kind of memory, or None for a kind that this kernel hides.

        The runner's memory is a separate kind. The worlds' layers are in memory too, but are not counted.
        """
        _, resident, shared, *_ = os.pread(self._own, 256, 0).split()
        own = (int(resident) - int(shared)) * _PAGE
        words = b"" if self._stat is None else os.pread(self._stat, 1 << 14, 0)
        fields = dict(zip(*[iter(words.split())] * 2, strict=True)) if words else {}
        anonymous = fields.get(b"anon", fields.get(b"rss"))
        disk = os.statvfs(self._own_disk)
        layers = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        return {
            "memory of the runner": own,
            "anonymous memory": None if anonymous is None else int(anonymous) - own,
            "shared memory": int(fields[b"shmem"]) - layers if b"shmem" in fields else None,
            "kernel memory": self._kernel_memory(fields),
        }

    def _kernel_memory(self, fields: Mapping[bytes, bytes]) -> int | None:
        if b"slab_unreclaimable" in fields:
            return sum(int(fields.get(name, b"0")) for name in _KERNEL_MEMORY)
        return None if self._kernel is None else int(os.pread(self._kernel, 64, 0))

    @property
    def tolerances(self) -> Mapping[str, int]:
        """Return the bytes by which each kind of memory may grow before the growth counts as a leftover."""
        kernel = TOLERANCE if self._kernel is None else TOLERANCE_WITH_CACHES
        return {
            "memory of the runner": RUNNER_GROWTH,
            "anonymous memory": TOLERANCE,
            "shared memory": TOLERANCE,
            "kernel memory": kernel,
        }


class Census:
    """The check for leftovers of jobs, which compares this container with its state before the first job."""

    def __init__(self, network: Network, usage: ContainerUsage) -> None:
        self._network, self._usage = network, usage
        self._tolerances = usage.tolerances
        self._jobs = 0
        self.take_base()

    def take_base(self) -> None:
        """Record the present state of the container as the state without leftovers.

        A command of a submission must not run between the last call of `settle` and this call.
        """
        self._base_memory = self._usage.memory()
        self._base_lists = self._lists()

    @property
    def unreadable(self) -> list[str]:
        """Return the names of the counters that this kernel does not show. The census does not compare them."""
        return [name for name, value in {**self._base_memory, **self._base_lists}.items() if value is None]

    def settle(self) -> str:
        """Make the kernel collect the leftovers of the last job.

        Return the names of the leftovers that remain, or an empty text if none remain.
        """
        self._jobs += 1
        ends = time.monotonic() + WAIT_S
        while True:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM):
                pass  # the kernel collects descriptors in flight when a local socket is closed
            left = self._left(full=self._jobs % FULL_EVERY == 0)
            if not left or time.monotonic() > ends:
                return "; ".join(left)
            time.sleep(PAUSE_S)

    def _left(self, *, full: bool) -> list[str]:
        now, base = self._usage.memory(), self._base_memory
        left = []
        for name, limit in self._tolerances.items():
            before, after = base[name], now[name]
            if before is not None and after is not None and after > before + limit:
                left.append(f"{name}: {after - before >> 10} kB more than before the first job")
        if sockets := self._network.local_sockets():
            left.append(f"local sockets: {sockets}")
        if left or full:
            lists = self._lists()
            left += [
                f"{name}: {lists[name]}, before the first job {before}"
                for name, before in self._base_lists.items()
                if lists[name] != before
            ]
        return left

    def _lists(self) -> dict[str, Any]:
        """Return a mapping from the names of the kernel's longer lists to the lists or their lengths.

        The value of a list that cannot be read is None.
        """
        return {
            "sockets": _try(self._network.sockets_in_use),
            "processes": self._usage.processes(),
            "mounts": _try(lambda: Path("/proc/self/mountinfo").read_bytes().count(b"\n")),
            "System V objects": _try(lambda: sum(Path(path).read_bytes().count(b"\n") for path in _IPC) - len(_IPC)),
            "descriptors": _try(_descriptors),
            "namespaces": _try(_namespaces),
            "timers": _try(lambda: Path("/proc/self/timers").read_text()),
        }


def _open(*paths: Path) -> int | None:
    return next((os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths if path.exists()), None)


def _try(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except OSError:
        return None


def _descriptors() -> dict[str, int]:
    """Return the number of the runner's descriptors of each kind, such as `pipe`, `socket` or `anon_inode:inotify`."""
    kinds: Counter[str] = Counter()
    for entry in os.scandir("/proc/self/fd"):
        target = os.readlink(entry.path)
        kinds["file" if target.startswith("/") else target.partition(":[")[0]] += 1
    return dict(sorted(kinds.items()))


def _namespaces() -> dict[str, str]:
    """Return a mapping from each kind of namespace, except `net`, to the id of the runner's namespace."""
    links = {entry.name: os.readlink(entry.path) for entry in os.scandir("/proc/self/ns")}
    return {name: link for name, link in sorted(links.items()) if name != "net"}
