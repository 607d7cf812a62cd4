"""Graded candidates as a Polars frame: the one table that all metrics over submissions start from.

A frame has one row a candidate. What belongs to a task (topic, difficulty, human time) is joined to its rows;
what a task has several of (the utilities its references call) stands in a frame of its own, `utilities_frame`.
Null says that something was not measured, reported or estimated; no metric takes it for 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import polars as pl

from evaluator.records import BleuCounts, Outcome, Result, RunFigures, TextFigures, Timing, Usage

OUTCOMES: Final = pl.Enum([outcome.value for outcome in Outcome])
PROVENANCES: Final = pl.Enum(["empirical", "estimated"])
Schema = Mapping[str, pl.DataType | type[pl.DataType]]

TASK_SCHEMA: Final[Schema] = {
    "task": pl.String,
    "topic": pl.String,
    "difficulty": pl.Int8,
    "human_s": pl.Float64,
    "human_provenance": PROVENANCES,
}
"""Columns that a task's rows share. `human_s` is how long a person takes, in seconds."""

CANDIDATE_SCHEMA: Final[Schema] = {
    "submission": pl.String,
    "suite": pl.String,
    "task": pl.String,
    "rank": pl.Int32,
    "confidence": pl.Float64,
    "outcome": OUTCOMES,
    "collateral": pl.Boolean,
    "nlc2cmd": pl.Float64,
    "answered": pl.Boolean,
    "verbatim": pl.Boolean,
    "full_command": pl.Boolean,
    "template": pl.Boolean,
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
    "wall_ms": pl.Float64,
    "latency_s": pl.Float64,
    "energy_j": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
}
"""Columns of a candidate. `rank` counts from 1; `nlc2cmd` is null where the command is missing or empty, which is
also where `answered` is false; `verbatim` to `reference_tokens` are its `TextFigures`, `valid` to `wall_ms` its
`RunFigures`, and the last four the `Usage` of its task, on every row of that task."""

RESULT_SCHEMA: Final[Schema] = {**CANDIDATE_SCHEMA, **{k: v for k, v in TASK_SCHEMA.items() if k != "task"}}
"""Columns of a results frame."""

SORTED_BY: Final = ("suite", "submission", "task", "rank")
BATCH: Final = 65_536
"""Results turned into rows at a time: a row of Python objects weighs ten times what it does in a frame."""

BOARD: Final = ("suite", "submission")
"""What identifies a row of a board."""


class TaskFacts(NamedTuple):
    """What metrics need to know of a task.

    `calls` are the utilities that its references call, each with how often a reference does on average; `timing`
    is how long a person takes, None where that is not known.
    """

    topic: str
    difficulty: int | None = None
    calls: Mapping[str, float] = {}
    timing: Timing | None = None


def results_frame(results: Iterable[Result], tasks: Mapping[str, TaskFacts]) -> pl.DataFrame:
    """One row a candidate, sorted, so that the order of `results` leaves no trace in what is computed from
    it.

    `tasks` are facts by the task's id; KeyError names a task that it lacks.
    """
    remaining = iter(results)
    batches = [pl.DataFrame(schema=CANDIDATE_SCHEMA)]
    while batch := list(map(_row, islice(remaining, BATCH))):
        batches.append(pl.DataFrame(batch, schema=CANDIDATE_SCHEMA, orient="row"))
    frame = pl.concat(batches)
    unknown = sorted(set(frame["task"].unique()) - tasks.keys())
    if unknown:
        raise KeyError(f"no facts about {', '.join(unknown)}")
    joined = frame.join(tasks_frame(tasks), on="task", how="left", validate="m:1")
    return joined.select(*RESULT_SCHEMA).sort(SORTED_BY)


def tasks_frame(tasks: Mapping[str, TaskFacts]) -> pl.DataFrame:
    """One row a task, sorted, with the columns of TASK_SCHEMA."""
    rows = [
        (
            name,
            facts.topic,
            facts.difficulty,
            *((facts.timing.human_s, facts.timing.provenance) if facts.timing else (None, None)),
        )
        for name, facts in tasks.items()
    ]
    return pl.DataFrame(rows, schema=TASK_SCHEMA, orient="row").sort("task")


def utilities_frame(tasks: Mapping[str, TaskFacts]) -> pl.DataFrame:
    """One row for every utility that a task's references call: columns task, utility, calls; sorted."""
    rows = [(name, utility, calls) for name, facts in tasks.items() for utility, calls in facts.calls.items()]
    schema = {"task": pl.String, "utility": pl.String, "calls": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("task", "utility")


def first_candidates(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that rank: one for every task asked of a submission, answered or not."""
    return frame.filter(pl.col("rank") == 1)


def _row(result: Result) -> tuple[Any, ...]:
    answered = bool(result.command and result.command.strip())
    return (
        result.submission,
        result.suite,
        result.task,
        result.rank,
        result.confidence,
        result.finding.outcome.value,
        result.finding.collateral,
        result.nlc2cmd if answered else None,
        answered,
        *_text_columns(result.text),
        *_run_columns(result.run),
        *_usage_columns(result.usage),
    )


def _text_columns(text: TextFigures | None) -> tuple[bool | int | None, ...]:
    if text is None:
        return (None,) * 9
    bleu: BleuCounts = text.bleu
    return text.verbatim, text.full_command, text.template, *bleu.matches, bleu.tokens, bleu.reference_tokens


def _run_columns(run: RunFigures | None) -> tuple[bool | float | None, ...]:
    if run is None:
        return (None,) * 5
    return run.valid, run.runnable, run.exit_zero, run.clean_stderr, run.wall_ms


def _usage_columns(usage: Usage | None) -> tuple[float | None, ...]:
    if usage is None:
        return (None,) * 4
    return usage.latency_s, usage.energy_j, usage.input_tokens, usage.output_tokens
