"""Read the upper directory of a job's overlay into a list of file changes. A job is one command.

The upper directory holds the files that the command added, and those that overlayfs copied before the command changed
them. `view` is a read-only mount of the layers below the upper directory. It shows each path as it was before the
command. This module walks both directories in parallel. It opens each directory by its name in the open parent
directory, and not by its full path. A full path could contain a link of the world that leads to the runner's own files.

All processes of the job have ended when this module reads the files. The reader opens only regular files and does not
follow links. It skips the holes of sparse files, and reads a file with several hard links once. There are limits on
entries, depth, bytes of paths, and the work in the job's reading budget. At a limit, the list of changes ends and is
marked as incomplete.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evaluator.sandbox.runner.access_lists import AccessLists, access_lists, lists_in
from evaluator.sandbox.runner.archives import read_archive
from evaluator.sandbox.runner.protocol import bytes_of, json_of
from evaluator.sandbox.runner.reading_budget import ReadingBudget, TruncatedError

MAX_ENTRIES = 20_000
MAX_DEPTH = 256
MAX_PATH_BYTES = 4 << 20
"""The most bytes of all paths and link targets together. 20,000 of the longest paths would be gigabytes."""

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
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOATIME  # a verifier sees access times
_FOLDER = _READ | os.O_DIRECTORY
_OPAQUE = "trusted.overlay.opaque"

LATEST_S = 3600
"""The longest time after a job's start that counts as a time during the job."""

LAG_NS = 20_000_000
"""The most that the time of a file lags behind the clock: a tick of at most 10 ms, twice."""

RawChange = dict[str, Any]


class _Entry(NamedTuple):
    """One entry of the upper directory: its name, its path, and a descriptor of its parent directory.

    `view` is a descriptor of the parent directory in its state before the command, or None if it did not exist then.
    """

    directory: int
    view: int | None
    name: bytes
    path: bytes


