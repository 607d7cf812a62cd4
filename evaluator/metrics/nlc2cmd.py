"""This module computes the NLC2CMD metric of a task's candidates, and the mean of this metric over tasks.

`evaluator.shell.nlc2cmd.score` scores one command against one reference. This module combines the scores of all pairs
by the competition's rule (Agarwal et al. 2021, "NeurIPS 2020 NLC2CMD Competition: Translating Natural Language to Bash
Commands"), as the organisers' program implements it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from evaluator.shell.nlc2cmd.score import score_pair


def score_candidate(command: str | bytes, references: Sequence[str | bytes]) -> float:
    """Return the NLC2CMD score of one command against a task's references, in [-1, 1], without the confidence.

    The score is the largest `score_pair` over all references if it is above 0. Otherwise, it is the mean. `mean_score`
    multiplies the score by the confidence, and applies the same rule to all candidates of the task. The result is the
    same as if the rule were applied once to all pairs, as the competition's organisers do.
    """
    if not command.strip():
        return -1.0
    return _aggregate([score_pair(command, reference) for reference in references])


class TaskScore(NamedTuple):
    """The NLC2CMD score of a task by two rules.

    The first is the rule of the organisers' program, which gave the published results. The second is the rule of the
    paper.
    """

    organisers: float
    paper: float


def score_task(
    predictions: Sequence[str | bytes],
    confidences: Sequence[float],
    references: Sequence[str | bytes],
    *,
    strict_2020: bool = False,
) -> TaskScore:
    """Return the NLC2CMD scores of one task, in [-1, 1], for predictions with confidences in [0, 1].

    A pair is a prediction and a reference. Its score is `score_pair` times the prediction's confidence. Each of the two
    results uses other pairs:

        organisers: all pairs whose prediction is not empty. Without such a pair, the result is -1.
        paper: the best pair of each prediction, even if the prediction is empty.

    The result is the largest score of these pairs if it is above 0. Otherwise, it is the mean of their scores. With
    `strict_2020`, commands that the organisers' program refused are refused here too.
    """
    if not predictions or not references:
        return TaskScore(-1.0, -1.0)
    scores = [
        [confidence * score_pair(prediction, reference, strict_2020=strict_2020) for reference in references]
        for prediction, confidence in zip(predictions, confidences, strict=True)
    ]
    pooled = [score for prediction, row in zip(predictions, scores, strict=True) if prediction.strip() for score in row]
    return TaskScore(_aggregate(pooled) if pooled else -1.0, _aggregate([max(row) for row in scores]))


def _aggregate(scores: Sequence[float]) -> float:
    best = max(scores)
    return best if best > 0 else sum(scores) / len(scores)


def mean_score(frame: pl.DataFrame) -> pl.DataFrame:
    """Return each submission's mean NLC2CMD score over the tasks asked: columns suite, submission, nlc2cmd.

    A task's score follows the rule of the organisers' program. `frame` is a results frame. Its column `nlc2cmd` is each
    candidate's `score_candidate`, or null for a missing or empty command.
    """
    scored = pl.col("nlc2cmd") * pl.col("confidence")
    task = pl.when(scored.max() > 0).then(scored.max()).otherwise(scored.mean()).fill_null(-1.0)
    return (
        frame.group_by("suite", "submission", "task")
        .agg(task.alias("nlc2cmd"))
        .sort("suite", "submission", "task")
        .group_by("suite", "submission", maintain_order=True)
        .agg(pl.col("nlc2cmd").mean())
    )
