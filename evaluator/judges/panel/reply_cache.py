"""Store every paid reply as one JSON line of a file, so that no reply is paid for twice.

Each line is written by a single call. If a process is killed, it loses at most the line that it is writing, and readers
skip the incomplete line. To merge two caches, concatenate the files. If both files contain a reply with the same key,
the choice between the replies does not depend on the order of the files.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from evaluator.errors import InfraError
from evaluator.files import write_whole
from evaluator.records import Digest, Record, canonical_json, digest_of


class ReplyKey(NamedTuple):
    """The cache key of a reply: the digest of the evidence, the judge, the model, the prompt's digest and the seed."""

    evidence: str
    judge: str
    model: str
    prompt: str
    seed: int

    @property
    def request_id(self) -> str:
        """Return the digest of this key, 64 hexadecimal digits. It is the id of the request in a file."""
        return digest_of(canonical_json(list(self)))


class Reply(Record):
    """One reply of a model, verbatim. `plain` is true if the request contained no schema.

    The reply to a request for an embedding is the base64 text of its 32-bit little-endian numbers.
    """

    format: Literal[1]
    evidence: Digest
    judge: str
    model: str
    prompt: Digest
    seed: int
    text: str
    plain: bool = False
    finish: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def key(self) -> ReplyKey:
        """Return the cache key of this reply."""
        return ReplyKey(self.evidence, self.judge, self.model, self.prompt, self.seed)


class ReplyCache:
    """The models' replies in one file, which is read at the first access. `unreadable` counts its invalid lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0
        self._file: int | None = None

    @cached_property
    def _replies(self) -> dict[ReplyKey, Reply]:
        replies: dict[ReplyKey, Reply] = {}
        for line in self._lines():
            try:
                _keep(replies, Reply.model_validate_json(line))
            except ValidationError:
                self.unreadable += 1
        return replies

    def _lines(self) -> list[bytes]:
        try:
            return [line for line in self.path.read_bytes().split(b"\n") if line.strip()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InfraError(f"cannot read {self.path} ({error}): it holds all paid replies, so repair it") from error

    def __len__(self) -> int:
        """Return the number of replies in the cache."""
        return len(self._replies)

    def keys(self) -> Collection[ReplyKey]:
        """Return the keys of all replies."""
        return self._replies.keys()

    def find(self, key: ReplyKey) -> Reply | None:
        """Return the reply with this key, or None."""
        return self._replies.get(key)

    def add(self, reply: Reply) -> None:
        """Store a reply in memory, then in the file. Raises InfraError if the file cannot be written."""
        _keep(self._replies, reply)
        line = f"{reply.to_json()}\n".encode()
        try:
            if self._file is None:
                self._file = self._open()
            written = os.write(self._file, line)
        except OSError as error:
            raise InfraError(
                f"cannot write a reply to {self.path} ({error}): make room and run the same command again"
            ) from error
        if written < len(line):
            raise InfraError(f"wrote only a part of a reply to {self.path}: make room and run the same command again")

    def add_all(self, replies: Sequence[Reply]) -> None:
        """Store all of these replies, or none of them if the file cannot be written.

        The file is replaced, so no other process may use this cache. Raises InfraError if the file cannot be written.
        """
        self.close()
        lines = [*self._lines(), *(reply.to_json().encode() for reply in replies)]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, b"".join(line + b"\n" for line in lines))
        except OSError as error:
            raise InfraError(
                f"cannot write replies to {self.path} ({error}): nothing is stored; make room and run the same command "
                "again"
            ) from error
        for reply in replies:
            _keep(self._replies, reply)

    def _open(self) -> int:
        """Open the cache file to append lines. If its last line is incomplete, first write a line end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")
        return file

    def close(self) -> None:
        """Close the cache file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _keep(replies: dict[ReplyKey, Reply], reply: Reply) -> None:
    """Add a reply to `replies`. Of two replies with the same key, keep the one whose JSON line sorts first."""
    known = replies.get(reply.key)
    if known is None or reply.to_json() < known.to_json():
        replies[reply.key] = reply