@dataclass(slots=True)
class Reader:
    """A reader of the file changes in one upper directory of an overlay.

    `view` shows the files before the command. `text_files` are the absolute paths of files whose bytes are recorded
    too. At the job's start, the real time is `start_ns`, and the suite's clock shows `clock_s`. The reader uses these
    two times to convert the times of changed files from real time to the time of the suite's clock.
    """

    upper: str
    view: str
    text_files: frozenset[bytes] = frozenset()
    with_mtime: bool = False
    start_ns: int = 0
    clock_s: int = 0
    budget: ReadingBudget = field(default_factory=ReadingBudget)
    _changes: list[RawChange] = field(default_factory=list)
    _path_bytes: int = 0
    _contents: dict[int, RawChange] = field(default_factory=dict)

    def read(self) -> tuple[list[RawChange], bool]:
        """Return the changes sorted by path, and whether the list of changes is incomplete."""
        truncated = False
        upper, view = (os.open(path, _FOLDER) for path in (self.upper, self.view))
        try:
            self._walk(upper, view, b"", 0, hides=False)
        except TruncatedError:
            truncated = True
        finally:
            os.close(upper)
            os.close(view)
        self._changes.sort(key=lambda change: bytes_of(change["path"]))
        return self._changes, truncated

    def _walk(self, directory: int, view: int | None, prefix: bytes, depth: int, *, hides: bool) -> None:
        """Add the changes below one directory. `view` is the directory at the same path before the command, if any.

        `hides` is true if the command deleted a directory above this one and made it again. Then all entries of
        `view` were deleted too. overlayfs marks only the topmost such directory, so `hides` passes the mark down.

        Raises TruncatedError if a limit on the list of changes is exceeded.
        """
        if depth > MAX_DEPTH:
            raise TruncatedError
        names = sorted(os.fsencode(name) for name in os.listdir(directory))
        self.budget.take_entries(len(names))
        hides = hides or (bool(prefix) and _opaque(directory))
        if view is not None and hides:
            hidden = {os.fsencode(name) for name in os.listdir(view)}
            self.budget.take_entries(len(hidden))
            for name in sorted(hidden.difference(names)):
                self._add(prefix + b"/" + name, {"kind": "deleted"})
        for name in names:
            now = os.stat(name, dir_fd=directory, follow_symlinks=False)
            before = _lstat(name, view)
            entry = _Entry(directory, view, name, prefix + b"/" + name)
            if not stat.S_ISDIR(now.st_mode):
                self._add_entry(entry, now, before, {}, {})
                continue
            child = os.open(name, _FOLDER, dir_fd=directory)
            below = os.open(name, _FOLDER, dir_fd=view) if before and stat.S_ISDIR(before.st_mode) else None
            try:
                old_lists = {} if below is None else access_lists(below)
                self._add_entry(entry, now, before, access_lists(child), old_lists)
                self._walk(child, below, entry.path, depth + 1, hides=hides)
            finally:
                os.close(child)
                if below is not None:
                    os.close(below)

    def _add(self, path: bytes, change: RawChange, target: bytes = b"") -> None:
        self._path_bytes += len(path) + len(target)
        if len(self._changes) >= MAX_ENTRIES or self._path_bytes > MAX_PATH_BYTES:
            raise TruncatedError
        record = {"path": json_of(path), **change}
        self.budget.take_json(record)
        self._changes.append(record)

    def _add_entry(
        self,
        entry: _Entry,
        now: os.stat_result,
        before: os.stat_result | None,
        lists: AccessLists,
        old_lists: AccessLists,
    ) -> None:
        """Add the change at a path, if there is one. The lists are those of a directory. Other lists are read here."""
        if stat.S_ISCHR(now.st_mode) and now.st_rdev == 0:  # overlayfs's mark of a deleted path
            if before is not None:
                self._add(entry.path, {"kind": "deleted"})
            return
        details = self._describe(entry, now)
        details.update(lists)
        if before is not None and stat.S_ISREG(before.st_mode) and stat.S_ISREG(now.st_mode):
            old_lists = self._lists_before(entry, lists_in(details), before.st_size == now.st_size)
        kind = self._kind(entry, now, before, details, old_lists)
        if kind is None:
            return
        if kind == "touched":
            details["mtime"] = self._mtime(now)
        if before is not None and kind != "type":
            details |= {
                "old_mode": stat.S_IMODE(before.st_mode),
                "old_uid": before.st_uid,
                "old_gid": before.st_gid,
            }
            details.update({f"old_{name}": text for name, text in old_lists.items()})
        target = bytes_of(details["target"]) if "target" in details else b""
        self._add(entry.path, {"kind": kind, **details}, target)

    def _kind(
        self,
        entry: _Entry,
        now: os.stat_result,
        before: os.stat_result | None,
        details: Mapping[str, Any],
        old_lists: AccessLists,
    ) -> str | None:
        """Return the kind of change at a path, or None if overlayfs copied the entry but nothing in it changed."""
        if before is None or entry.view is None:
            return "added"
        if stat.S_IFMT(before.st_mode) != stat.S_IFMT(now.st_mode):
            return "type"
        if stat.S_ISREG(now.st_mode) and (
            before.st_size != now.st_size or self._digest_before(entry.name, entry.view) != details["content"]
        ):
            return "modified"
        if stat.S_ISLNK(now.st_mode) and json_of(os.readlink(entry.name, dir_fd=entry.view)) != details["target"]:
            return "modified"
        rights = (before.st_mode, before.st_uid, before.st_gid, old_lists)
        if rights != (now.st_mode, now.st_uid, now.st_gid, lists_in(details)):
            return "mode"
        if stat.S_ISDIR(now.st_mode) or before.st_mtime_ns == now.st_mtime_ns:
            return None
        return "touched" if self.with_mtime or not self._is_in_job(self._mtime(now)) else None

    def _mtime(self, now: os.stat_result) -> int:
        """Return the time of a file. If the job wrote the file, this is a time on the suite's clock."""
        age = now.st_mtime_ns - self.start_ns
        is_of_job = -LAG_NS < age <= LATEST_S * 10**9
        return self.clock_s + max(0, age) // 10**9 if is_of_job else now.st_mtime_ns // 10**9

    def _is_in_job(self, time: int) -> bool:
        """Return whether a time on the suite's clock is during the job. Only a command that sets times gives others."""
        return 0 <= time - self.clock_s <= LATEST_S

    def _without_job_time(self, member: Mapping[str, Any]) -> dict[str, Any]:
        """Return a member of an archive without a time during the job, so that two runs have equal evidence."""
        time = member.get("mtime")
        return {**member, "mtime": None} if time is not None and self._is_in_job(time) else dict(member)

    def _lists_before(self, entry: _Entry, lists: AccessLists, has_same_size: bool) -> AccessLists:
        """Return the lists of a regular file before the command.

        To save time, return no lists for a file with another size and no lists now. A new file loses its lists.
        """
        if entry.view is None or not (lists or has_same_size):
            return {}
        descriptor = os.open(entry.name, _READ, dir_fd=entry.view)
        try:
            return access_lists(descriptor)
        finally:
            os.close(descriptor)

    def _digest_before(self, name: bytes, view: int) -> str:
        descriptor = os.open(name, _READ, dir_fd=view)
        try:
            return content_digest(descriptor, os.fstat(descriptor).st_size, self.budget)
        finally:
            os.close(descriptor)

    def _describe(self, entry: _Entry, now: os.stat_result) -> RawChange:
        details: RawChange = {
            "type": _TYPES[stat.S_IFMT(now.st_mode)],
            "mode": stat.S_IMODE(now.st_mode),
            "uid": now.st_uid,
            "gid": now.st_gid,
        }
        if self.with_mtime:
            details["mtime"] = self._mtime(now)
        if stat.S_ISLNK(now.st_mode):
            details["target"] = json_of(os.readlink(entry.name, dir_fd=entry.directory))
        elif stat.S_ISREG(now.st_mode):
            details |= self._content(entry, now)
            if now.st_nlink > 1:
                details["links"] = now.st_nlink
        return details

    def _content(self, entry: _Entry, now: os.stat_result) -> RawChange:
        """Return a regular file's size, its digest, and its members if it is an archive.

        A file with several hard links is read only once. Otherwise, many links to one large file would take too long.
        """
        known = self._contents.get(now.st_ino) if now.st_nlink > 1 else None
        if known is not None and entry.path not in self.text_files:
            return known
        descriptor = os.open(entry.name, _READ, dir_fd=entry.directory)
        try:
            content: RawChange = {"size": now.st_size, "content": content_digest(descriptor, now.st_size, self.budget)}
            content.update(access_lists(descriptor))
            archive = read_archive(descriptor, self.budget)
            if archive is not None:
                content |= archive._asdict() | {"members": list(map(self._without_job_time, archive.members))}
            if now.st_nlink > 1:
                self._contents[now.st_ino] = content
            if entry.path in self.text_files:
                content = {**content, "text": json_of(os.pread(descriptor, MAX_TEXT, 0))}
        finally:
            os.close(descriptor)
        return content


