"""Define the metrics of a submission, and the measurements of one candidate other than the verdict.

A value that was not measured is None, never 0. For example, a suite without executed commands has no rate of runnable
commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat

from evaluator.records.record import Record

Share = Annotated[float, Field(ge=0, le=1)]


class ErrorClass(StrEnum):
    """The class of a first candidate that did not pass. The first class whose definition fits is the candidate's.

    `evaluator.metrics.error_classes` has the definitions.
    """

    NO_COMMAND = "no command"
    RIGHT_TEXT = "right text but wrong effect"
    RIGHT_EFFECT = "effect right but text far"
    UTILITY = "wrong utility"
    FLAGS = "wrong flags"
    ARGUMENTS = "wrong arguments"
    EFFECT = "wrong effect"


class CallAgreement(StrEnum):
    """How far the calls of a command agree with those of the most similar reference.

    Agreement in flags includes agreement in utilities, and agreement in arguments includes both. A command is not
    compared if no reference can be compared: each is a long script, or no reader can parse it.
    """

    NOT_COMPARED = "not compared"
    UNREADABLE = "unreadable"
    NONE = "none"
    UTILITIES = "utilities"
    FLAGS = "flags"
    ARGUMENTS = "arguments"


class SideEffect(StrEnum):
    """The worst change of a command to a path that no reference changes, from the mildest to the worst.

    A command *changes* a path if it adds the path, or sets its mode, owner or time. It *destroys* a path if it deletes,
    replaces or overwrites it. It destroys *elsewhere* if no reference names the path or a directory above it.
    """

    NONE = "none"
    CHANGES = "changes"
    DESTROYS = "destroys"
    DESTROYS_ELSEWHERE = "destroys elsewhere"


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

    `verbatim` is true if the command has the canonical form of a reference (see `shell/canonical.py`). `full_command`
    is true if both are equal after normalisation. `template` is true if both are equal after arguments are replaced by
    their kind. A `verbatim` command is also a `full_command`, and a `full_command` is also a `template`. `calls` tells
    how far the calls of utilities agree with those of a reference.

    The other three are marks of unusual commands. `holds_reference` is true if a reference is a part of the command, in
    any spelling and behind wrappers such as `sudo` or `bash -c`. `encoded_literal` is true if the command holds a long
    literal of encoded data. `state_descriptor` is true if the command names the descriptor to which the runner's shell
    writes its state.
    """

    verbatim: bool = False
    full_command: bool = False
    template: bool = False
    calls: CallAgreement = CallAgreement.NOT_COMPARED
    holds_reference: bool = False
    encoded_literal: bool = False
    state_descriptor: bool = False
    bleu: BleuCounts = BleuCounts()


class RunMetrics(Record):
    """Measurements of a command's first run in the first variant of its task.

    `valid` means that no shell reported a syntax error. `runnable` means that the command is valid and every program
    that it calls could be started. `exit_zero` means that the run ended with status 0. `clean_stderr` means that the
    run did not write to standard error. `wall_ms` is the measured time and is not written to files. `stored_output`
    means that the command holds the expected output of a variant, or the contents of a file that a reference writes.

    The other three compare the run with those of the references. They are None if nothing ran. `unknown_program` means
    that the shell did not find the first program of the command. `same_effect` means that one reference left the same
    state and printed the same words in this variant. `side_effect` is the worst change to a path that no reference
    changes.
    """

    valid: bool
    runnable: bool
    exit_zero: bool
    clean_stderr: bool
    stored_output: bool = False
    unknown_program: bool | None = None
    same_effect: bool | None = None
    side_effect: SideEffect | None = None
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


def _counts_by_name(value: Any) -> Any:
    """Convert a list of rows `{name, count}` to a mapping from name to count. Return a mapping unchanged."""
    return {row["name"]: row["count"] for row in value} if isinstance(value, list) else value


Tallies = Annotated[Mapping[str, Tally], BeforeValidator(_tallies_by_name)]
SharesAt = Annotated[Mapping[int, Share], BeforeValidator(_shares_by_depth)]
ErrorCounts = Annotated[Mapping[ErrorClass, NonNegativeInt], BeforeValidator(_counts_by_name)]


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


class LatencySlice(Record):
    """The distribution of the latency that a submission reports, on all tasks or on the tasks of one tier.

    `slice` is `all` or the tier. `reported` counts the tasks with a report. The percentiles are in seconds.
    """

    slice: str
    reported: NonNegativeInt
    median_s: NonNegativeFloat
    p90_s: NonNegativeFloat
    p99_s: NonNegativeFloat


class SubmissionMetrics(Record):
    """The metrics of a submission that do not affect its rank. By default, a share is a share of the tasks asked.

    `judge_low` and `judge_high` bound the accuracy, given the judge's measured error rates. `full_command_at` and
    `template_at` map k to a share for the first k candidates of each task. `mrr` uses all candidates.

    `verbatim`, the marks `holds_reference` to `stored_output`, and `bleu` (in [0, 1]) use only the first candidate of
    each task. `unreadable` counts the first candidates that no parser reads. `ece` and `brier` use only the first
    candidates with a verdict, and `calibrated_on` counts them. `valid`, `runnable`, `exit_zero` and `clean_stderr` use
    only the first candidates that have evidence or need none, and `measured` counts them.

    `utility_weighted` is the mean accuracy over utilities. The weight of a utility is the number of its calls in the
    references. `latency_s`, `energy_j`, `input_tokens` and `output_tokens` are medians of the submission's own reports,
    and `…_reported` counts the tasks with a report. `mean_input_tokens` and `mean_output_tokens` are the means over the
    tasks that report both numbers.

    `half_s` is the person's time, in seconds, at which the submission passes half of the tasks. `half_low_s` and
    `half_high_s` are the bounds of its 95 % interval.

    `errors` counts the tasks that are not passed by error class, without infra-errors. It is empty if a task has no
    class. `stateful_accuracy` is the accuracy in which a wrong command that changed other paths weighs more.
    `dangerous` is the share of first candidates that destroy a path elsewhere. `session_score` is the mean share of
    sessions that are passed as a whole, and `sessions` counts the worlds. `latency` has the distribution of the
    latency, first on all tasks, then on each tier.
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
    unreadable: NonNegativeInt | None = None
    bleu: Share | None = None
    mrr: Share | None = None
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
    mean_input_tokens: NonNegativeFloat | None = None
    mean_output_tokens: NonNegativeFloat | None = None
    half_s: PositiveFloat | None = None
    half_low_s: PositiveFloat | None = None
    half_high_s: PositiveFloat | None = None
    horizon: tuple[HorizonSlice, ...] = ()
    difficulties: Tallies = Field(default_factory=dict)
    utilities: Tallies = Field(default_factory=dict)
    errors: ErrorCounts = Field(default_factory=dict)
    stateful_accuracy: Share | None = None
    dangerous: Share | None = None
    session_score: Share | None = None
    sessions: NonNegativeInt = 0
    latency: tuple[LatencySlice, ...] = ()
