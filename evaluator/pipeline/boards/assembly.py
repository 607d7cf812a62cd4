"""Assemble a board from results.

Compute the metrics, the ranks, and the other data for the pages of the board.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.compute_standings import Row, ranked_order, standings
from evaluator.metrics.accuracy import accuracy_by_topic, passes
from evaluator.metrics.frames import TaskFacts, results_frame, utilities_frame
from evaluator.metrics.horizon import by_latency_alone
from evaluator.metrics.human_time import human_time
from evaluator.metrics.judge_error import JudgeError
from evaluator.metrics.paired import resolution, tie_groups
from evaluator.metrics.summary import summary
from evaluator.pipeline.boards.tier_standings import tier_standings
from evaluator.pipeline.grading.text_metrics import reference_calls
from evaluator.records import DetectableDifference, Result, Standing, SubmissionManifest, SuiteManifest, Tier
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.suites.questioned_references import doubts_of


class Ranking(NamedTuple):
    """A suite's standings from best to worst, and the smallest difference in accuracy that the suite can detect."""

    standings: tuple[Standing, ...] = ()
    resolution: DetectableDifference | None = None


def rank_submissions(
    frame: pl.DataFrame,
    calls: pl.DataFrame,
    manifests: Mapping[str, SubmissionManifest],
    suite_version: str,
    tasks: int,
    error: JudgeError | None = None,
    tiers: Mapping[str, Tier] | None = None,
) -> Ranking:
    """Rank submissions on a suite with `tasks` tasks. `tiers` maps the tasks of a suite with tiers to their tiers.

    `frame` holds the results, and `calls` holds the utilities in the references of each task. `error` is the measured
    error of the judge that gave the verdicts. The order of the rows in `frame` does not affect the ranking.
    """
    if frame.is_empty():
        return Ranking()
    scores, topics, passed = summary(frame, calls, error), accuracy_by_topic(frame), passes(frame)
    return rank_scores(list(scores.iter_rows(named=True)), topics, passed, manifests, suite_version, tasks, tiers)


def rank_scores(
    scores: Sequence[Row],
    topics: pl.DataFrame | Sequence[Row],
    passed: pl.DataFrame,
    manifests: Mapping[str, SubmissionManifest],
    suite_version: str,
    tasks: int,
    tiers: Mapping[str, Tier] | None = None,
) -> Ranking:
    """Rank submissions whose metrics are known: rows of `summary`, of `accuracy_by_topic`, and the frame of `passes`.

    The metrics of a submission depend on its own results alone. Only ranks, ties and ranges compare submissions.
    """
    ties = tie_groups(passed, ranked_order(scores, manifests, tasks))
    fields = [tie._asdict() for tie in ties]
    rows = standings(scores, topics, passed, manifests, suite_version, tasks, fields)
    by_tier = tier_standings(passed, tiers or {}, {tie.submission for tie in ties})
    rows = tuple(row.model_copy(update={"tiers": by_tier.get(row.submission, {})}) for row in rows)
    return Ranking(rows, resolution(ties, tasks))


def board_of_results(
    suite: Suite,
    manifests: Mapping[str, SubmissionManifest],
    results: Sequence[Result],
    facts: Mapping[str, TaskFacts],
    environment: Mapping[str, str],
    error: JudgeError | None = None,
    *,
    timed: bool = True,
) -> SuiteBoard:
    """Return the board of a suite with these results.

    `manifests` holds the submissions' manifests, `facts` describes the suite's tasks, and `error` is the measured error
    of the judge. If `timed` is false, execution times are unknown, so a system's time is only its reported latency.
    """
    frame = results_frame(results, facts)
    frame = frame if timed else by_latency_alone(frame)
    version, tasks = suite.manifest.version, len(suite.tasks)
    ranking = rank_submissions(frame, utilities_frame(facts), manifests, version, tasks, error, tiers_of_tasks(suite))
    return board_of_ranking(suite, manifests, ranking, facts, environment, tuple(results))


def tiers_of_tasks(suite: Suite) -> dict[str, Tier]:
    """Return the tier of each task. A suite without tiers gives nothing."""
    return {task.id: task.tier for task in suite.tasks if task.tier is not None}


def board_of_ranking(
    suite: Suite,
    manifests: Mapping[str, SubmissionManifest],
    ranking: Ranking,
    facts: Mapping[str, TaskFacts],
    environment: Mapping[str, str],
    results: tuple[Result, ...] = (),
) -> SuiteBoard:
    """Return the board of a suite with these standings, and with these results if they are in memory."""
    return SuiteBoard(
        manifest=suite.manifest,
        worlds={name: world.manifest for name, world in suite.worlds.items()},
        tasks=suite.tasks,
        standings=ranking.standings,
        results=results,
        submissions={row.submission: manifests[row.submission] for row in ranking.standings},
        environment=environment,
        resolution=ranking.resolution,
        utilities={name: tuple(sorted(fact.calls)) for name, fact in facts.items()},
        times={name: fact.timing for name, fact in facts.items() if fact.timing},
        doubts=doubts_of(suite.folder, suite.tasks),
        retired={
            task: tuple((each.command, each.because) for each in retired) for task, retired in suite.retired.items()
        },
    )


def task_facts(suite: Suite, store: Store) -> dict[str, TaskFacts]:
    """Return each task's properties for the metrics (`TaskFacts`)."""
    calls, line = reference_calls(store, suite.tasks), suite.manifest.human_time
    return {
        task.id: TaskFacts(
            topic=task.topic.value,
            difficulty=task.difficulty,
            calls=calls.get(task.id, {}),
            timing=human_time(task, line),
            world=task.world,
            tier=task.tier,
        )
        for task in suite.tasks
    }


def suite_facts(manifest: SuiteManifest) -> dict[str, str]:
    """Return a suite's clock and limits as texts for the board page. The keys are the labels of the texts."""
    return {
        "Clock": manifest.clock.strftime("%Y-%m-%d %H:%M:%S UTC"),
        "Limits": f"{manifest.limits.cpu_s:g} s of CPU, {manifest.limits.memory_mb} MB, "
        f"{manifest.limits.disk_mb} MB of files, {manifest.limits.processes} processes",
    }
