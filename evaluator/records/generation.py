"""Define how the answers of a submission were generated: the table `[generation]` of `submission.toml`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.records.record import Digest, Record

MAX_SHOTS = 50
"""Westenfelder et al. 2025 try 1 to 50 examples."""

_Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class GenerationMethod(StrEnum):
    """A method that adds something to a plain question to a model. Several methods can be combined.

    The names follow Westenfelder et al. 2025 (`baseline`, `parser`, `icl`, `constrained`), Fu et al. 2023 (`few-shot`)
    and Wang et al. 2023 (`self-consistency`).
    """

    BASELINE = "baseline"
    FEW_SHOT = "few-shot"
    ICL = "icl"
    PARSER = "parser"
    CONSTRAINED = "constrained"
    SELF_CONSISTENCY = "self-consistency"
    EXECUTE = "execute"


class ExampleChoice(StrEnum):
    """The rule that chooses the examples of a prompt from the training pairs."""

    SEED = "seed"
    CLUSTERS = "clusters"
    NEAREST = "nearest"


class EnergyCounter(StrEnum):
    """The hardware counter that measured the energy of answers: of all processors, or of all devices of NVIDIA."""

    RAPL = "rapl"
    NVML = "nvml"


class ReasoningEffort(StrEnum):
    """How much a model reasons before its answer, in the words of OpenAI's API."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"


class Decoding(Record):
    """The parameters of decoding. An absent value is the server's default."""

    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    seed: int | None = None
    reply_tokens: Annotated[int, Field(ge=16, le=32_768)] | None = None
    reasoning_effort: ReasoningEffort | None = None


class PublishedPrompt(Record):
    """A prompt of a paper, by its name and the SHA-256 of its text."""

    name: _Text
    digest: Digest


class Generation(Record):
    """The recipe of a submission's answers.

    `prompt` is `question`, `imperative` or a published prompt. `shots` is the number of examples in a prompt, which
    `examples` chooses by the vectors of `embeddings` from the training pairs with the digest `pairs`. `samples` is the
    number of replies per task of which self-consistency chooses. `turns` is the largest number of replies of which each
    but the last was executed. `run` is the number of this submission among `runs` repeated ones. `energy` is the
    counter that measured the energy of the answers.
    """

    base_model: _Text
    methods: Annotated[tuple[GenerationMethod, ...], Field(min_length=1, max_length=7)]
    prompt: _Text | PublishedPrompt
    shots: Annotated[int, Field(ge=0, le=MAX_SHOTS)] = 0
    examples: ExampleChoice | None = None
    embeddings: _Text | None = None
    pairs: Digest | None = None
    grammar: _Text | None = None
    samples: Annotated[int, Field(ge=1, le=100)] = 1
    turns: Annotated[int, Field(ge=1, le=20)] = 1
    decoding: Decoding = Decoding()
    run: Annotated[int, Field(ge=1, le=1000)] = 1
    runs: Annotated[int, Field(ge=1, le=1000)] = 1
    energy: EnergyCounter | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.methods)) < len(self.methods):
            raise ValueError("methods: expected each method once")
        if GenerationMethod.BASELINE in self.methods and len(self.methods) > 1:
            raise ValueError("methods: baseline means that there is no other method")
        if GenerationMethod.FEW_SHOT in self.methods and GenerationMethod.ICL in self.methods:
            raise ValueError("methods: expected one of few-shot and icl, because both choose the examples")
        if (self.shots > 0) != (self.examples is not None):
            raise ValueError("examples: expected the rule that chose the examples exactly if shots is above 0")
        if self.run > self.runs:
            raise ValueError(f"run: expected at most {self.runs}, the number of runs, found {self.run}")
        return self
