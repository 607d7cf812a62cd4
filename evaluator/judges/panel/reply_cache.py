"""The ledger: every reply that was ever bought, one line of JSON each, so that none is bought twice.

A line is written by one call, so a process that is killed loses at most the line being written; what such a
line left is passed over. Two ledgers are merged by writing one after the other: where both hold a reply under
one key, the same one counts in whichever order they stand.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from evaluator.errors import InfraError
from evaluator.records import Digest, Record


class ReplyKey(NamedTuple):
    """What a reply depends on: the evidence shown, who asked, who answered, the prompt's digest and the seed."""

    evidence: str
    judge: str
    model: str
    prompt: str
    seed: int


class Reply(Record):
    """One reply of a model, verbatim. `plain` tells that the server was not given the schema.

    A reply to a request for an embedding is the base64 of its 32-bit little-endian numbers.
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
        """Under which it is found again."""
        return ReplyKey(self.evidence, self.judge, self.model, self.prompt, self.seed)


class ReplyCache:
    """Replies of one file, read when the first is asked for. `unreadable` counts the lines passed over."""

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
            raise InfraError(f"{self.path} does not read ({error}); it holds every reply paid for: mend it") from error

    def __len__(self) -> int:
        """How many replies there are."""
        return len(self._replies)

    def find(self, key: ReplyKey) -> Reply | None:
        """The reply under this key."""
        return self._replies.get(key)

    def add(self, reply: Reply) -> None:
        """Keep a reply. Raises InfraError where the file does not take it; the reply is not lost to this run."""
        _keep(self._replies, reply)
        line = f"{reply.to_json()}\n".encode()
        try:
            if self._file is None:
                self._file = self._open()
            written = os.write(self._file, line)
        except OSError as error:
            raise InfraError(
                f"{self.path} takes no more replies ({error}): make room and run the same again"
            ) from error
        if written < len(line):
            raise InfraError(f"{self.path} took only a part of a reply: make room and run the same again")

    def _open(self) -> int:
        """The file, to append to; half a line at its end is ended first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")
        return file

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _keep(replies: dict[ReplyKey, Reply], reply: Reply) -> None:
    """Of two replies under one key the first in the order of their lines, whichever came first."""
    known = replies.get(reply.key)
    if known is None or reply.to_json() < known.to_json():
        replies[reply.key] = reply
