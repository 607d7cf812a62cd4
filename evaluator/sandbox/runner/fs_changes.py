"""Read an overlay's upper directory into a change set.

The upper directory holds what a command added or copied up; `view` is a read-only mount of the layers below,
so the kernel itself answers what stood at a path before. Both are walked side by side by descriptor: a path
looked up whole would follow links of the world below, out of the view and into the runner's own root.

By the time this runs every process of the job is dead. Files are opened only if they are regular, without
following links; holes of sparse files are skipped, a file of many names is read once, and entries, depth, bytes
of paths and all that is unpacked from archives are capped.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evaluator.sandbox.runner.archives import ArchiveBudget, read_archive
from evaluator.sandbox.runner.protocol import bytes_of, json_of

MAX_ENTRIES = 20_000
MAX_DEPTH = 256
MAX_PATH_BYTES = 4 << 20
"""Of all paths and link targets together: 20,000 of the longest would be gigabytes."""

MAX_CONTENT = 64 << 20
MAX_TEXT = 1 << 20
CHUNK = 1 << 18

_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character",
    stat.S_IFBLK: "block",
}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = _READ | os.O_DIRECTORY
_OPAQUE = "trusted.overlay.opaque"

RawChange = dict[str, Any]


class TruncatedError(Exception):
    """More was changed than is listed."""


class _Place(NamedTuple):
    """One entry of the upper directory: the open directories it lies in, here and below, its name and path."""

    directory: int
    view: int | None
    name: bytes
    path: bytes


@dataclass(slots=True)
class Reader:
    """Reads one upper directory; `text_files` are the absolute paths whose bytes are wanted.

    `start_ns` is the real time at which the job began and `clock_s` the suite's: times of files written
    during the job are given by the latter.
    """

    upper: str
    view: str
    text_files: frozenset[bytes] = frozenset()
    with_mtime: bool = False
    start_ns: int = 0
    clock_s: int = 0
    _found: list[RawChange] = field(default_factory=list)
    _path_bytes: int = 0
    _budget: ArchiveBudget = field(default_factory=ArchiveBudget)
    _contents: dict[int, RawChange] = field(default_factory=dict)

    def read(self) -> tuple[list[RawChange], bool]:
        """All changes sorted by path, and whether there were more than are listed."""
        truncated = False
        upper, view = (os.open(path, _FOLDER) for path in (self.upper, self.view))
        try:
            self._walk(upper, view, b"", 0, hides=False)
        except TruncatedError:
            truncated = True
        finally:
            os.close(upper)
            os.close(view)
        self._found.sort(key=_path_bytes)
        return self._found, truncated

    def _walk(self, directory: int, view: int | None, prefix: bytes, depth: int, *, hides: bool) -> None:
        """Changes below one directory; `view` is what stood at its path before, if that was a directory.

        `hides` tells that a directory above was deleted and made again: then nothing of `view` shines through, and
        only the topmost such directory carries the mark.
        """
        if depth > MAX_DEPTH:
            raise TruncatedError
        names = sorted(os.fsencode(name) for name in os.listdir(directory))
        hides = hides or (bool(prefix) and _opaque(directory))
        if view is not None and hides:
            self._deleted_below(view, prefix, names)
        for name in names:
            entry = os.stat(name, dir_fd=directory, follow_symlinks=False)
            before = _lstat(name, view)
            self._entry(_Place(directory, view, name, prefix + b"/" + name), entry, before)
            if stat.S_ISDIR(entry.st_mode):
                self._walk_into(directory, view, name, prefix, depth, before, hides=hides)

    def _walk_into(
        self,
        directory: int,
        view: int | None,
        name: bytes,
        prefix: bytes,
        depth: int,
        before: os.stat_result | None,
        *,
        hides: bool,
    ) -> None:
        child = os.open(name, _FOLDER, dir_fd=directory)
        below = os.open(name, _FOLDER, dir_fd=view) if before and stat.S_ISDIR(before.st_mode) else None
        try:
            self._walk(child, below, prefix + b"/" + name, depth + 1, hides=hides)
        finally:
            os.close(child)
            if below is not None:
                os.close(below)

    def _deleted_below(self, view: int, prefix: bytes, present: Sequence[bytes]) -> None:
        """A directory that was deleted and made again hides what stood in it before."""
        for name in sorted({os.fsencode(name) for name in os.listdir(view)}.difference(present)):
            self._add(prefix + b"/" + name, {"kind": "deleted"})

    def _add(self, path: bytes, change: RawChange, target: bytes = b"") -> None:
        self._path_bytes += len(path) + len(target)
        if len(self._found) >= MAX_ENTRIES or self._path_bytes > MAX_PATH_BYTES:
            raise TruncatedError
        self._found.append({"path": json_of(path), **change})

    def _entry(self, place: _Place, now: os.stat_result, before: os.stat_result | None) -> None:
        if stat.S_ISCHR(now.st_mode) and now.st_rdev == 0:
            if before is not None:
                self._add(place.path, {"kind": "deleted"})
            return
        described = self._describe(place, now)
        kind = self._kind(place, now, before, described)
        if kind is None:
            return
        if before is not None and kind != "type":
            described |= {
                "old_mode": stat.S_IMODE(before.st_mode),
                "old_uid": before.st_uid,
                "old_gid": before.st_gid,
            }
        target = bytes_of(described["target"]) if "target" in described else b""
        self._add(place.path, {"kind": kind, **described}, target)

    def _kind(
        self, place: _Place, now: os.stat_result, before: os.stat_result | None, seen: Mapping[str, Any]
    ) -> str | None:
        """What happened to a path; None for a copy-up that changed nothing."""
        if before is None or place.view is None:
            return "added"
        if stat.S_IFMT(before.st_mode) != stat.S_IFMT(now.st_mode):
            return "type"
        if stat.S_ISREG(now.st_mode) and (
            before.st_size != now.st_size or _digest_at(place.name, place.view) != seen["content"]
        ):
            return "modified"
        if stat.S_ISLNK(now.st_mode) and json_of(os.readlink(place.name, dir_fd=place.view)) != seen["target"]:
            return "modified"
        if (before.st_mode, before.st_uid, before.st_gid) != (now.st_mode, now.st_uid, now.st_gid):
            return "mode"
        if self.with_mtime and not stat.S_ISDIR(now.st_mode) and before.st_mtime_ns != now.st_mtime_ns:
            return "touched"
        return None

    def _describe(self, place: _Place, entry: os.stat_result) -> RawChange:
        described: RawChange = {
            "type": _TYPES[stat.S_IFMT(entry.st_mode)],
            "mode": stat.S_IMODE(entry.st_mode),
            "uid": entry.st_uid,
            "gid": entry.st_gid,
        }
        if self.with_mtime:
            described["mtime"] = self._mtime(entry)
        if stat.S_ISLNK(entry.st_mode):
            described["target"] = json_of(os.readlink(place.name, dir_fd=place.directory))
        elif stat.S_ISREG(entry.st_mode):
            described |= self._content(place, entry)
        return described

    def _content(self, place: _Place, entry: os.stat_result) -> RawChange:
        """What a regular file holds. A file of many names is read once: 20,000 links to 64 MB are a terabyte."""
        known = self._contents.get(entry.st_ino) if entry.st_nlink > 1 else None
        if known is not None and place.path not in self.text_files:
            return known
        descriptor = os.open(place.name, _READ, dir_fd=place.directory)
        try:
            content: RawChange = {"size": entry.st_size, "content": content_digest(descriptor, entry.st_size)}
            archive = read_archive(descriptor, self._budget)
            if archive is not None:
                content["packing"], content["members"] = archive
            if entry.st_nlink > 1:
                self._contents[entry.st_ino] = content
            if place.path in self.text_files:
                content = {**content, "text": json_of(os.pread(descriptor, MAX_TEXT, 0))}
        finally:
            os.close(descriptor)
        return content

    def _mtime(self, entry: os.stat_result) -> int:
        age = entry.st_mtime_ns - self.start_ns
        return self.clock_s + max(0, age) // 10**9 if age > -20_000_000 else entry.st_mtime_ns // 10**9


def _path_bytes(change: RawChange) -> bytes:
    return bytes_of(change["path"])


def _lstat(name: bytes, directory: int | None) -> os.stat_result | None:
    """What stands at a name, if there is a directory to ask and it has one."""
    try:
        return None if directory is None else os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _digest_at(name: bytes, directory: int) -> str:
    descriptor = os.open(name, _READ, dir_fd=directory)
    try:
        return content_digest(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _opaque(directory: int) -> bool:
    try:
        return os.getxattr(directory, _OPAQUE) == b"y"
    except OSError:
        return False


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """The data extents of a file below the cap; holes are left out."""
    position, end = 0, min(size, MAX_CONTENT)
    while position < end:
        try:
            begin = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:
            return
        stop = min(os.lseek(descriptor, begin, os.SEEK_HOLE), end)
        if begin >= end:
            return
        yield begin, stop
        position = stop


def content_digest(descriptor: int, size: int) -> str:
    """SHA-256 of a small file's bytes; of a larger one, of its size and its data below the cap.

    A hole and as many zero bytes read alike, so only chunks that hold another byte than zero count, each once.
    """
    if size <= CHUNK:
        return hashlib.sha256(os.pread(descriptor, CHUNK, 0)).hexdigest()
    state = hashlib.sha256(str(size).encode())
    done = 0
    for begin, stop in _extents(descriptor, size):
        for offset in range(max(done, begin - begin % CHUNK), stop, CHUNK):
            chunk = os.pread(descriptor, CHUNK, offset)
            if chunk.strip(b"\0"):
                state.update(offset.to_bytes(8, "big") + hashlib.sha256(chunk).digest())
            done = offset + CHUNK
    return state.hexdigest()
