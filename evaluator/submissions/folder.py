"""This module reads a submission's folder from disk. No other module of this package reads the disk.

The folder is untrusted. It may contain links to other places, a FIFO that blocks, a sparse file of a terabyte, or names
with control characters. This module follows no link, never waits for data, and never reads more bytes than its caller
allows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.escaping import printable

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class EntryKind(StrEnum):
    """The type of a directory entry. Messages show its value."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    FIFO = "a FIFO"
    SOCKET = "a socket"
    DEVICE = "a device"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One directory entry. If bytes of the name are not valid UTF-8, Python represents them as lone surrogates."""

    name: str
    kind: EntryKind
    size: int


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """An open submission folder. It stays open, so that no program can put another folder in its place.

    `entries` are sorted by name. `overfull` is true if the folder has more entries than these.
    """

    descriptor: int
    entries: tuple[FolderEntry, ...]
    overfull: bool

    def read(self, entry: FolderEntry, most: int) -> bytes:
        """Return at most `most` bytes of an entry's file. Raises OSError if the entry is no longer a regular file."""
        descriptor = os.open(entry.name, _OPEN, dir_fd=self.descriptor)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"not {EntryKind.FILE} any more")
            return file.read(most)


def kind_of(path: Path) -> EntryKind:
    """Return the type of the entry at a path. Links are not followed. Raises UsageError if the path does not exist."""
    try:
        return _kind(path.lstat().st_mode)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{printable(str(path))}: no such folder; expected one such as submissions/my-system"
        ) from error


@contextmanager
def open_folder(folder: Path, most: int) -> Iterator[OpenFolder]:
    """Open a folder and list its first `most` entries. Raises OSError if the folder is a link or cannot be opened."""
    descriptor = os.open(folder, _OPEN | os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as listing:
            first = [_entry(entry) for entry in islice(listing, most + 1)]
        entries = sorted(first[:most], key=lambda entry: entry.name)
        yield OpenFolder(descriptor, tuple(entries), len(first) > most)
    finally:
        os.close(descriptor)


def names_beside(folder: Path) -> list[str]:
    """Return the names of all entries beside `folder` in its parent folder. `folder` is an absolute path."""
    return [beside.name for beside in folder.parent.iterdir() if beside.name != folder.name]


def _entry(entry: os.DirEntry[str]) -> FolderEntry:
    status = entry.stat(follow_symlinks=False)
    return FolderEntry(entry.name, _kind(status.st_mode), status.st_size)


def _kind(mode: int) -> EntryKind:
    tests = {
        stat.S_ISREG: EntryKind.FILE,
        stat.S_ISDIR: EntryKind.FOLDER,
        stat.S_ISLNK: EntryKind.LINK,
        stat.S_ISFIFO: EntryKind.FIFO,
        stat.S_ISSOCK: EntryKind.SOCKET,
    }
    return next((kind for test, kind in tests.items() if test(mode)), EntryKind.DEVICE)
