"""The fixed files that every job sees in /proc and /sys, in place of those of the machine.

The file `machine.txt` lists the settings of the kernel and the devices, and `proc_files.py` has the longer texts. The
jail mounts the files over the real ones. They are on one read-only file system, because a job with root rights could
change them for later jobs otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from evaluator.sandbox.runner import kernel
from evaluator.sandbox.runner.proc_files import PRIVATE, proc_contents, process_1

MACHINE = "machine"
"""The name of the folder with the fixed files, in the folder of the runner."""

_LIST = Path(__file__).with_name("machine.txt")
_OPTIONS = "size=0,nr_inodes=0"  # `df` does not list a file system that reports size 0
_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV


def expand(path: str) -> Iterator[str]:
    """Yield the paths for which `path` stands. `a/{b,c}/d` stands for `a/b/d` and `a/c/d`."""
    before, _, rest = path.partition("{")
    choice, brace, after = rest.partition("}")
    if not brace:
        yield path
        return
    for part in choice.split(","):
        yield from expand(before + part + after)


class MachineFiles:
    """The folder with the fixed files. It contains the folders `proc` and `sys`, an empty file and an empty folder."""

    def __init__(self, run: Path, clock_s: int) -> None:
        self._folder, self._clock_s = run / MACHINE, clock_s
        self._folder.mkdir()
        kernel.mount("machine", str(self._folder), "tmpfs", _FLAGS, f"{_OPTIONS},mode=755")
        self._write_all()
        self._set_times()
        self._remount(kernel.MS_RDONLY)

    def overwrite(self, name: str, data: bytes) -> None:
        """Write `data` at the start of the file `name`, and leave the rest of it. No job may run at this time."""
        self._remount(0)
        with (self._folder / name).open("r+b") as file:
            file.write(data)
        os.utime(self._folder / name, (self._clock_s, self._clock_s))
        self._remount(kernel.MS_RDONLY)

    def set_clock(self, clock_s: int) -> None:
        """Write the start of the machine for a world with this clock. No job may run at this time."""
        self.overwrite("proc/stat", proc_contents(clock_s)["stat"].encode())

    def _remount(self, flags: int) -> None:
        kernel.mount("machine", str(self._folder), "tmpfs", _FLAGS | kernel.MS_REMOUNT | flags, _OPTIONS)

    def _write(self, name: str, text: str, mode: int = 0o444) -> None:
        path = self._folder / name
        if name.endswith("/"):
            path.mkdir(mode=mode | (mode & 0o444) >> 2, parents=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def _link(self, name: str, target: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def _write_all(self) -> None:
        self._write("empty", "")
        self._write("folder/", "")
        for name, text in proc_contents(self._clock_s).items():
            self._write(f"proc/{name}", text)
        files, links = process_1()
        for name, text in files.items():
            self._write(f"proc/1/{name}", text, 0o400 if name.rpartition("task/1/")[2] in PRIVATE else 0o444)
        for name, target in links.items():
            self._link(f"proc/1/{name}", target)
        for line in _LIST.read_text().splitlines():
            self._write_line(line)

    def _write_line(self, line: str) -> None:
        """Write the files of one line of the list."""
        path, arrow, target = line.partition(" -> ")
        if arrow:
            self._link(path, target)
        elif line and not line.startswith("#"):
            name, _, text = line.partition(" =")
            mode = 0o644 if name.startswith("proc/sys/") else 0o444
            for each in expand(name):
                self._write(each, text.lstrip(" ").replace("\\t", "\t").replace("\\n", "\n") + "\n", mode)

    def _set_times(self) -> None:
        """Give all files the time of the suite's clock, as the kernel gives its own files the time of the reader."""
        times = self._clock_s, self._clock_s
        for folder, folders, names in os.walk(self._folder, topdown=False):
            for name in (*folders, *names):
                os.utime(f"{folder}/{name}", times, follow_symlinks=False)
        os.utime(self._folder, times)
