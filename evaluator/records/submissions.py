"""Define the files of a submission: its manifest, and one line of candidates per task."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evaluator.records.generation import Generation
from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.suites import MAX_INSTRUCTION, Tier

MAX_CANDIDATES: Final = 5
"""A system gives at most five commands per task, as in NLC2CMD (Agarwal et al. 2021)."""


class Author(Record):
    """A person or group responsible for a submission."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    affiliation: Annotated[str, StringConstraints(max_length=200)] | None = None


def _web_address(value: str) -> str:
    if not re.fullmatch(r"https?://[!-~]{1,500}", value) or re.search(r"[<>\"'`\\{}|^]", value):
        raise ValueError("expected a URL in plain ASCII that begins with http:// or https://")
    return value


Link = Annotated[str, AfterValidator(_web_address)]


class Method(StrEnum):
    """The method by which a submission makes its commands. A `control` only tests the board and is not ranked."""

    PROMPTED = "prompted"
    FINE_TUNED = "fine-tuned"
    AGENT = "agent"
    RETRIEVAL = "retrieval"
    RULES = "rules"
    OTHER = "other"
    CONTROL = "control"


class Extraction(StrEnum):
    """The way to extract a command from a model's raw text: the whole text, or the first Markdown code block."""

    NONE = "none"
    MARKDOWN = "markdown"


ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ModelPrices(Record):
    """The prices of a hosted model in US dollars per million tokens, on a date."""

    input_usd: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
    output_usd: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
    date: date


class NearTasks(Record):
    """How many of `tasks` tasks are nearly in a training set. Each is counted once, by the first of these reasons.

    `same_instruction` and `same_command`: a pair has the instruction or a reference of the task. `similar`: the cosine
    of two instructions is at least the threshold.
    """

    tasks: Annotated[int, Field(ge=0)]
    same_instruction: Annotated[int, Field(ge=0)] = 0
    same_command: Annotated[int, Field(ge=0)] = 0
    similar: Annotated[int, Field(ge=0)] = 0

    @property
    def near(self) -> int:
        """Return the number of tasks that are near to a pair."""
        return self.same_instruction + self.same_command + self.similar

    @model_validator(mode="after")
    def _near_are_tasks(self) -> Self:
        if self.near > self.tasks:
            raise ValueError(f"expected at most {self.tasks} near tasks, as the suite has, found {self.near}")
        return self


class SuiteContamination(NearTasks):
    """The comparison of a training set with a version of a suite. `tiers` has the same counts for each tier.

    `near_tasks` has the ids of the near tasks. If it is empty although there are some, they are not named.
    """

    version: VersionText
    threshold: Annotated[float, Field(ge=0.5, le=1)] = 0.9
    tiers: dict[Tier, NearTasks] = Field(default_factory=dict)
    near_tasks: Annotated[tuple[Identifier, ...], Field(max_length=100_000)] = ()

    @model_validator(mode="after")
    def _tiers_add_up(self) -> Self:
        for name in ("tasks", "same_instruction", "same_command", "similar") if self.tiers else ():
            total = sum(getattr(counts, name) for counts in self.tiers.values())
            if total != getattr(self, name):
                raise ValueError(f"{name}: expected the sum over the tiers, {total}, found {getattr(self, name)}")
        return self

    @model_validator(mode="after")
    def _near_tasks_are_counted(self) -> Self:
        if len(set(self.near_tasks)) < len(self.near_tasks):
            raise ValueError("near_tasks: expected each task once")
        if self.near_tasks and len(self.near_tasks) != self.near:
            raise ValueError(f"near_tasks: expected {self.near} tasks as counted, found {len(self.near_tasks)}")
        return self


class FineTuning(Record):
    """How a model was fine-tuned: the model before, the data, and the tasks that are nearly in the data.

    `pairs` is the digest of the training pairs, `pair_count` is their number, and `contamination` maps suites to
    reports, as `bashboard corpus contamination --toml` prints them.
    """

    base_model: ShortText
    data: ShortText
    pairs: Digest
    pair_count: Annotated[int, Field(ge=1)] | None = None
    contamination: Annotated[dict[Slug, SuiteContamination], Field(max_length=16)] = Field(default_factory=dict)


class SubmissionManifest(Record):
    """`submission.toml`: the system and its authors. `suites` maps a suite's name to the answered version.

    `parameters` is the number of the model's parameters. `models` lists every model in use, by the name that its maker
    gave it. `released` is the day on which the model was released, and `licence` its SPDX licence or a name. Format 2
    added the method `control`. Format 3 added `released`, `licence`, `prices`, `generation` and `fine_tuning`.
    Format 4 added `generation.decoding.reasoning_effort`.
    """

    newest_format: ClassVar[int] = 4

    format: Literal[1, 2, 3, 4]
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
    released: date | None = None
    licence: ShortText | None = None
    prices: ModelPrices | None = None
    generation: Generation | None = None
    fine_tuning: FineTuning | None = None

    @model_validator(mode="after")
    def _newer_fields(self) -> Self:
        if self.method is Method.CONTROL and self.format < 2:
            raise ValueError(f"method control: expected format = 2, found {self.format}")
        for name in ("released", "licence", "prices", "generation", "fine_tuning"):
            if self.format < 3 and getattr(self, name) is not None:
                raise ValueError(f"{name}: expected format = 3, found {self.format}")
        effort = self.generation.decoding.reasoning_effort if self.generation is not None else None
        if self.format < 4 and effort is not None:
            raise ValueError(f"generation.decoding.reasoning_effort: expected format = 4, found {self.format}")
        return self


class Candidate(Record):
    """One predicted command for a task. An empty command is allowed, but judges find it invalid."""

    command: Bytes
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0

    @property
    def digest(self) -> str:
        """Return the digest of the command's bytes."""
        return command_digest(self.command)


def command_digest(command: bytes) -> str:
    """Return the SHA-256 of the command's bytes. Adjudications and verdicts name a command by this digest."""
    return hashlib.sha256(command).hexdigest()


class Prediction(Record):
    """One line of `<suite>.jsonl`: one task's candidates, best first, or the raw text of a model.

    `nl` is the instruction that the system answered. It helps people to fill in the file. If it differs from the task's
    instruction, the answer is for another instruction.
    """

    task: Identifier
    nl: Annotated[str, StringConstraints(max_length=MAX_INSTRUCTION)] | None = None
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


class Quarantined(Record):
    """`submissions/quarantine.json`: the slugs of the submissions that are neither executed nor shown."""

    format: Literal[1]
    submissions: tuple[Slug, ...]
