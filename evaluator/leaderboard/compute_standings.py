"""Standings: the order by execution accuracy, and the uncertainty of each rank.

A single rank does not show how uncertain it is. Every ranked submission therefore also has a range of ranks. This range
comes from a bootstrap over tasks (Hall and Miller 2009, "Using the bootstrap to quantify the authority of an empirical
ranking", Annals of Statistics 37, 3929-3959). Each draw takes as many tasks as the suite has, with replacement, and
ranks all submissions on these tasks. Submissions with the same number of passes share the better rank. For each
submission, the best 2.5 % and the worst 2.5 % of its ranks are removed. `rank_low` and `rank_high` are the best and the
worst of the remaining ranks. The range is widened if necessary, so that it includes the submission's actual rank on the
suite.

The functions receive Polars frames from `evaluator.metrics`. `standings` also receives the tie groups of the
submissions, in the order that `ranked_order` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluator.records import Method, ModelPrices, Standing, SubmissionManifest, Tally, Unranked

DRAWS: Final = 1000
TAIL: Final = 0.025
"""Share of the draws that is left out at either end, so that the range is a central 95 %."""

Integers = NDArray[np.int64]

Row = Mapping[str, Any]
"""A row of a frame by column."""


def ranked_order(
    scores: pl.DataFrame | Iterable[Row], manifests: Mapping[str, SubmissionManifest], tasks: int
) -> list[str]:
    """Return the ranked submissions of a suite with `tasks` tasks, best first. Sort equally accurate ones by slug."""
    return [row["submission"] for row in _ordered(scores) if _unranked(row, manifests, tasks) is None]


def _rows(table: pl.DataFrame | Iterable[Row]) -> Iterable[Row]:
    return table.iter_rows(named=True) if isinstance(table, pl.DataFrame) else table


def _ordered(scores: pl.DataFrame | Iterable[Row]) -> list[Row]:
    return sorted(_rows(scores), key=lambda row: (-row["accuracy"], row["submission"]))


def _unranked(row: Mapping[str, Any], manifests: Mapping[str, SubmissionManifest], tasks: int) -> Unranked | None:
    if manifests[row["submission"]].method is Method.CONTROL:
        return Unranked.CONTROL
    if row["asked"] < tasks:
        return Unranked.NOT_ASKED
    return Unranked.INFRA_ERRORS if row["infra_errors"] else None


def standings(
    scores: pl.DataFrame | Iterable[Row],
    topics: pl.DataFrame | Iterable[Row],
    passes: pl.DataFrame,
    manifests: Mapping[str, SubmissionManifest],
    suite_version: str,
    tasks: int,
    ties: Iterable[Mapping[str, Any]],
    seed: int = 0,
) -> tuple[Standing, ...]:
    """Return the standings of one suite with `tasks` tasks: first the ranked submissions, then the unranked ones.

    Both parts are sorted by accuracy, best first. Submissions with equal accuracy are sorted by slug. A submission is
    unranked if it is a control, if it has infra-errors, or if it was not asked every task.

    `scores` has one row for each submission, with the numeric fields of `Standing` as columns (`accuracy_at` is a list
    of {k, accuracy}). `topics` has the columns submission, topic, asked, passed. Both may be frames, or rows that were
    read from a file. `passes` has submission, task, passed. `ties` holds the tie-group fields of `Standing` for every
    ranked submission. Raise KeyError with the name of a
    submission without a manifest.
    """
    groups = {tie["submission"]: dict(tie) for tie in ties}
    ranges = rank_ranges(passes.filter(pl.col("submission").is_in(list(groups))), seed)
    tallies = _tallies(topics)
    rows = []
    for row in _ordered(scores):
        slug = row["submission"]
        low, high = ranges.get(slug, (None, None))
        unranked = _unranked(row, manifests, tasks)
        position = {
            "unranked": unranked,
            "ranked": unranked is None,
            "rank_low": low,
            "rank_high": high,
            "not_asked": tasks - row["asked"],
            **groups.get(slug, {}),
        }
        rows.append(_standing({**row, **position}, manifests[slug], suite_version, tallies.get(slug, {})))
    return tuple(sorted(rows, key=lambda row: not row.ranked))


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
            "authors": tuple(author.name for author in manifest.authors),
            "models": manifest.models,
            "parameters": manifest.parameters,
            "licence": manifest.licence,
            "released": manifest.released,
            "usd_per_task": usd_per_task(row["figures"], manifest.prices),
            "topics": tallies,
        }
    )


def usd_per_task(figures: Mapping[str, Any], prices: ModelPrices | None) -> float | None:
    """Return the mean cost of a task in US dollars, or None if the prices or the numbers of tokens are unknown.

    Example: 500 input tokens and 40 output tokens cost 0.000099 at 0.15 and 0.6 dollars per million tokens.
    """
    tokens = figures.get("mean_input_tokens"), figures.get("mean_output_tokens")
    if prices is None or tokens[0] is None or tokens[1] is None:
        return None
    return float(prices.input_usd * tokens[0] + prices.output_usd * tokens[1]) / 1e6


def _tallies(topics: pl.DataFrame | Iterable[Row]) -> dict[str, dict[str, Tally]]:
    tallies: dict[str, dict[str, Tally]] = {}
    for row in sorted(_rows(topics), key=lambda row: (row["submission"], row["topic"])):
        tallies.setdefault(row["submission"], {})[row["topic"]] = Tally(asked=row["asked"], passed=row["passed"])
    return tallies


def rank_ranges(passes: pl.DataFrame, seed: int, draws: int = DRAWS) -> dict[str, tuple[int, int]]:
    """Return each submission's range of ranks from a bootstrap over tasks: the best and the worst rank.

    `passes` has the columns submission, task, passed. The function sorts the submissions and tasks first, so the same
    passes and seed always give the same ranges.
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
    """Draw tasks at random, and count the passes of each submission in each draw: a matrix (draws, submissions).

    `matrix` (submissions, tasks) holds 1 for a pass and 0 otherwise. A draw is stored as a count for each task, so one
    matrix product computes all draws of all submissions. Single precision holds these small whole numbers exactly.
    """
    tasks = matrix.shape[1]
    taken = generator.integers(tasks, size=(draws, tasks)) + tasks * np.arange(draws)[:, None]
    weights = np.bincount(taken.ravel(), minlength=draws * tasks).reshape(draws, tasks)
    product: Integers = np.rint(weights.astype(np.float32) @ matrix.T).astype(np.int64)
    return product


def places(counts: Integers) -> Integers:
    """Return the rank of each submission in each draw, from 1. Equal counts share the better rank.

    `counts` is a matrix (draws, submissions) with numbers of passes. A rank is the number of larger counts in the same
    draw plus 1. A cumulative histogram gives this number without sorting.
    """
    draws, _ = counts.shape
    levels = int(counts.max(initial=0)) + 1
    row = np.arange(draws)[:, None]
    histogram = np.bincount((counts + levels * row).ravel(), minlength=draws * levels).reshape(draws, levels)
    at_least = histogram[:, ::-1].cumsum(axis=1)[:, ::-1]
    larger: Integers = (at_least - histogram)[row, counts]
    return larger + 1
