"""The limits on the runner's work to read the files that one job left: bytes, entries, archive members, JSON.

A job's evidence must not depend on the speed of the machine. So each limit counts work and not time. If a limit is
exceeded, the runner stops reading and marks the evidence as incomplete. In addition, there is a deadline in seconds. A
job that reaches the deadline gives no evidence.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

READING_S = 40.0
"""The deadline for reading one job's files. The host waits 20 s longer."""

MAX_LINE = 8 << 20
"""The most bytes of one line of evidence."""

MAX_WORK = 1 << 30
"""The most work on all archives of one job. One unit is about the work of hashing one byte, which takes 1 ns."""

READ_FACTOR = 4
"""The most bytes that are read, as a multiple of the job's disk. A file is read for its digest, as an archive, and in
the version before the command."""

MAX_VISITED = 60_000
CHUNK = 1 << 16
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def line_of(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line of JSON, without the line's end."""
    return _ENCODER.encode(message).encode()


class TruncatedError(Exception):
    """The work to read one job's files exceeds a limit. The evidence is marked as incomplete."""


class TooLargeError(Exception):
    """An archive exceeds a limit for one archive. Judges compare it by its bytes and not by its members."""


class UnfinishedJobError(Exception):
    """The runner did not finish a job in time. A busy machine may be the cause, so the result is no evidence."""


@dataclass(slots=True)
class ReadingBudget:
    """The remaining limits for reading one job's files. Each method raises TruncatedError if its limit is exceeded.

    `bytes_left` limits the bytes read from files, and `visited_left` the entries of directories. `work_left` limits the
    work to read archives, `members_left` their members, and `name_bytes_left` the bytes of their members' names.
    `json_left` limits the bytes of the evidence as JSON.
    """

    bytes_left: int = 1 << 30
    visited_left: int = MAX_VISITED
    work_left: int = MAX_WORK
    members_left: int = 20_000
    name_bytes_left: int = 2 << 20
    json_left: int = MAX_LINE
    _ends: float = field(default_factory=lambda: time.monotonic() + READING_S)

    def _check(self, left: int) -> None:
        if left < 0:
            raise TruncatedError
        if time.monotonic() > self._ends:
            raise UnfinishedJobError(f"the files of a job were not read in {READING_S:.0f} s")

    def take_bytes(self, count: int) -> None:
        """Reduce the budget by the bytes that are about to be read from a file."""
        self.bytes_left -= count
        self._check(self.bytes_left)

    def take_entries(self, count: int) -> None:
        """Reduce the budget by the entries of a directory that the runner visits."""
        self.visited_left -= count
        self._check(self.visited_left)

    def take_work(self, units: int) -> None:
        """Reduce the budget by units of work on an archive. A byte of a slow compression format takes more units."""
        self.work_left -= units
        self._check(self.work_left)

    def take_member(self, name: bytes) -> None:
        """Reduce the budget by one archive member and the bytes of its name."""
        self.members_left -= 1
        self.name_bytes_left -= len(name)
        self._check(min(self.members_left, self.name_bytes_left))

    def take_json(self, record: Mapping[str, Any]) -> None:
        """Reduce the budget by the bytes of a record of the evidence, as JSON."""
        self.json_left -= len(line_of(record)) + 1
        self._check(self.json_left)

    def digest(self, file: IO[bytes], most: int, work: int = 1) -> tuple[str, int]:
        """Read an archive member from the present position of `file` to its end. Return its SHA-256 and its size.

        Each byte takes `work` units of the budget. Raises TooLargeError if the size exceeds `most` bytes.
        """
        state, size = hashlib.sha256(), 0
        while chunk := file.read(CHUNK):
            self.take_work(len(chunk) * work)
            size += len(chunk)
            if size > most:
                raise TooLargeError
            state.update(chunk)
        return state.hexdigest(), size


class MeteredFile:
    """An open file that reports the size of each read to the function `take`.

    It has only the methods that `zipfile` and `tarfile` use. A read of few bytes counts as 4 kB, because it takes as
    much time as a read of 4 kB.
    """

    def __init__(self, file: IO[bytes], take: Callable[[int], None]) -> None:
        self._file, self._take = file, take
        self._size = file.seek(0, os.SEEK_END)
        file.seek(0)

    def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes, or all remaining bytes."""
        rest = max(0, self._size - self._file.tell())
        size = rest if size is None or size < 0 else min(size, rest)
        self._take(max(size, 1 << 12))
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to another position in the file and return the new position."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the present position in the file."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return True, because `zipfile` and `tarfile` may move in this file."""
        return True

    def close(self) -> None:
        """Do nothing, because the caller closes the file."""
