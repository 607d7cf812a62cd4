"""Compare two submissions task by task. The comparison uses existing verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from evaluator.errors import UsageError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.paired import Counts, difference_interval, paired_counts, paired_counts_by, paired_passes
from evaluator.pipeline.boards.gather import gather_boards
from evaluator.pipeline.grading.executor import missing_evidence
from evaluator.pipeline.grading.llm_panel import open_panel
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress
from evaluator.records import ErrorClass, ErrorPair, Outcome, PairTally, Result, SubmissionComparison, TaskPair


def compare(
    project: Project,
    progress: Progress,
    first: str,
    second: str,
    *,
    suites: Sequence[str] = (),
    judge: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[SubmissionComparison]:
    """Compare two submissions on the named suites, or on all suites that both submissions answer. Execute no command.

    A suite on which one of them has no verdict is left out and reported to `say`. Raises UsageError if the two
    submissions are the same, if one of them does not exist or does not answer a named suite, or if no suite has answers
    from both submissions. Raises MissingError if no suite has verdicts on both.
    """
    names = _common_suites(project, first, second, suites)
    with open_panel(project, progress, judge=judge) as panel:
        found = gather_boards(
            project, progress, suites=names, submissions=[first, second], judge=judge, execute=False, panel=panel
        )
    boards = [board for board in found.boards if not board.awaiting]
    if not boards:
        raise missing_evidence(project.suite(names[0]), judge)
    for line in found.notes():
        say(line)
    return [compare_on(board, first, second) for board in boards]


def _common_suites(project: Project, first: str, second: str, requested: Sequence[str]) -> list[str]:
    if first == second:
        raise UsageError(f"{first!r} is given twice: expected two different submissions")
    left, right = load_submissions(project, [first, second])
    for name in requested:
        project.suite(name)  # raises UsageError if there is no such suite
        for submission in (left, right):
            if name not in submission.manifest.suites:
                answered = ", ".join(submission.manifest.suites)
                raise UsageError(f"{submission.slug} does not answer suite {name}; it answers: {answered}")
    common = [name for name in left.manifest.suites if name in right.manifest.suites and name in (requested or [name])]
    if not common:
        answered = "; ".join(f"{entry.slug} answers {', '.join(entry.manifest.suites)}" for entry in (left, right))
        raise UsageError(f"expected two submissions that answer a common suite: {answered}")
    return common


def compare_on(board: SuiteBoard, first: str, second: str) -> SubmissionComparison:
    """Compare two submissions by their results on one board."""
    results = {(row.submission, row.task): row for row in board.results if row.rank == 1}
    pairs = paired_passes(_decided_passes(list(results.values())), first, second)
    counts = paired_counts(pairs)
    lower, upper = difference_interval(counts)
    topics = pl.DataFrame([(task.id, task.topic.value) for task in board.tasks], schema=_GROUPS, orient="row")
    calls = [(task, name) for task, names in board.utilities.items() for name in names]
    utilities = pl.DataFrame(calls, schema=_GROUPS, orient="row")
    compared = set(pairs["task"])
    discordant = set(pairs.filter(pl.col("first") != pl.col("second"))["task"])
    return SubmissionComparison(
        suite=board.name,
        suite_version=board.manifest.version,
        first=first,
        second=second,
        compared=counts.tasks,
        left_out=len(board.tasks) - counts.tasks,
        counts=_tally(counts),
        difference=counts.difference,
        difference_low=lower,
        difference_high=upper,
        p_value=counts.p_value,
        topics={name: _tally(group_counts) for name, group_counts in paired_counts_by(pairs, topics).items()},
        utilities={name: _tally(group_counts) for name, group_counts in paired_counts_by(pairs, utilities).items()},
        errors=_error_pairs([row for row in results.values() if row.task in compared], first, second),
        tasks=tuple(
            TaskPair(
                task=task.id,
                topic=task.topic.value,
                first=results[first, task.id].finding,
                second=results[second, task.id].finding,
            )
            for task in board.tasks
            if task.id in discordant
        ),
    )


_GROUPS: Final = {"task": pl.String, "group": pl.String}


def _error_pairs(results: Sequence[Result], first: str, second: str) -> dict[ErrorClass, ErrorPair]:
    """Count the errors of two submissions by class, in the order of the classes. Leave out classes without an error."""
    counts = Counter((row.submission, row.error) for row in results)
    pairs = {kind: ErrorPair(first=counts[first, kind], second=counts[second, kind]) for kind in ErrorClass}
    return {kind: pair for kind, pair in pairs.items() if pair != ErrorPair()}


def _decided_passes(results: Sequence[Result]) -> pl.DataFrame:
    """Return for each result whether the answer passes. Leave out infra-errors (failures of the infrastructure)."""
    rows = [
        (row.submission, row.task, row.finding.outcome is Outcome.PASS)
        for row in results
        if row.finding.outcome is not Outcome.INFRA_ERROR
    ]
    schema = {"submission": pl.String, "task": pl.String, "passed": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _tally(counts: Counts) -> PairTally:
    return PairTally(**counts._asdict())
