"""This module puts graded candidates into a Polars frame, which is the input of all metrics over submissions.

A frame has one row per candidate. The row also holds the task's properties (topic, difficulty, human time). The
references of a task call several utilities, so utilities have their own frame, `utilities_frame`. Null means not
measured, not reported or not estimated. No metric treats null as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import polars as pl

from evaluator.records import (
    BleuCounts,
    CallAgreement,
    ErrorClass,
    Outcome,
    Result,
    RunMetrics,
    SideEffect,
    TextMetrics,
    Tier,
    Timing,
    Usage,
)

OUTCOMES: Final = pl.Enum([outcome.value for outcome in Outcome])
ERRORS: Final = pl.Enum([kind.value for kind in ErrorClass])
SIDE_EFFECTS: Final = pl.Enum([effect.value for effect in SideEffect])
TIERS: Final = pl.Enum([tier.value for tier in Tier])
PROVENANCES: Final = pl.Enum(["empirical", "estimated"])
Schema = Mapping[str, pl.DataType | type[pl.DataType]]

TASK_SCHEMA: Final[Schema] = {
    "task": pl.String,
    "topic": pl.String,
    "difficulty": pl.Int8,
    "human_s": pl.Float64,
    "human_provenance": PROVENANCES,
    "world": pl.String,
    "tier": TIERS,
}
"""Columns that all rows of a task share. `human_s` is the time that a person takes, in seconds."""

CANDIDATE_SCHEMA: Final[Schema] = {
    "submission": pl.String,
    "suite": pl.String,
    "task": pl.String,
    "rank": pl.Int32,
    "confidence": pl.Float64,
    "outcome": OUTCOMES,
    "collateral": pl.Boolean,
    "error": ERRORS,
    "nlc2cmd": pl.Float64,
    "answered": pl.Boolean,
    "verbatim": pl.Boolean,
    "full_command": pl.Boolean,
    "template": pl.Boolean,
    "holds_reference": pl.Boolean,
    "encoded_literal": pl.Boolean,
    "state_descriptor": pl.Boolean,
    "unreadable": pl.Boolean,
    "bleu_1": pl.Int32,
    "bleu_2": pl.Int32,
    "bleu_3": pl.Int32,
    "bleu_4": pl.Int32,
    "tokens": pl.Int32,
    "reference_tokens": pl.Int32,
    "valid": pl.Boolean,
    "runnable": pl.Boolean,
    "exit_zero": pl.Boolean,
    "clean_stderr": pl.Boolean,
    "stored_output": pl.Boolean,
    "side_effect": SIDE_EFFECTS,
    "wall_ms": pl.Float64,
    "latency_s": pl.Float64,
    "energy_j": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
}
"""Columns of a candidate. `rank` counts from 1. If the command is missing or empty, `nlc2cmd` is null and `answered` is
false. The columns `verbatim` to `reference_tokens` are its `TextMetrics`, and `valid` to `wall_ms` its `RunMetrics`.
The last four are the `Usage` of its task, repeated on every row of that task."""

RESULT_SCHEMA: Final[Schema] = {**CANDIDATE_SCHEMA, **{k: v for k, v in TASK_SCHEMA.items() if k != "task"}}
"""Columns of a results frame."""

_BLEU_COLUMNS: Final = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "tokens", "reference_tokens")
_MARK_COLUMNS: Final = ("holds_reference", "encoded_literal", "state_descriptor", "unreadable")
_TEXT_COLUMNS: Final = ("verbatim", "full_command", "template", *_MARK_COLUMNS, *_BLEU_COLUMNS)
_RUN_COLUMNS: Final = ("valid", "runnable", "exit_zero", "clean_stderr", "stored_output", "side_effect", "wall_ms")
_USAGE_COLUMNS: Final = ("latency_s", "energy_j", "input_tokens", "output_tokens")
_OUTCOME_TEXT: Final = {outcome: outcome.value for outcome in Outcome}

Measured = TypeVar("Measured", TextMetrics, RunMetrics, Usage)

SORTED_BY: Final = ("suite", "submission", "task", "rank")
BATCH: Final = 65_536
"""Number of results converted to rows at a time. Python objects take ten times as much memory as rows of a frame."""

BOARD: Final = ("suite", "submission")
"""The columns that identify a row of a board."""


class TaskFacts(NamedTuple):
    """The task properties that metrics need.

    `calls` maps each utility in the references to its mean number of calls per reference. `timing` is the time that a
    person takes, or None if it is unknown. `world` names the task's world, and `tier` is the task's level. Both are
    None if they are unknown.
    """

    topic: str
    difficulty: int | None = None
    calls: Mapping[str, float] = {}
    timing: Timing | None = None
    world: str | None = None
    tier: Tier | None = None


def results_frame(results: Iterable[Result], tasks: Mapping[str, TaskFacts]) -> pl.DataFrame:
    """Return a Polars frame with one row per candidate.

    The rows are sorted, so that the order of `results` does not affect the metrics. `tasks` maps the id of a task to
    the properties of the task. Raise KeyError with the task ids in `results` that are not in `tasks`.
    """
    remaining = iter(results)
    batches = [pl.DataFrame(schema=CANDIDATE_SCHEMA)]
    while batch := list(islice(remaining, BATCH)):
        batches.append(_candidates(batch))
    frame = pl.concat(batches)
    unknown = sorted(set(frame["task"].unique()) - tasks.keys())
    if unknown:
        raise KeyError(f"no facts about {', '.join(unknown)}")
    joined = frame.join(tasks_frame(tasks), on="task", how="left", validate="m:1")
    return joined.select(*RESULT_SCHEMA).sort(SORTED_BY)


def tasks_frame(tasks: Mapping[str, TaskFacts]) -> pl.DataFrame:
    """Return a frame with one row per task, sorted by task id. Its columns are those of `TASK_SCHEMA`."""
    rows = [
        (
            name,
            facts.topic,
            facts.difficulty,
            *((facts.timing.human_s, facts.timing.provenance) if facts.timing else (None, None)),
            facts.world,
            None if facts.tier is None else facts.tier.value,
        )
        for name, facts in tasks.items()
    ]
    return pl.DataFrame(rows, schema=TASK_SCHEMA, orient="row").sort("task")


def utilities_frame(tasks: Mapping[str, TaskFacts]) -> pl.DataFrame:
    """Return a sorted frame with one row for each task and each utility that the task's references call.

    Columns: task, utility, calls (the mean number of calls per reference).
    """
    rows = [(name, utility, calls) for name, facts in tasks.items() for utility, calls in facts.calls.items()]
    schema = {"task": pl.String, "utility": pl.String, "calls": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("task", "utility")


def first_candidates(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of first candidates (rank 1 within their task). Only these decide the ranking of submissions.

    Every task asked has such a row, even without an answer.
    """
    return frame.filter(pl.col("rank") == 1)


