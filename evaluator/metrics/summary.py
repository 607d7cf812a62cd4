"""This module combines all metrics of a submission that a board shows into one row."""

from __future__ import annotations

import polars as pl

from evaluator.metrics.accuracy import accuracy_at, execution_accuracy
from evaluator.metrics.bleu import corpus_bleu
from evaluator.metrics.calibration import calibration
from evaluator.metrics.error_classes import error_counts
from evaluator.metrics.frames import BOARD
from evaluator.metrics.half_length import half_lengths
from evaluator.metrics.horizon import horizon
from evaluator.metrics.judge_error import JudgeError, judge_range
from evaluator.metrics.latency import latency_profile
from evaluator.metrics.matching import mark_rates, matched_at, verbatim_rate
from evaluator.metrics.nlc2cmd import mean_score
from evaluator.metrics.ranking import ranking
from evaluator.metrics.running import running_rates
from evaluator.metrics.slices import accuracy_by, accuracy_by_utility, utility_weighted_accuracy
from evaluator.metrics.statefulness import dangerous_rate, stateful_accuracy
from evaluator.metrics.usage import reported_usage
from evaluator.metrics.world_sessions import session_scores


def summary(frame: pl.DataFrame, calls: pl.DataFrame | None = None, error: JudgeError | None = None) -> pl.DataFrame:
    """Return all metrics of a results frame in sorted rows, one per suite and submission.

    Columns: those of `execution_accuracy`, then `nlc2cmd` in [-1, 1], `accuracy_at`, a list of {k, accuracy}, and
    `figures`, a struct with the fields of the record `SubmissionMetrics`. `calls` is a `utilities_frame`. Without it,
    the metrics by utility are missing. `error` is the measured error of the judge.
    """
    at = accuracy_at(frame).group_by(BOARD, maintain_order=True).agg(pl.struct("k", "accuracy").alias("accuracy_at"))
    scores = execution_accuracy(frame)
    figures = figure_columns(frame, scores, calls, error)
    whole = figures.select(*BOARD, pl.struct(pl.exclude(BOARD)).alias("figures"))
    families = (mean_score(frame), at, whole)
    for family in families:
        scores = scores.join(family, on=BOARD, validate="1:1")
    return scores.sort(BOARD)


def figure_columns(
    frame: pl.DataFrame, scores: pl.DataFrame, calls: pl.DataFrame | None = None, error: JudgeError | None = None
) -> pl.DataFrame:
    """Return one row per suite and submission with the fields of `SubmissionMetrics` as columns.

    `frame` is a results frame, and `scores` is the result of `execution_accuracy` for it.
    """
    difficulties = accuracy_by(frame, "difficulty").with_columns(pl.col("difficulty").cast(pl.String))
    families = [
        judge_range(scores, error),
        matched_at(frame, "full_command").rename({"full_command": "full_command_at"}),
        matched_at(frame, "template").rename({"template": "template_at"}),
        verbatim_rate(frame),
        mark_rates(frame),
        corpus_bleu(frame),
        ranking(frame),
        calibration(frame),
        running_rates(frame),
        reported_usage(frame),
        error_counts(frame),
        stateful_accuracy(frame),
        dangerous_rate(frame),
        session_scores(frame),
        _gathered(latency_profile(frame), "latency"),
        _gathered(horizon(frame), "horizon"),
        half_lengths(frame),
        _tallies(difficulties, "difficulty", "difficulties"),
    ]
    if calls is not None:
        families += [
            utility_weighted_accuracy(frame, calls),
            _tallies(accuracy_by_utility(frame, calls), "utility", "utilities"),
        ]
    columns = scores.select(BOARD)
    for family in families:
        columns = columns.join(family, on=BOARD, how="left", validate="1:1")
    lists = [name for name, dtype in columns.schema.items() if isinstance(dtype, pl.List)]
    return columns.with_columns(pl.col(lists).fill_null([])).sort(BOARD)


def _tallies(rows: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """Collect each submission's rows, such as one per utility, into one list of {name, asked, passed}."""
    return _gathered(rows.rename({column: "name"}), name)


def _gathered(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Collect the rows of each submission into one list of structs. The rows keep their order."""
    return rows.group_by(BOARD, maintain_order=True).agg(pl.struct(pl.exclude(BOARD)).alias(name))
