"""The inode numbers that jobs see. They are the same on every machine and in every run.

The numbers of the base image's files come from the disk of the machine, and those of a world's files depend on the
worlds that a worker built earlier. So the runner numbers the files of each layer in the order of their paths. The
library `image/numbers.c` in each program of a job replaces the kernel's numbers by these numbers. The files that a job
makes keep the numbers of the job's own file system, which counts from 2.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from evaluator.sandbox.runner.machine_files import MachineFiles

TABLE = "sys/kernel/inode_numbers"
FILE_SYSTEM_SHIFT = 62
"""The position of the number of a layer's file system in an inode number of an overlay with three file systems."""

LAYERS_DISK, BASE_DISK = 1, 2
"""The numbers of the file systems of a job's layers. The file system of the job's own changes has the number 0."""

TABLE_BYTES = 1 << 18
"""The size of the table's file, so that the size does not depend on the world. A larger table is allowed."""

NUMBERS_PER_LAYER = 1_000_000


def _inodes(directory: str) -> Iterator[int]:
    """Yield the inode numbers of a directory and of all files in it, in the order of their paths."""
    yield os.lstat(directory).st_ino
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _inodes(entry.path)
        else:
            yield entry.inode()


class _Numbers(NamedTuple):
    """The kernel's inode numbers of one or more layers in ascending order, and the numbers that jobs see."""

    keys: array[int]
    values: array[int]

    @staticmethod
    def of(numbers: Mapping[int, int]) -> _Numbers:
        keys = array("Q", sorted(numbers))
        return _Numbers(keys, array("Q", map(numbers.__getitem__, keys)))


class InodeNumbers:
    """The table from the kernel's inode numbers to those that jobs see. It holds the layers of one world at a time."""

    def __init__(self, machine: MachineFiles) -> None:
        self._machine = machine
        self._layers: dict[str, _Numbers] = {}
        self._selected: tuple[tuple[str, ...], int] = (), 0

    def add(self, directory: str, disk: int, position: int) -> None:
        """Number the files of a layer. `position` is the layer's position in its world, 1 for the lowest layer.

        Hard links to one file share the first number.
        """
        numbers: dict[int, int] = {}
        for rank, inode in enumerate(_inodes(directory)):
            numbers.setdefault(disk << FILE_SYSTEM_SHIFT | inode, position * NUMBERS_PER_LAYER + rank)
        self._layers[directory] = _Numbers.of(numbers)

    def select(self, directories: tuple[str, ...], clock_s: int) -> None:
        """Write the table for a world with these layers, the base image's files last. No job may run at this time.

        The table also has the world's clock, and /proc/stat has the time at which the world's machine started.

        The base image has many files, and the kernel's numbers of its disk are larger than those of the other layers.
        So its part of the table is not sorted again. Raises OSError if the table cannot be written.
        """
        if (directories, clock_s) == self._selected:
            return
        *upper, base = (self._layers[directory] for directory in directories if directory in self._layers)
        above = _Numbers.of({key: value for layer in upper for key, value in zip(*layer, strict=True)})
        head = array("Q", [0, len(above.keys) + len(base.keys), clock_s])
        parts = head, above.keys, base.keys, above.values, base.values
        self._machine.overwrite(TABLE, b"".join(parts).ljust(TABLE_BYTES, b"\0"))
        self._machine.set_clock(clock_s)
        self._selected = directories, clock_s

    @contextmanager
    def for_verifier(self) -> Iterator[None]:
        """Adapt the table to a verifier during the context, so that it sees the numbers that the command saw.

        The overlay of a verifier has one more file system, with the files that the command changed.
        """
        self._machine.overwrite(TABLE, array("Q", [1]).tobytes())
        try:
            yield
        finally:
            self._machine.overwrite(TABLE, array("Q", [0]).tobytes())
