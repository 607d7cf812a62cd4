"""A submission on disk: who and what, and one line of candidates a task."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evaluator.records.record import Bytes, Identifier, Record, Slug, VersionText

MAX_CANDIDATES: Final = 5
"""A system gives at most five commands a task, as NLC2CMD asked (Agarwal et al. 2021)."""


class Author(Record):
    """A person or group answerable for a submission."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    affiliation: Annotated[str, StringConstraints(max_length=200)] | None = None


def _web_address(value: str) -> str:
    if not re.fullmatch(r"https?://[!-~]{1,500}", value) or re.search(r"[<>\"'`\\{}|^]", value):
        raise ValueError("expected an address that begins with http:// or https://, in plain ASCII")
    return value


Link = Annotated[str, AfterValidator(_web_address)]


class Method(StrEnum):
    """How a system makes its commands. A control is no system: it tests the board itself and is not ranked."""

    PROMPTED = "prompted"
    FINE_TUNED = "fine-tuned"
    AGENT = "agent"
    RETRIEVAL = "retrieval"
    RULES = "rules"
    OTHER = "other"
    CONTROL = "control"


class Extraction(StrEnum):
    """How a command is taken from raw model text: the whole text, or the first fenced block."""

    NONE = "none"
    MARKDOWN = "markdown"


ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class SubmissionManifest(Record):
    """`submission.toml`: who submitted what. `suites` maps a suite's name to the version answered.

    `parameters` counts the model's parameters; `models` lists every model used, as its maker names it. Format 2
    brought the method `control`.
    """

    newest_format: ClassVar[int] = 2

    format: Literal[1, 2]
    system: ShortText
    authors: Annotated[tuple[Author, ...], Field(min_length=1, max_length=100)]
    link: Link | None = None
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    open_weights: bool
    parameters: Annotated[int, Field(gt=0)] | None = None
    models: tuple[ShortText, ...] = ()
    method: Method
    extraction: Extraction = Extraction.NONE
    suites: Annotated[dict[Slug, VersionText], Field(min_length=1)]
    training_data: tuple[ShortText, ...] = ()

    @model_validator(mode="after")
    def _control_is_newer(self) -> Self:
        if self.method is Method.CONTROL and self.format < 2:
            raise ValueError("method control: expected format = 2, which brought it")
        return self


class Candidate(Record):
    """One predicted command; an empty one is legal and judged invalid."""

    command: Bytes
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0

    @property
    def digest(self) -> str:
        """Names the command by its bytes alone."""
        return command_digest(self.command)


def command_digest(command: bytes) -> str:
    """SHA-256 of the command's bytes: what an adjudication and a verdict name it by."""
    return hashlib.sha256(command).hexdigest()


class Prediction(Record):
    """One line of `<suite>.jsonl`: one task's candidates, best first, or the raw text of a model.

    `nl` is the instruction that was answered. It is there for whoever fills the file in, and so that an answer to
    another instruction than the task's is noticed.
    """

    task: Identifier
    nl: Annotated[str, StringConstraints(max_length=2000)] | None = None
    candidates: Annotated[tuple[Candidate, ...], Field(max_length=MAX_CANDIDATES)] | None = None
    output: Annotated[str, StringConstraints(max_length=1_000_000)] | None = None
    latency_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    energy_j: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    input_tokens: Annotated[int, Field(ge=0)] | None = None
    output_tokens: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.candidates is None) == (self.output is None):
            raise ValueError("expected exactly one of 'candidates' and 'output'")
        return self
