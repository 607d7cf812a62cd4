"""The inode numbers that jobs see. They are the same on every machine and in every run.

The numbers of the base image's files come from the disk of the machine, and those of a world's files depend on the
worlds that a worker built earlier. So the runner numbers the files of each layer in the order of their paths. The
library `image/numbers.c` in each program of a job replaces the kernel's numbers by these numbers. The files that a job
makes keep the numbers of the job's own file system, which counts from 2.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager

from evaluator.sandbox.runner.machine_files import MachineFiles

TABLE = "sys/kernel/inode_numbers"
FILE_SYSTEM_SHIFT = 62
"""The position of the number of a layer's file system in an inode number of an overlay with three file systems."""

LAYERS_DISK, BASE_DISK = 1, 2
"""The numbers of the file systems of a job's layers. The file system of the job's own changes has the number 0."""

TABLE_BYTES = 1 << 20
"""The size of the table's file, so that the size does not depend on the number of worlds. A larger table is allowed."""

NUMBERS_PER_LAYER = 1_000_000


def _inodes(directory: str) -> Iterator[int]:
    """Yield the inode numbers of a directory and of all files in it, in the order of their paths."""
    yield os.lstat(directory).st_ino
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _inodes(entry.path)
        else:
            yield entry.inode()


class InodeNumbers:
    """The table from the kernel's inode numbers to those that jobs see."""

    def __init__(self, machine: MachineFiles) -> None:
        self._machine = machine
        self._numbers: dict[int, int] = {}

    def add(self, directory: str, disk: int, position: int) -> None:
        """Number the files of a layer. `position` is the layer's position in its world, 1 for the lowest layer.

        Hard links to one file share the first number. Raises OSError if the table cannot be written.
        """
        first = position * NUMBERS_PER_LAYER
        for rank, inode in enumerate(_inodes(directory)):
            self._numbers.setdefault(disk << FILE_SYSTEM_SHIFT | inode, first + rank)
        keys = array("Q", sorted(self._numbers))
        values = array("Q", [self._numbers[key] for key in keys])
        table = array("Q", [0, len(keys)]).tobytes() + keys.tobytes() + values.tobytes()
        self._machine.overwrite(TABLE, table.ljust(TABLE_BYTES, b"\0"))

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
