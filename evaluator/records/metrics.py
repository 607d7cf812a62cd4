"""What is measured of one candidate beside its verdict, and the figures of a submission that follow from it.

Whatever was not measured is None, never 0: a suite whose commands were not executed has no rate of runnable ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeFloat, NonNegativeInt

from evaluator.records.record import Record

Share = Annotated[float, Field(ge=0, le=1)]


class BleuCounts(Record):
    """What a command adds to the BLEU score of a corpus (Papineni et al. 2002).

    `matches` are the n-grams, for n = 1 to 4, that it shares with its task's references; `tokens` its length,
    `reference_tokens` that of the reference nearest in length.
    """

    matches: tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt, NonNegativeInt] = (0, 0, 0, 0)
    tokens: NonNegativeInt = 0
    reference_tokens: NonNegativeInt = 0


class TextMetrics(Record):
    """What a command's text has in common with its task's references.

    `verbatim`: the same bytes as one of them, outer white space apart; `full_command`: equal to one when both
    are normalised; `template`: equal to one when arguments are replaced by their kind. Each implies the next.
    """

    verbatim: bool = False
    full_command: bool = False
    template: bool = False
    bleu: BleuCounts = BleuCounts()


class RunMetrics(Record):
    """How a command ran, over all variants of its task's world.

    `valid`: no shell reported a syntax error; `runnable`: valid, and what it calls was found and could be started;
    `exit_zero`: it always ended with 0; `clean_stderr`: it never wrote to standard error. `wall_ms` is the median
    of the times measured; it differs from run to run, so it goes into no file.
    """

    valid: bool
    runnable: bool
    exit_zero: bool
    clean_stderr: bool
    wall_ms: Annotated[float | None, Field(ge=0, exclude=True)] = None


class Usage(Record):
    """What a submission says that answering a task took: reported by itself, and not checked."""

    latency_s: NonNegativeFloat | None = None
    energy_j: NonNegativeFloat | None = None
    input_tokens: NonNegativeInt | None = None
    output_tokens: NonNegativeInt | None = None


class Tally(Record):
    """Passes of a group of tasks, and how many were asked."""

    asked: Annotated[int, Field(ge=0)]
    passed: Annotated[int, Field(ge=0)]


def _tallies_by_name(value: Any) -> Any:
    """Rows of a frame, `{name, asked, passed}` each, as a mapping; what is one already stays."""
    if not isinstance(value, list):
        return value
    return {row["name"]: {"asked": row["asked"], "passed": row["passed"]} for row in value}


def _shares_by_depth(value: Any) -> Any:
    """Rows of a frame, `{k, share}` each, as a mapping; what is one already stays."""
    return {row["k"]: row["share"] for row in value} if isinstance(value, list) else value


Tallies = Annotated[Mapping[str, Tally], BeforeValidator(_tallies_by_name)]
SharesAt = Annotated[Mapping[int, Share], BeforeValidator(_shares_by_depth)]


class HorizonSlice(Record):
    """What a submission passes in the time of a person, of the tasks whose human time is known in one way.

    `slice` says how it is known (`all` is either); `asked` are its tasks, `timed` those of a reported latency. `within`
    is the share of them that is passed within k times a person's time, None where no task was timed; `excess_s` the
    median time above a person's over tasks passed.
    """

    slice: str
    asked: NonNegativeInt
    timed: NonNegativeInt
    within: SharesAt | None
    excess_s: float | None


class SubmissionMetrics(Record):
    """The figures of a submission that do not rank it. Shares are of the tasks asked unless said otherwise.

    `judge_low` and `judge_high` bound accuracy as it would be if the judge erred as it was measured to.
    `full_command_at`, `template_at`: by the first k candidates. `bleu` in [0, 1] and `verbatim` are of first
    candidates. `mrr` and `map` are over all candidates. `ece` and `brier` are of the `calibrated_on` first
    candidates that have a verdict. `valid`, `runnable`, `exit_zero` and `clean_stderr` are of the `measured` first
    candidates that have evidence or need none. `utility_weighted` is accuracy over utilities by how often the
    references call them. `latency_s`, `energy_j`, `input_tokens` and `output_tokens` are medians of what the
    submission reported itself, on as many tasks as `…_reported` says.
    """

    judge_low: Share | None = None
    judge_high: Share | None = None
    full_command_at: SharesAt = Field(default_factory=dict)
    template_at: SharesAt = Field(default_factory=dict)
    verbatim: Share | None = None
    bleu: Share | None = None
    mrr: Share | None = None
    map: Share | None = None
    ece: Share | None = None
    brier: Share | None = None
    calibrated_on: NonNegativeInt = 0
    valid: Share | None = None
    runnable: Share | None = None
    exit_zero: Share | None = None
    clean_stderr: Share | None = None
    measured: NonNegativeInt = 0
    utility_weighted: Share | None = None
    latency_s: NonNegativeFloat | None = None
    latency_s_reported: NonNegativeInt = 0
    energy_j: NonNegativeFloat | None = None
    energy_j_reported: NonNegativeInt = 0
    input_tokens: NonNegativeFloat | None = None
    input_tokens_reported: NonNegativeInt = 0
    output_tokens: NonNegativeFloat | None = None
    output_tokens_reported: NonNegativeInt = 0
    horizon: tuple[HorizonSlice, ...] = ()
    difficulties: Tallies = Field(default_factory=dict)
    utilities: Tallies = Field(default_factory=dict)
