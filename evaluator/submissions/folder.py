"""The one place that reads a submission's folder from disk.

Whoever made the folder chose what stands in it: links that lead elsewhere, a FIFO that never answers, a
sparse file of a terabyte, a name with control characters. Nothing is followed, nothing is waited for, and no
more than the limit is read, whatever `stat` said before.
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
    """What stands under a name; the value reads in a message."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    FIFO = "a FIFO"
    SOCKET = "a socket"
    DEVICE = "a device"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder; bytes of the name that are not UTF-8 are lone surrogates, as the language keeps them."""

    name: str
    kind: EntryKind
    size: int


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A folder held open, so that it cannot be exchanged between looking and reading.

    `entries` are sorted by name and no more than asked for; `overfull` tells that there are others.
    """

    descriptor: int
    entries: tuple[FolderEntry, ...]
    overfull: bool

    def read(self, entry: FolderEntry, most: int) -> bytes:
        """At most `most` bytes of a regular file. Raises OSError, also where it is none any more."""
        descriptor = os.open(entry.name, _OPEN, dir_fd=self.descriptor)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"not {EntryKind.FILE} any more")
            return file.read(most)


def kind_of(path: Path) -> EntryKind:
    """What stands at a path, links not followed. Raises UsageError where nothing does."""
    try:
        return _kind(path.lstat().st_mode)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{printable(str(path))}: no such folder; expected one such as submissions/my-system"
        ) from error


@contextmanager
def open_folder(folder: Path, most: int) -> Iterator[OpenFolder]:
    """Hold a folder open with its first `most` entries. Raises OSError, also where it is a link."""
    descriptor = os.open(folder, _OPEN | os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as listing:
            found = [_entry(entry) for entry in islice(listing, most + 1)]
        entries = sorted(found[:most], key=lambda entry: entry.name)
        yield OpenFolder(descriptor, tuple(entries), len(found) > most)
    finally:
        os.close(descriptor)


def names_beside(folder: Path) -> list[str]:
    """The other names in the folder that holds `folder`, an absolute path."""
    return [beside.name for beside in folder.parent.iterdir() if beside.name != folder.name]


def _entry(found: os.DirEntry[str]) -> FolderEntry:
    status = found.stat(follow_symlinks=False)
    return FolderEntry(found.name, _kind(status.st_mode), status.st_size)


def _kind(mode: int) -> EntryKind:
    tests = {
        stat.S_ISREG: EntryKind.FILE,
        stat.S_ISDIR: EntryKind.FOLDER,
        stat.S_ISLNK: EntryKind.LINK,
        stat.S_ISFIFO: EntryKind.FIFO,
        stat.S_ISSOCK: EntryKind.SOCKET,
    }
    return next((kind for test, kind in tests.items() if test(mode)), EntryKind.DEVICE)