def _candidates(results: Sequence[Result]) -> pl.DataFrame:
    """Return results as a frame with the columns of `CANDIDATE_SCHEMA`.

    The function collects columns, because Polars builds a frame twice as fast from columns as from rows.
    """
    answered = [bool(each.command and each.command.strip()) for each in results]
    own: dict[str, Sequence[Any]] = {
        "submission": [each.submission for each in results],
        "suite": [each.suite for each in results],
        "task": [each.task for each in results],
        "rank": [each.rank for each in results],
        "confidence": [each.confidence for each in results],
        "outcome": [_OUTCOME_TEXT[each.finding.outcome] for each in results],
        "collateral": [each.finding.collateral for each in results],
        "error": [None if each.error is None else each.error.value for each in results],
        "nlc2cmd": [each.nlc2cmd if given else None for each, given in zip(results, answered, strict=True)],
        "answered": answered,
    }
    measured = (
        _shared([each.text for each in results], _text_cells, _TEXT_COLUMNS),
        _shared([each.run for each in results], _run_cells, _RUN_COLUMNS),
        _shared([each.usage for each in results], _usage_cells, _USAGE_COLUMNS),
    )
    return pl.concat([pl.DataFrame(own, schema=_part(tuple(own))), *measured], how="horizontal")


def _shared(
    records: Sequence[Measured | None], cells: Callable[[Measured], tuple[Any, ...]], columns: Sequence[str]
) -> pl.DataFrame:
    """Return a frame with these columns and one row for each item of `records`, repeated items included.

    For speed, the cells of a repeated item are computed only once.
    """
    places: dict[int, int] = {}
    distinct: list[Measured | None] = []
    rows: list[int] = []
    for record in records:
        place = places.setdefault(id(record), len(distinct))
        if place == len(distinct):
            distinct.append(record)
        rows.append(place)
    nothing = (None,) * len(columns)
    table = [nothing if each is None else cells(each) for each in distinct]
    return pl.DataFrame(table, schema=_part(columns), orient="row")[rows]


def _part(columns: Sequence[str]) -> Schema:
    return {name: CANDIDATE_SCHEMA[name] for name in columns}


def _text_cells(text: TextMetrics) -> tuple[bool | int, ...]:
    bleu: BleuCounts = text.bleu
    unreadable = text.calls is CallAgreement.UNREADABLE
    marks = text.holds_reference, text.encoded_literal, text.state_descriptor, unreadable
    return text.verbatim, text.full_command, text.template, *marks, *bleu.matches, bleu.tokens, bleu.reference_tokens


def _run_cells(run: RunMetrics) -> tuple[bool | float | str | None, ...]:
    effect = None if run.side_effect is None else run.side_effect.value
    return run.valid, run.runnable, run.exit_zero, run.clean_stderr, run.stored_output, effect, run.wall_ms


def _usage_cells(usage: Usage) -> tuple[float | None, ...]:
    return usage.latency_s, usage.energy_j, usage.input_tokens, usage.output_tokens
