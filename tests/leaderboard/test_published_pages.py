"""The pages of a board of published verdicts."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from markupsafe import Markup
from pydantic import ValidationError

from evaluator.github.forms import appeal_address
from evaluator.leaderboard.board import BoardIndex, SuiteBoard, index_board
from evaluator.leaderboard.chart_groups import ChartGroup, NamedChart
from evaluator.leaderboard.downloads import standings_csv
from evaluator.leaderboard.horizon_part import render_horizon
from evaluator.leaderboard.leaderboard_page import render_leaderboard
from evaluator.leaderboard.submission_page import render_submission
from evaluator.leaderboard.task_page import render_task
from evaluator.records import HorizonSlice, JudgedBy, Standing, SubmissionMetrics, Unranked
from evaluator.testing.boards import drawn_board

BOARD = drawn_board(3, 6, candidates=1, seed=7)
TODAY = JudgedBy(judge="consensus", judge_version=6, suite_version="1.0.0", fingerprint="f" * 64)
OLD = {"judge_version": 5, "suite_version": "0.9.0", "fingerprint": "ab" * 32}


def appeal(submission: str, task: str | None, rank: int | None) -> str:
    return appeal_address(
        "https://github.com", "owner/board", submission=submission, suite="drawn", task=task, rank=rank
    )


def published(*, differs: tuple[str, ...] = (), row: dict[str, Any] | None = None, **fields: Any) -> BoardIndex:
    """Return the drawn board as a published one. Its first row differs from the current judging in these points."""
    old = JudgedBy.model_validate({**TODAY.model_dump(), **OLD, "differs": differs})
    rows = [each.model_copy(update={"judged_by": TODAY}) for each in BOARD.standings]
    rows[0] = rows[0].model_copy(update={"judged_by": old if differs else TODAY, **(row or {})})
    return index_board(replace(BOARD, standings=tuple(rows), published=True, **fields))


def front(index: BoardIndex) -> str:
    chart = NamedChart("horizon", "", {})
    group = ChartGroup("horizon", "Who is quicker than a person?", (chart,), Markup("<svg></svg>"), 1, 1)
    return render_leaderboard(index, [group], "", ["drawn"], "vega.js")


def own(index: BoardIndex, place: int = 0) -> str:
    return render_submission(index, index.board.standings[place])


def task(index: BoardIndex) -> str:
    first = index.board.tasks[0]
    return render_task(index.board, first, index.attempts([first.id])[first.id])


@pytest.mark.parametrize(
    ("differs", "words"),
    [
        (("judge",), "judged by consensus 5"),
        (("suite",), f"judged on {BOARD.name} 0.9.0"),
        (("environment",), "judged in environment abababab"),
        (("judge", "suite"), f"judged by consensus 5, on {BOARD.name} 0.9.0"),
    ],
)
@pytest.mark.parametrize("page", [front, own, task])
def test_a_row_says_by_what_it_was_judged(
    page: Callable[[BoardIndex], str], differs: tuple[str, ...], words: str
) -> None:
    """The leaderboard, the submission's page and the task's page name only the points that are not current."""
    assert page(published(differs=differs)).count(words + "<") == 1


@pytest.mark.parametrize("page", [front, own, task])
def test_where_all_is_todays_nothing_is_marked(page: Callable[[BoardIndex], str]) -> None:
    assert "judged" not in page(published())


@pytest.mark.parametrize("page", [front, own, task])
def test_a_row_names_the_base_that_replaced_the_publishers(page: Callable[[BoardIndex], str]) -> None:
    """A row whose commands ran on a fall-back base names both distributions. Other rows name none."""
    judged = TODAY.model_copy(update={"base": "debian trixie instead of ubuntu 22.04"})
    assert page(published(row={"judged_by": judged})).count("ran on debian trixie instead of ubuntu 22.04") == 1
    assert "ran on" not in page(published())


def test_what_a_mark_means_is_said_once_below_the_tables() -> None:
    """One note explains the marks and gives the number of marked rows."""
    assert front(published(differs=("judge",))).count("1 row is marked") == 1


def test_a_judges_name_is_a_strangers_text() -> None:
    """A judge's name comes from a verdict file, so it is escaped."""
    shown = front(published(row={"judged_by": TODAY.model_copy(update={"judge": "<b>\u202e", "differs": ("judge",)})}))
    assert "judged by &lt;b&gt;" in shown
    assert "<b>\u202e" not in shown


