"""Define the metrics of a submission, and the measurements of one candidate other than the verdict.

A value that was not measured is None, never 0. For example, a suite without executed commands has no rate of runnable
commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat

from evaluator.records.record import Record

Share = Annotated[float, Field(ge=0, le=1)]


class BleuCounts(Record):
    """A command's contribution to the BLEU score of a corpus (Papineni et al. 2002).

    `matches` counts the n-grams, for n = 1 to 4, that the command shares with its task's references. `tokens` is the
    command's length in tokens. `reference_tokens` is the length of the reference that is nearest in length.
    """

    matches: tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt, NonNegativeInt] = (0, 0, 0, 0)
    tokens: NonNegativeInt = 0
    reference_tokens: NonNegativeInt = 0


class TextMetrics(Record):
    """The similarity of a command's text to its task's references.

    `verbatim` is true if the command has the same syntax tree as a reference, without comments, braces and calls of
    `:`. `full_command` is true if both are equal after normalisation. `template` is true if both are equal after
    arguments are replaced by their kind. A `verbatim` command is also a `full_command`, and a `full_command` is also a
    `template`.

    The other three are marks of unusual commands. `holds_reference` is true if a reference is a part of the syntax
    tree. `encoded_literal` is true if the command holds a long literal of encoded data. `state_descriptor` is true if
    the command names the descriptor to which the runner's shell writes its state.
    """

    verbatim: bool = False
    full_command: bool = False
    template: bool = False
    holds_reference: bool = False
    encoded_literal: bool = False
    state_descriptor: bool = False
    bleu: BleuCounts = BleuCounts()


class RunMetrics(Record):
    """Measurements of a command's runs in all variants of its task's world.

    `valid` means that no shell reported a syntax error. `runnable` means that the command is valid and every program
    that it calls could be started. `exit_zero` means that every run ended with status 0. `clean_stderr` means that no
    run wrote to standard error. `wall_ms` is the median of the measured times and is not written to files.
    `stored_output` means that the command holds the expected output of a variant, or the contents of a file that a
    reference writes.
    """

    valid: bool
    runnable: bool
    exit_zero: bool
    clean_stderr: bool
    stored_output: bool = False
    wall_ms: Annotated[float | None, Field(ge=0, exclude=True)] = None


class Usage(Record):
    """The cost of answering a task. The submission reports these values itself, and they are not checked."""

    latency_s: NonNegativeFloat | None = None
    energy_j: NonNegativeFloat | None = None
    input_tokens: NonNegativeInt | None = None
    output_tokens: NonNegativeInt | None = None


class Tally(Record):
    """Two counts for a group of tasks: the tasks that a submission was asked, and those that it passed."""

    asked: Annotated[int, Field(ge=0)]
    passed: Annotated[int, Field(ge=0)]


def _tallies_by_name(value: Any) -> Any:
    """Convert a list of rows `{name, asked, passed}` to a mapping from name to counts. Return a mapping unchanged."""
    if not isinstance(value, list):
        return value
    return {row["name"]: {"asked": row["asked"], "passed": row["passed"]} for row in value}


def _shares_by_depth(value: Any) -> Any:
    """Convert a list of rows `{k, share}` to a mapping from k to share. Return a mapping unchanged."""
    return {row["k"]: row["share"] for row in value} if isinstance(value, list) else value


Tallies = Annotated[Mapping[str, Tally], BeforeValidator(_tallies_by_name)]
SharesAt = Annotated[Mapping[int, Share], BeforeValidator(_shares_by_depth)]


class HorizonSlice(Record):
    """A submission's speed compared with people's: the share of tasks passed within k times the time of a person.

    `slice` is the source of the human times, or `all`. `asked` counts the tasks with such a time. `timed` counts the
    tasks for which the submission reported its latency. `within` maps k to the share, or is None if no task was timed.
    `excess_s` is the median of the submission's time minus the person's time, in seconds, over the passed tasks.
    """

    slice: str
    asked: NonNegativeInt
    timed: NonNegativeInt
    within: SharesAt | None
    excess_s: float | None


class SubmissionMetrics(Record):
    """The metrics of a submission that do not affect its rank. By default, a share is a share of the tasks asked.

    `judge_low` and `judge_high` bound the accuracy, given the judge's measured error rates. `full_command_at` and
    `template_at` map k to a share for the first k candidates of each task. `mrr` and `map` use all candidates.

    `verbatim`, the marks `holds_reference` to `stored_output`, and `bleu` (in [0, 1]) use only the first candidate of
    each task. `ece` and `brier` use only the first
    candidates with a verdict, and `calibrated_on` counts them. `valid`, `runnable`, `exit_zero` and `clean_stderr` use
    only the first candidates that have evidence or need none, and `measured` counts them.

    `utility_weighted` is the mean accuracy over utilities. The weight of a utility is the number of its calls in the
    references. `latency_s`, `energy_j`, `input_tokens` and `output_tokens` are medians of the submission's own reports,
    and `…_reported` counts the tasks with a report.

    `half_s` is the person's time, in seconds, at which the submission passes half of the tasks. `half_low_s` and
    `half_high_s` are the bounds of its 95 % interval.
    """

    judge_low: Share | None = None
    judge_high: Share | None = None
    full_command_at: SharesAt = Field(default_factory=dict)
    template_at: SharesAt = Field(default_factory=dict)
    verbatim: Share | None = None
    holds_reference: Share | None = None
    encoded_literal: Share | None = None
    state_descriptor: Share | None = None
    stored_output: Share | None = None
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
    half_s: PositiveFloat | None = None
    half_low_s: PositiveFloat | None = None
    half_high_s: PositiveFloat | None = None
    horizon: tuple[HorizonSlice, ...] = ()
    difficulties: Tallies = Field(default_factory=dict)
    utilities: Tallies = Field(default_factory=dict)
