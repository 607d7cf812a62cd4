"""The blind set comes first on the page about judges, and is the line of trust of the home page if it is measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges import JUDGES
from evaluator.leaderboard.headline_part import render_headline
from evaluator.leaderboard.judges_page import render_blind_set
from evaluator.leaderboard.leaderboard_view import BoardView
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.records import BlindFigures, EstimatedShare, Part, Tier, Validation
from evaluator.testing.boards import drawn_board

ROOT = Path(__file__).parents[2]
BOARD = drawn_board(6, 16, candidates=1, seed=7)


def figures(**fields: Any) -> BlindFigures:
    values: dict[str, Any] = {
        "judge": "consensus",
        "version": 9,
        "suite": BOARD.name,
        "suite_version": BOARD.manifest.version,
        "label_set": 1,
        "part": Part.HELD_BACK,
        "tasks": 120,
        "left_out": 6,
        "infra_errors": 0,
        "wrong_passed": EstimatedShare(part=9, whole=1120, low=0.004, high=0.015),
        "right_failed": EstimatedShare(part=2, whole=118, low=0.004, high=0.06),
        "undecided": EstimatedShare(part=5, whole=1238, low=0.001, high=0.009),
    }
    return BlindFigures(**{**values, **fields})


def validation(*rows: BlindFigures) -> Validation:
    return Validation(format=3, blind=rows)


def headline(measured: Validation) -> str:
    html = str(render_headline(BOARD, BoardView.of(BOARD.standings, "board/core"), "", measured))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html).replace("&nbsp;", " "))


def test_the_page_quotes_the_held_half_and_has_a_row_for_each_half_and_tier() -> None:
    seen = figures(part=Part.WRITTEN_FROM, left_out=7)
    found = render_blind_set(validation(seen, figures(), figures(tier=Tier.EVERYDAY)))
    assert "1,120 plausible wrong answers and 118 unusual right ones" in found
    assert "<b>9 of the wrong ones (0.8 %, 95 % interval 0.4 to 1.5)</b> and failed" in found
    assert "<b>2 of the right ones (1.7 %, 0.4 to 6.0)</b>" in found
    assert found.count("<p") == 1
    assert found.count('<tr class="ranks">') == 3
    assert '9 of 1120 <small class="note">0.4\N{EN DASH}1.5&nbsp;%</small>' in found
    assert re.findall(r'<td data-value="(everyday|all)">', found) == ["all", "all", "everyday"]


def test_other_judges_have_no_rows_of_tiers_and_are_not_quoted() -> None:
    other = figures(judge="exact")
    found = render_blind_set(validation(other, figures(judge="exact", tier=Tier.EVERYDAY), figures(judge="<b>x")))
    assert found.count("<tr>") == 1 + 2
    assert "<p" not in found
    assert "<b>x" not in found


def test_without_results_the_page_has_nothing_about_the_set() -> None:
    assert render_blind_set(validation()) == ""


def test_the_home_page_says_how_many_wrong_answers_pass() -> None:
    text = headline(validation(figures()))
    assert "Of 1,120 plausible wrong answers by writers who had not seen the worlds, 0.8 % pass." in text
    assert "Of 118 unusual right ones, 1.7 % fail." in text


@pytest.mark.parametrize(
    "row",
    [
        figures(part=Part.WRITTEN_FROM),
        figures(tier=Tier.EVERYDAY),
        figures(judge="exact"),
        figures(suite="other"),
        figures(suite_version="0.0.1"),
        figures(wrong_passed=EstimatedShare(part=0, whole=0)),
    ],
)
def test_the_home_page_quotes_no_other_result(row: BlindFigures) -> None:
    text = headline(validation(row))
    assert "plausible" not in text
    assert "Can the judge be trusted?" in text


def test_the_part_is_written_and_is_first_on_the_page(tmp_path: Path) -> None:
    measured = validation(figures())
    write_pages([], tmp_path / "board", measured)
    assert (tmp_path / "board" / ".parts" / "_blind_set.html").read_text() == render_blind_set(measured)
    page = (ROOT / "site" / "judges.md").read_text()
    assert re.findall(r'data-part="(\w+)"', page)[0] == "_blind_set"


def test_the_published_results_are_of_the_judges_there_are() -> None:
    """A judge with changed rules needs new results: bashboard judges validate --set blind --half ... --publish."""
    for row in read_validation(ROOT / JUDGE_METRICS).blind:
        assert row.version == JUDGES[row.judge.removesuffix(" with panel")].version
