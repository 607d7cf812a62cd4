"""A submission's page: its description, its standing, and the verdict on each task with the reason."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import Appeal, BoardIndex, SuiteBoard
from evaluator.leaderboard.environment import macro, render
from evaluator.leaderboard.error_classes_part import render_error_classes
from evaluator.leaderboard.figures_part import render_metrics
from evaluator.leaderboard.horizon_part import render_horizon
from evaluator.leaderboard.runs_part import render_runs
from evaluator.leaderboard.submission_summary import (
    cost_note,
    failures,
    neighbours,
    tie_words,
    topic_shares,
    verdict_filter,
)
from evaluator.leaderboard.training_part import render_training
from evaluator.records import Outcome, Result, Standing, Task
from evaluator.submissions.names import is_local

MEANING: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "Does what the references do, in every variant of the world.",
    Outcome.FAIL: "Prints or changes something else in at least one variant.",
    Outcome.TIMEOUT: "Did not end within the limit.",
    Outcome.INVALID: "Empty, or the shell itself reports a syntax error.",
    Outcome.UNANSWERED: "The submission gives no command for the task.",
    Outcome.UNDECIDED: "The evidence does not tell; counted as not passed.",
    Outcome.INFRA_ERROR: "Our machinery failed; never a score, tried again.",
}
"""The meaning of each verdict, in a sentence."""

NO_APPEAL: Final = frozenset({Outcome.PASS, Outcome.UNANSWERED, Outcome.INFRA_ERROR})
"""Verdicts without a link beside them: nothing was given or judged, or nobody is wronged. The form takes any."""

TEXT_BUDGET: Final = 240_000
"""Escaped characters that a page spends on a submission's texts, so that every page loads on a phone."""

INSTRUCTION_BUDGET: Final = 200_000
"""Escaped characters that a page spends on the instructions of all tasks."""

INSTRUCTION_LIMIT: Final = 400
"""Escaped characters of one instruction in a table. The page of the task has the whole."""


def render_submission(index: BoardIndex, standing: Standing) -> str:
    """Return the HTML of one submission's page.

    The table of verdicts depends on the submission and on the suite alone. So a board keeps it from build to build, and
    only the rest of the page is made again when other systems move the ranks.
    """
    board, ranked, slug = index.board, index.ranked, standing.submission
    answers = index.first_answers[slug]
    manifest = board.submissions[slug]
    table = index.source.verdict_table(slug)
    if table is None:
        table = render_verdict_table(board.tasks, slug, index.answers[slug], board.appeal)
    return render(
        "submission.html",
        standing=standing,
        manifest=manifest,
        ranked=len(ranked),
        tie=tie_words(standing, ranked),
        cost=cost_note(standing, manifest),
        tally=[
            (outcome.value, count, MEANING[outcome], _filter(outcome)) for outcome, count in _counts(standing) if count
        ],
        topics=topic_shares(standing, ranked),
        neighbours=neighbours(standing, ranked),
        failures=render_failures(answers),
        verdicts=Markup(table),  # noqa: S704 - rendered
        errors=render_error_classes(standing, answers, text_limit(len(answers))),
        metrics=Markup(render_metrics(standing)),  # noqa: S704 - rendered
        horizon=Markup(render_horizon(standing)),  # noqa: S704 - rendered
        history=render_rank_history(board, slug),
        runs=render_runs(board, standing.submission),
        training=render_training(board, standing.submission),
        appeal=board.appeal and board.appeal(standing.submission, None, None),
        declared=board.declared,
        local=is_local(standing.submission),
    )


def render_rank_history(board: SuiteBoard, slug: str) -> Markup:
    """Return the HTML of a submission's ranks on earlier days. With a single day it is empty."""
    days = board.rank_history.get(slug, ())
    if len(days) < 2:
        return Markup("")
    return Markup(render("rank_history.html", days=days[::-1]))  # noqa: S704 - a rendered template


def text_limit(tasks: int) -> int:
    """Return how many escaped characters of each text a page shows of a submission that was asked this many tasks."""
    return max(40, min(400, TEXT_BUDGET // max(1, 2 * tasks)))


def render_failures(answers: Mapping[str, Sequence[Result]]) -> Markup:
    """Return the HTML of a submission's failures, each with a link to its verdicts. Without a failure it is empty."""
    return Markup(render("failures.html", failures=failures(answers)))  # noqa: S704 - a rendered template


def _cells(results: Sequence[Result] | None, limit: int, appeal: Appeal | None) -> Markup | None:
    """Return the verdict cells of a task, or None if the task was not asked."""
    return render_verdict(results, limit, appeal) if results else None


def _filter(outcome: Outcome) -> str:
    return verdict_filter(verdict=outcome.value)


def _counts(standing: Standing) -> Iterator[tuple[Outcome, int]]:
    yield Outcome.PASS, standing.passed
    yield Outcome.FAIL, standing.failed
    yield Outcome.TIMEOUT, standing.timeout
    yield Outcome.INVALID, standing.invalid
    yield Outcome.UNANSWERED, standing.unanswered
    yield Outcome.UNDECIDED, standing.undecided
    yield Outcome.INFRA_ERROR, standing.infra_errors


def render_verdict_table(
    tasks: Sequence[Task], slug: str, answers: Mapping[str, Sequence[Result]], appeal: Appeal | None
) -> str:
    """Return the HTML of the table with the verdict on each task. It depends on nothing of other submissions."""
    limit = text_limit(len(answers))
    return render(
        "submission_verdicts.html",
        slug=slug,
        rows=((task, _cells(answers.get(task.id), limit, appeal)) for task in tasks),
        instruction_limit=max(40, min(INSTRUCTION_LIMIT, INSTRUCTION_BUDGET // max(1, len(tasks)))),
    )


def render_verdict(results: Sequence[Result], limit: int, appeal: Appeal | None) -> Markup:
    """Return the table cells with the verdict on a submission's first candidate for a task.

    `results` holds the results of all candidates of this submission for this task, in the submission's order. The
    cells show the reason, the command, the number of other candidates, and a link to the appeal form if there is one.
    The browser fetches the other candidates when the reader asks for them.
    """
    first, verdict = results[0], results[0].finding
    form = None
    if appeal is not None and verdict.outcome not in NO_APPEAL:
        label = f"Appeal the verdict on {first.task}, {first.submission}"
        form = (appeal(first.submission, first.task, first.rank), label)
    step = verdict.step and verdict.step.value
    decision = _cached_macro(
        "decision", step, verdict.reason, verdict.place, verdict.variant, verdict.collateral, limit, form
    )
    others = len(results) - 1
    file = f"../{first.submission}.jsonl.gz" if others else ""
    cells = (verdict.outcome.value, step, decision, first.command, limit)
    return _cached_macro("verdict_cells", *cells, others, file, first.task if others else "")


@functools.lru_cache(maxsize=65_536)
def _cached_macro(name: str, *arguments: object) -> Markup:
    """Return the HTML of a template macro, from a cache if possible.

    Many submissions have equal commands or reasons.
    """
    return macro(name, *arguments)