def _lstat(name: bytes, directory: int | None) -> os.stat_result | None:
    """Return the status of the entry `name` in a directory, or None if the entry or the directory does not exist."""
    try:
        return None if directory is None else os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _opaque(directory: int) -> bool:
    try:
        return os.getxattr(directory, _OPAQUE) == b"y"
    except OSError:
        return False


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each range of a file that holds data, up to MAX_CONTENT. Holes are left out."""
    position, limit = 0, min(size, MAX_CONTENT)
    while position < limit:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:
            return
        end = min(os.lseek(descriptor, start, os.SEEK_HOLE), limit)
        if start >= limit:
            return
        yield start, end
        position = end


def content_digest(descriptor: int, size: int, budget: ReadingBudget) -> str:
    """Return a SHA-256 of a file's content. A file of up to CHUNK bytes has the usual SHA-256 of its bytes.

    For a larger file, the digest covers the size and the data up to MAX_CONTENT. Chunks of zero bytes are left out,
    because a hole also reads as zero bytes. Raises TruncatedError if the budget is exceeded.
    """
    budget.take_bytes(min(size, CHUNK))
    if size <= CHUNK:
        return hashlib.sha256(os.pread(descriptor, CHUNK, 0)).hexdigest()
    state = hashlib.sha256(str(size).encode())
    next_offset = 0
    for start, end in _extents(descriptor, size):
        for offset in range(max(next_offset, start - start % CHUNK), end, CHUNK):
            budget.take_bytes(CHUNK)
            chunk = os.pread(descriptor, CHUNK, offset)
            if chunk.strip(b"\0"):
                state.update(offset.to_bytes(8, "big") + hashlib.sha256(chunk).digest())
            next_offset = offset + CHUNK
    return state.hexdigest()
