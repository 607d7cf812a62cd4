"""The parts of a submission's page that depend on its own verdicts and on the suite, and on no other submission.

So a board keeps these parts from build to build. Only the rest of the page is made again when other systems move the
ranks.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import Appeal
from evaluator.leaderboard.board_answers import VerdictParts
from evaluator.leaderboard.environment import macro, render
from evaluator.leaderboard.error_classes_part import render_error_classes
from evaluator.leaderboard.submission_summary import failures
from evaluator.records import CallAgreement, Outcome, Result, Task

NO_APPEAL: Final = frozenset({Outcome.PASS, Outcome.UNANSWERED, Outcome.INFRA_ERROR})
"""Verdicts without a link beside them: nothing was given or judged, or nobody is wronged. The form takes any."""

TEXT_BUDGET: Final = 240_000
"""Escaped characters that a page spends on a submission's texts, so that every page loads on a phone."""

INSTRUCTION_BUDGET: Final = 200_000
"""Escaped characters that a page spends on the instructions of all tasks."""

INSTRUCTION_LIMIT: Final = 400
"""Escaped characters of one instruction in a table. The page of the task has the whole."""

_OPTIONAL_TAGS: Final = re.compile("</t[dhr]>")
"""End tags that HTML implies. A thousand pages with 300 rows each are 9 MB smaller without them."""


def render_verdict_parts(
    tasks: Sequence[Task], slug: str, answers: Mapping[str, Sequence[Result]], appeal: Appeal | None
) -> VerdictParts:
    """Return the parts of a submission. `answers` maps the tasks that it was asked to the results of its candidates."""
    limit = text_limit(len(answers))
    table = render(
        "submission_verdicts.html",
        slug=slug,
        rows=((task, _cells(answers.get(task.id), limit, appeal)) for task in tasks),
        instruction_limit=max(40, min(INSTRUCTION_LIMIT, INSTRUCTION_BUDGET // max(1, len(tasks)))),
        has_others=any(len(results) > 1 for results in answers.values()),
    )
    failed = render("failures.html", failures=failures(answers))
    return VerdictParts(failed, _OPTIONAL_TAGS.sub("", table), render_error_classes(answers, limit))


def text_limit(tasks: int) -> int:
    """Return how many escaped characters of each text a page shows of a submission that was asked this many tasks."""
    return max(40, min(400, TEXT_BUDGET // max(1, 2 * tasks)))


def _cells(results: Sequence[Result] | None, limit: int, appeal: Appeal | None) -> Markup | None:
    """Return the verdict cells of a task, or None if the task was not asked."""
    return render_verdict(results, limit, appeal) if results else None


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
    unreadable = first.text is not None and first.text.calls is CallAgreement.UNREADABLE
    cells = (verdict.outcome.value, step, decision, first.command, unreadable, limit)
    return _cached_macro("verdict_cells", *cells, len(results) - 1)


@functools.lru_cache(maxsize=65_536)
def _cached_macro(name: str, *arguments: object) -> Markup:
    """Return the HTML of a template macro, from a cache if possible.

    Many submissions have equal commands or reasons.
    """
    return macro(name, *arguments)
