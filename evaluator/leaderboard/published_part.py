"""What a board of published verdicts says beside its figures: which rows wait to be judged again, who awaits verdicts,
and where a verdict is appealed."""

from __future__ import annotations

import html

from evaluator.leaderboard.board import Appeal, Gathered, SuiteBoard
from evaluator.leaderboard.escaping import inline
from evaluator.leaderboard.figures_part import SCORING
from evaluator.leaderboard.markup import link
from evaluator.records import Standing

NAMED = 40
"""Submissions named of those that await their verdicts."""

_ENVIRONMENT_DIGITS = 8


def judged_words(standing: Standing) -> str:
    """What of a row's verdicts is not as it is today, in words; empty where all is."""
    judged = standing.judged_by
    if judged is None or not judged.differs:
        return ""
    words = {
        "judge": f"by {inline(judged.judge, 80)} {judged.judge_version}",
        "suite": f"on {standing.suite} {judged.suite_version}",
        "environment": f"in environment {judged.fingerprint[:_ENVIRONMENT_DIGITS]}",
    }
    return "judged " + ", ".join(words[each] for each in judged.differs)


def judged_mark(standing: Standing) -> str:
    """The same as a mark in the row's first cell."""
    words = judged_words(standing)
    return f' <small class="note judged">{words}</small>' if words else ""


def judged_note(gathered: Gathered) -> str:
    """What the marks say, below the table; nothing where no row has one."""
    marked = sum(bool(judged_words(row)) for row in gathered.board.standings)
    if not marked:
        return ""
    rows = "1 row is" if marked == 1 else f"{marked} rows are"
    return (
        f'<p class="note">{rows} marked <span class="judged">judged …</span>: by another judge or version of it than '
        "today's, on another version of the suite, or in another environment than most rows. They wait to be judged "
        "again; until then their figures and those of other rows are hard to compare.</p>\n"
    )


def row_note(standing: Standing) -> str:
    """The same on the page of a row that is marked."""
    words = judged_words(standing)
    if not words or standing.judged_by is None:
        return ""
    alone = standing.judged_by.differs == ("environment",)
    other = link(f"{SCORING}#judged-by", "not that of most rows" if alone else "not what is in force today")
    return (
        f'<p class="note"><span class="judged">This row was {words}</span>, which is {other}. It waits to be judged '
        "again; until then it is hard to compare with other rows.</p>\n"
    )


def awaiting_note(board: SuiteBoard) -> str:
    """Who answers the suite and has no verdicts yet."""
    if not board.awaiting:
        return ""
    named = ", ".join(f'<code class="slug">{slug}</code>' for slug in board.awaiting[:NAMED])
    more = f" and {len(board.awaiting) - NAMED} more" if len(board.awaiting) > NAMED else ""
    return f'<p class="note awaiting">Awaiting their verdicts: {named}{more}.</p>\n'


def appeal_note(appeal: Appeal | None, slug: str) -> str:
    """Where a verdict of a submission is appealed, as a sentence; nothing where that is not known."""
    if appeal is None:
        return ""
    form = link(appeal(slug, None, None), "Appeal it")
    return f"<p>A verdict looks wrong? {form}; the link beside a verdict fills the form in.</p>\n"


def appeal_link(appeal: Appeal, slug: str, task: str, rank: int) -> str:
    """A link beside one verdict, which says of which for who hears the links of a page alone."""
    address = html.escape(appeal(slug, task, rank))
    return f'<a class="appeal" href="{address}" aria-label="Appeal the verdict on {task}, {slug}">appeal</a>'
