"""Keep every reply as one JSON line of a file, so that a run which was killed asks for no reply again.

Each line is written by a single call. A killed process loses at most the line that it is writing, and readers skip the
incomplete line. The key of a reply is the digest of everything that the request contains.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from evaluator.errors import InfraError
from evaluator.model_server.client import ChatRequest, ModelReply
from evaluator.records import Digest, EnergyCounter, Record, canonical_json, digest_of


class MeasuredEnergy(Record):
    """The energy in joules between two replies of a run, or from its start to the first one, by a hardware counter.

    Parallel requests share this energy, so it is not the energy of the second reply alone.
    """

    counter: EnergyCounter
    run: str
    joules: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LoggedReply(Record):
    """One line of the log: a reply, verbatim, and its cost. `latency_s` is the time of the request in seconds.

    `energy` is the energy since the reply before. It is None if the run was not measured.
    """

    format: Literal[1] = 1
    key: Digest
    text: str
    finish: str
    plain: bool
    input_tokens: int
    output_tokens: int
    usd: float
    latency_s: float
    energy: MeasuredEnergy | None = None


def request_key(base_url: str, request: ChatRequest, reply_tokens: int, sample: tuple[int, int]) -> str:
    """Return the digest of a request: the server, the model, the messages and all parameters, but no price.

    `sample` tells equal requests apart: the number of the run, and the number of the sample in it.
    """
    content: Mapping[str, Any] = {
        "base_url": base_url,
        "model": request.model.name,
        "messages": [dict(message) for message in request.messages],
        "parameters": dict(request.parameters),
        "extension": dict(request.extension),
        "max_tokens": reply_tokens,
        "sample": list(sample),
    }
    return digest_of(canonical_json(content))


class ReplyLog:
    """The replies of one file. `unreadable` counts the lines that are no reply, such as one that a kill cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0
        self._file: int | None = None
        self._replies: dict[str, LoggedReply] = {}
        for line in self._lines():
            try:
                reply = LoggedReply.model_validate_json(line)
                self._replies.setdefault(reply.key, reply)
            except ValidationError:
                self.unreadable += 1

    def _lines(self) -> list[bytes]:
        try:
            return [line for line in self.path.read_bytes().split(b"\n") if line.strip()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InfraError(f"cannot read {self.path} ({error}): it holds all received replies") from error

    def __len__(self) -> int:
        """Return the number of replies."""
        return len(self._replies)

    def __iter__(self) -> Iterator[LoggedReply]:
        """Yield all replies in the order in which they arrived."""
        return iter(self._replies.values())

    def find(self, key: str) -> LoggedReply | None:
        """Return the reply with this key, or None."""
        return self._replies.get(key)

    def add(self, key: str, reply: ModelReply, energy: MeasuredEnergy | None = None) -> LoggedReply:
        """Write a reply to the file and return its line. Raises InfraError if the file cannot be written."""
        logged = LoggedReply(key=key, energy=energy, **reply._asdict())
        line = f"{logged.to_json()}\n".encode()
        try:
            if self._file is None:
                self._file = self._open()
            written = os.write(self._file, line)
        except OSError as error:
            raise InfraError(f"cannot write a reply to {self.path} ({error}): make room, then run it again") from error
        if written < len(line):
            self.close()  # the next reply then begins on a new line
            raise InfraError(f"wrote only a part of a reply to {self.path}: make room, then run it again")
        self._replies[key] = logged
        return logged

    def _open(self) -> int:
        """Open the file to append lines. If its last line is incomplete, first write a line end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")
        return file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
