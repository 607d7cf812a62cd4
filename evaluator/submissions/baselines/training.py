"""Training pairs for baselines. Each pair is an instruction and its command."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import StringConstraints, TypeAdapter

from evaluator.records import Record


class InstructionPair(Protocol):
    """An instruction and a command that performs it, from any source."""

    @property
    def nl(self) -> str:
        """Return the instruction."""
        ...

    @property
    def command(self) -> str:
        """Return the command."""
        ...


class TrainingPair(Record):
    """One line of `fixtures/train/pairs.jsonl`: an instruction and a command that performs it."""

    nl: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    command: Annotated[str, StringConstraints(min_length=1, max_length=16_384)]


_LINE = TypeAdapter(TrainingPair)


def read_pairs(data: bytes) -> tuple[TrainingPair, ...]:
    """Return the pairs of a JSONL file in file order. Raises pydantic's ValidationError at the first invalid line."""
    return tuple(_LINE.validate_json(line) for line in data.splitlines())
