"""Training pairs for baselines. Each pair is an instruction and its command."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError

from evaluator.json_lines import numbered_lines
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
    """One line of `fixtures/train/pairs.jsonl`: an instruction and a command that performs it.

    Other fields are ignored, such as the `source` that `bashboard corpus merge` adds.
    """

    model_config = ConfigDict(extra="ignore")

    nl: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    command: Annotated[str, StringConstraints(min_length=1, max_length=16_384)]


_LINE = TypeAdapter(TrainingPair)


def read_pairs(data: bytes) -> tuple[TrainingPair, ...]:
    """Return the pairs of JSON lines in file order, without empty lines.

    Raises ValueError with the number and the field of the first invalid line.
    """
    pairs = []
    for number, line in numbered_lines(data):
        if not line.strip():
            continue
        try:
            pairs.append(_LINE.validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = "".join(f"{part}: " for part in first["loc"])
            raise ValueError(f"line {number}: {field}{first['msg']}") from error
    return tuple(pairs)
