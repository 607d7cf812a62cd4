"""A submission's page: its description, its standing, and the verdict on each task with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import BoardIndex, SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.figures_part import render_metrics
from evaluator.leaderboard.horizon_part import render_horizon
from evaluator.leaderboard.runs_part import render_runs
from evaluator.leaderboard.submission_summary import (
    cost_note,
    neighbours,
    tie_words,
    topic_shares,
    verdict_filter,
)
from evaluator.leaderboard.training_part import render_training
from evaluator.leaderboard.verdict_parts import render_verdict_parts
from evaluator.records import Outcome, Standing
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


def render_submission(index: BoardIndex, standing: Standing) -> str:
    """Return the HTML of one submission's page.

    The parts that depend on its own verdicts alone are rendered here if the board does not keep them.
    """
    board, ranked, slug = index.board, index.ranked, standing.submission
    manifest = board.submissions[slug]
    parts = index.source.verdict_parts(slug)
    if parts is None:
        parts = render_verdict_parts(board.tasks, slug, index.answers[slug], board.appeal)
    return render(
        "submission.html",
        standing=standing,
        manifest=manifest,
        earlier=standing.answers_of and board.submissions[standing.answers_of.submission],
        ranked=len(ranked),
        tie=tie_words(standing, ranked),
        cost=cost_note(standing, manifest),
        tally=[
            (outcome.value, count, MEANING[outcome], _filter(outcome)) for outcome, count in _counts(standing) if count
        ],
        topics=topic_shares(standing, index.best_by_topic),
        neighbours=neighbours(standing, ranked),
        failures=Markup(parts.failures),  # noqa: S704 - rendered
        verdicts=Markup(parts.table),  # noqa: S704 - rendered
        errors=Markup(parts.errors),  # noqa: S704 - rendered
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
