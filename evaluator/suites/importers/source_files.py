"""This module selects the files of a publisher's source that an importer reads, and lists them with their digests.

A source is untrusted: a repository, a folder or an archive. It is read as a tree of entries. Only the entries that the
importer needs are read, and only below fixed limits. No entry is executed, and no link is followed.

A selected file has the name that its importer expects, such as `all.nl` for `data/bash/all.nl`. So the same files of a
repository, a wheel and a plain folder have the same list and the same digest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from evaluator.errors import UsageError
from evaluator.escaping import printable

MAX_ENTRIES: Final = 200_000
MAX_FILES: Final = 20_000
MAX_FILE_BYTES: Final = 16 << 20
MAX_BYTES: Final = 128 << 20
_MAX_NAME: Final = 300


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One file or link of a source, before it is read: the size in bytes, and the type."""

    size: int
    executable: bool = False
    link: bool = False


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file that an importer reads. `data` is the file's content, or the target of a link."""

    data: bytes
    executable: bool = False
    link: bool = False


class SourceTree(Protocol):
    """A publisher's source: its entries by path, with slashes and relative to the root of the source."""

    @property
    def label(self) -> str:
        """Return the name of the source for messages, such as a path or an address."""
        ...

    @property
    def remark(self) -> str:
        """Return a remark about the source for messages, such as a missing commit. It may be empty."""
        ...

    @property
    def entries(self) -> Mapping[str, SourceEntry]:
        """Return all files and links of the source."""
        ...

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of the named files, and the targets of the named links."""
        ...


def select_files(tree: SourceTree, wanted: re.Pattern[str]) -> dict[str, SourceFile]:
    """Read the files of a source that match `wanted`. The first group of the pattern is the name for the importer.

    If two files have one name, the file with the first path in sorted order is read. Raises UsageError if a file has an
    unsafe name, or if there is more data than the limits allow.
    """
    paths: dict[str, str] = {}
    for path in sorted(tree.entries):
        match = wanted.search(path)
        if match:
            paths.setdefault(match[1], path)
    _check_limits(tree, paths)
    contents = tree.read(list(paths.values()))
    return {
        name: SourceFile(contents[path], tree.entries[path].executable, tree.entries[path].link)
        for name, path in sorted(paths.items())
    }


def _check_limits(tree: SourceTree, paths: Mapping[str, str]) -> None:
    for name, path in paths.items():
        if not _is_safe(name):
            raise UsageError(f"{tree.label}: unsafe name of a file: {printable(path)[:100]!r}")
        if tree.entries[path].size > MAX_FILE_BYTES:
            raise UsageError(
                f"{tree.label}: {printable(path)} has {tree.entries[path].size:,} bytes, expected at most "
                f"{MAX_FILE_BYTES:,}"
            )
    size = sum(tree.entries[path].size for path in paths.values())
    if len(paths) > MAX_FILES or size > MAX_BYTES:
        raise UsageError(
            f"{tree.label}: {len(paths):,} files with {size:,} bytes, expected at most {MAX_FILES:,} files with "
            f"{MAX_BYTES:,} bytes"
        )


def _is_safe(name: str) -> bool:
    parts = name.split("/")
    return (
        len(name) <= _MAX_NAME
        and name.isprintable()
        and "\\" not in name
        and not any(part in ("", ".", "..", ".git") for part in parts)
    )


def list_files(files: Mapping[str, SourceFile]) -> dict[str, str]:
    """Return the SHA-256 of each file by name, sorted by name."""
    return {name: hashlib.sha256(files[name].data).hexdigest() for name in sorted(files)}


def write_files(files: Mapping[str, SourceFile], folder: Path) -> None:
    """Write files below an empty folder, with modes that do not depend on this machine."""
    for name, file in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            path.symlink_to(os.fsdecode(file.data))
        else:
            path.write_bytes(file.data)
            path.chmod(0o755 if file.executable else 0o644)