def test_who_awaits_verdicts_is_named() -> None:
    """The page names the first forty submissions that await verdicts, and counts the others."""
    shown = front(published(awaiting=tuple(f"late-{number}" for number in range(45))))
    assert 'Awaiting their verdicts: <code class="slug">late-0</code>, ' in shown
    assert "late-39</code> and 5 more." in shown
    assert "Awaiting" not in front(published())


def test_a_row_with_verdicts_missing_says_that_they_are() -> None:
    """Missing verdicts are reported as such and not as an infra-error."""
    listed = {
        "unranked": Unranked.INFRA_ERRORS,
        "ranked": False,
        "rank_low": None,
        "rank_high": None,
        "tie_group": None,
    }
    assert "Not all of its verdicts are published yet." in front(published(row=listed))


def test_the_form_is_linked_beside_what_did_not_pass() -> None:
    """Each answer that did not pass links to the form, with submission, task and rank. One link covers all verdicts."""
    index = published(appeal=appeal)
    slug = index.board.standings[2].submission
    answers = [each[0] for each in index.answers[slug].values()]
    wanted = [
        each.task for each in answers if each.finding.outcome.value in {"fail", "timeout", "invalid", "undecided"}
    ]
    assert wanted
    parts = own(index, 2).split('class="appeal" href="')[1:]
    links = [parse_qs(urlsplit(part.split('"')[0].replace("&amp;", "&")).query) for part in parts]
    assert [(each["task"], each["rank"], each["submission"]) for each in links] == [
        ([name], ["1"], [slug]) for name in wanted
    ]
    assert own(index, 2).count(f'submission={slug}&amp;suite=drawn">Appeal it</a>') == 1
    failing = next(each for each in answers if each.task in wanted)
    failed = next(each for each in BOARD.tasks if each.id == failing.task)
    solvers = render_task(index.board, failed, {slug: index.attempts([failed.id])[failed.id][slug]})
    assert f"submission={slug}&amp;suite=drawn&amp;task={failing.task}&amp;rank=1" in solvers


@pytest.mark.parametrize("page", [own, task])
def test_without_a_repository_nothing_links_to_a_form(page: Callable[[BoardIndex], str]) -> None:
    assert "ppeal" not in page(published())


def test_times_that_are_not_published_are_said_not_to_count() -> None:
    """The chart's caption and a row's page say that a published board has no measured times."""
    part = HorizonSlice(slice="all", asked=8, timed=6, within={1: 0.25}, excess_s=-1.0)
    row = BOARD.standings[0].model_copy(update={"figures": SubmissionMetrics(horizon=(part,))})
    assert "hold no measured times" in front(published())
    assert "hold no measured times" in render_horizon(row.model_copy(update={"judged_by": TODAY}))
    assert "hold no measured times" not in front(index_board(BOARD)) + render_horizon(row)


def test_a_table_to_take_away_tells_by_what_rows_were_judged() -> None:
    """The CSV of a published board has extra columns for the judge and its environment."""
    rows = published(differs=("judge", "environment")).board.standings
    first = next(csv.DictReader(io.StringIO(standings_csv(rows))))
    assert (first["judged_by_judge"], first["judged_by_judge_version"]) == ("consensus", "5")
    assert first["judged_by_differs"] == "judge environment"
    assert "judged_by" not in standings_csv(BOARD.standings)


def test_a_row_without_the_facts_of_a_published_one_reads_and_an_earlier_format_does_not() -> None:
    """A row of an earlier format has a metric that no longer exists, the mean average precision."""
    row = {key: value for key, value in BOARD.standings[0].model_dump(mode="json").items() if key != "judged_by"}
    assert Standing.model_validate(row).judged_by is None
    with pytest.raises(ValidationError, match="format"):
        Standing.model_validate({**row, "format": 6})
    with pytest.raises(ValidationError, match=r"figures\.map"):
        Standing.model_validate({**row, "figures": {**row["figures"], "map": 0.5}})


def test_a_scored_board_is_not_a_published_one() -> None:
    board: SuiteBoard = BOARD
    assert (board.published, board.awaiting, board.appeal) == (False, (), None)
