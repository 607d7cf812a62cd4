"""Standings: the order by execution accuracy, and how firm each place in it is.

A place is one number that hides that neighbours are mostly tied. So every ranked submission also has a range
of places, from a bootstrap over tasks (Hall and Miller 2009, "Using the bootstrap to quantify the authority
of an empirical ranking", Annals of Statistics 37, 3929-3959): draw as many tasks as the suite has, with
replacement, rank all submissions on the draw, and repeat. `rank_low` and `rank_high` are the best and the
worst place left when the 2.5 % best and the 2.5 % worst draws are set aside. All submissions are ranked on
the same draws, as they answered the same tasks; submissions with equal passes share the better place. A
range is widened to its submission's place on the suite itself where the draws all miss it, which they can
when many submissions are nearly equal.

Frames come in as arguments and hold what `evaluator.metrics` computes; the columns needed are named below. So do
the tie groups, which are formed of the submissions that `ranked_order` names, in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluator.records import Method, Standing, SubmissionManifest, Tally, Unranked

DRAWS: Final = 1000
TAIL: Final = 0.025
"""Share of the draws set aside at either end: the range is a central 95 %."""

Integers = NDArray[np.int64]


def ranked_order(scores: pl.DataFrame, manifests: Mapping[str, SubmissionManifest], tasks: int) -> list[str]:
    """The submissions that are ranked on a suite of so many tasks, best first; equal accuracy goes by slug."""
    return [row["submission"] for row in _ordered(scores) if _unranked(row, manifests, tasks) is None]


def _ordered(scores: pl.DataFrame) -> list[dict[str, Any]]:
    return sorted(scores.iter_rows(named=True), key=lambda row: (-row["accuracy"], row["submission"]))


def _unranked(row: Mapping[str, Any], manifests: Mapping[str, SubmissionManifest], tasks: int) -> Unranked | None:
    if manifests[row["submission"]].method is Method.CONTROL:
        return Unranked.CONTROL
    if row["asked"] < tasks:
        return Unranked.NOT_ASKED
    return Unranked.INFRA_ERRORS if row["infra_errors"] else None


def standings(
    scores: pl.DataFrame,
    topics: pl.DataFrame,
    passes: pl.DataFrame,
    manifests: Mapping[str, SubmissionManifest],
    suite_version: str,
    tasks: int,
    ties: Iterable[Mapping[str, Any]],
    seed: int = 0,
) -> tuple[Standing, ...]:
    """Standings of one suite of so many `tasks`, best first; the unranked follow, in the same order; equal accuracy
    goes by slug.

    `scores` has a row a submission with the numeric fields of `Standing` as columns (`accuracy_at` as a list
    of {k, accuracy}), `topics` the columns submission, topic, asked, passed, and `passes` submission, task,
    passed. `ties` hold, for every submission that is ranked, the fields of `Standing` on its tie group. Not ranked is
    a control, who was not asked every task, and who has infra-errors. KeyError names a submission without manifest.
    """
    places = {tie["submission"]: dict(tie) for tie in ties}
    ranges = rank_ranges(passes.filter(pl.col("submission").is_in(list(places))), seed)
    tallies = _tallies(topics)
    made = []
    for row in _ordered(scores):
        slug = row["submission"]
        low, high = ranges.get(slug, (None, None))
        unranked = _unranked(row, manifests, tasks)
        place = {
            "unranked": unranked,
            "ranked": unranked is None,
            "rank_low": low,
            "rank_high": high,
            "not_asked": tasks - row["asked"],
            **places.get(slug, {}),
        }
        made.append(_standing({**row, **place}, manifests[slug], suite_version, tallies.get(slug, {})))
    return tuple(sorted(made, key=lambda row: not row.ranked))


def _standing(
    row: dict[str, Any], manifest: SubmissionManifest, suite_version: str, tallies: Mapping[str, Tally]
) -> Standing:
    return Standing(
        **{
            **row,
            "accuracy_at": {entry["k"]: entry["accuracy"] for entry in row["accuracy_at"]},
            "suite_version": suite_version,
            "system": manifest.system,
            "method": manifest.method,
            "open_weights": manifest.open_weights,
            "topics": tallies,
        }
    )


def _tallies(topics: pl.DataFrame) -> dict[str, dict[str, Tally]]:
    found: dict[str, dict[str, Tally]] = {}
    for row in topics.sort("submission", "topic").iter_rows(named=True):
        found.setdefault(row["submission"], {})[row["topic"]] = Tally(asked=row["asked"], passed=row["passed"])
    return found


def rank_ranges(passes: pl.DataFrame, seed: int, draws: int = DRAWS) -> dict[str, tuple[int, int]]:
    """Best and worst place of every submission; `passes` has the columns submission, task, passed.

    Rows and tasks are put in order first, so that the same passes and seed give the same ranges.
    """
    if passes.is_empty():
        return {}
    wide = passes.sort("task").pivot(on="task", index="submission", values="passed").sort("submission")
    matrix = wide.drop("submission").fill_null(value=False).to_numpy().astype(np.float32)
    drawn = places(_passes_drawn(matrix, np.random.default_rng(seed), draws))
    actual = places(matrix.sum(axis=1, keepdims=True).T.astype(np.int64))[0]
    drawn.sort(axis=0)
    cut = int(draws * TAIL)
    best = np.minimum(drawn[cut], actual)
    worst = np.maximum(drawn[draws - 1 - cut], actual)
    return dict(zip(wide["submission"], zip(best.tolist(), worst.tolist(), strict=True), strict=True))


def _passes_drawn(matrix: NDArray[np.float32], generator: np.random.Generator, draws: int) -> Integers:
    """Passes of each submission in each draw: (draws, submissions), from a (submissions, tasks) matrix of 0
    and 1.

    A draw is the number of times that each task was taken, so all draws of all submissions are one matrix
    product. Single precision holds these small whole numbers exactly, whatever order they are added in.
    """
    tasks = matrix.shape[1]
    taken = generator.integers(tasks, size=(draws, tasks)) + tasks * np.arange(draws)[:, None]
    weights = np.bincount(taken.ravel(), minlength=draws * tasks).reshape(draws, tasks)
    product: Integers = np.rint(weights.astype(np.float32) @ matrix.T).astype(np.int64)
    return product


def places(counts: Integers) -> Integers:
    """Places from 1 within each row of (draws, submissions) counts; equal counts share the better place.

    A place is one more than the number of larger counts, read off a running histogram: no sort, no loop.
    """
    draws, _ = counts.shape
    levels = int(counts.max(initial=0)) + 1
    row = np.arange(draws)[:, None]
    histogram = np.bincount((counts + levels * row).ravel(), minlength=draws * levels).reshape(draws, levels)
    at_least = histogram[:, ::-1].cumsum(axis=1)[:, ::-1]
    larger: Integers = (at_least - histogram)[row, counts]
    return larger + 1
