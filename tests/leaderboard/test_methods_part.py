"""The board shows the methods of one model side by side, the runs of a submission, and its training data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.build import site_server
from evaluator.leaderboard.methods_part import methods_json, render_methods
from evaluator.leaderboard.runs_part import render_runs
from evaluator.leaderboard.training_part import render_training
from evaluator.records import Method, Tier
from evaluator.testing.boards import drawn_board
from tests.doubles.hostile_boards import ATTACKS, hostile_board
from tests.doubles.method_boards import manifest, method_board, recipe
from tests.leaderboard.conftest import Build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCORING = (Path(__file__).parents[2] / "site" / "scoring.md").read_text("utf-8")
IDS = [task.id for task in drawn_board(1, 10).tasks]
ICL: dict[str, Any] = {"shots": 25, "examples": "clusters", "runs": 3}
OVERLAP: dict[str, Any] = {
    "version": "1.0.0",
    "tasks": 10,
    "same_instruction": 1,
    "similar": 1,
    "near_tasks": IDS[:2],
    "tiers": {"core": {"tasks": 5, "same_instruction": 1, "similar": 1}, "expert": {"tasks": 5}},
}
TUNING: dict[str, Any] = {
    "base_model": "small",
    "data": "our pairs",
    "pairs": "5f3c" * 16,
    "pair_count": 40639,
    "contamination": {"core": OVERLAP},
}
TUNED = manifest(None, TUNING, Method.FINE_TUNED)
TIERS = {task: Tier.ADVANCED if number < 5 else Tier.EXPERT for number, task in enumerate(IDS)}


def board_of_methods() -> SuiteBoard:
    """Return a board with two models: one with a baseline, three runs of icl and a tuned model, and one with two."""
    answers = {
        "base": (manifest(recipe("small")), "+++-------"),
        "icl-1": (manifest(recipe("small", "icl", run=1, **ICL)), "+++++-----"),
        "icl-2": (manifest(recipe("small", "icl", run=2, **ICL)), "+-+++++---"),
        "icl-3": (manifest(recipe("small", "icl", run=3, **ICL)), "++-++-----"),
        "tuned": (TUNED, "+-++++++--"),
        "other-base": (manifest(recipe("other")), "+---------"),
        "other-parser": (manifest(recipe("other", "parser")), "++--------"),
        "alone": (manifest(recipe("alone")), "+---------"),
        "rules": (manifest(method=Method.RULES), "+---------"),
    }
    return method_board(answers, tiers=TIERS)


BOARD = board_of_methods()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).strip()


def table_of(html: str, name: str) -> list[list[str]]:
    """Return the texts of the cells of a table, with its heads first."""
    (table,) = re.findall(rf'<table [^>]*id="{name}">.*?</table>', html, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return [[text_of(cell) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.DOTALL)] for row in rows]


def test_a_row_has_every_method_of_a_model_with_its_difference_to_the_baseline() -> None:
    heads, small, other = table_of(render_methods(BOARD, "../../", "../../board/core"), "methods-table")
    columns = ["baseline", "icl", "parser", "fine-tuned"]
    assert heads == ["Model", *(f"{name} %, 95 % interval" for name in columns)]
    assert small == [
        "small",
        "30.0 10.8–60.3 base",
        "50.0 23.7–76.3 +20.0 (−17.2 to +50.3) 3 of 3 runs: 40.0–60.0, SD 10.0 icl-1 icl-2 icl-3",
        "–",
        small[4],
    ]
    assert small[4].startswith("70.0 39.7–89.2 +40.0 (")
    assert other[3].startswith("20.0 5.7–51.0 +10.0 (")
    assert (other[1], other[2], other[4]) == ("10.0 1.8–40.4 other-base", "–", "–")


def test_nothing_is_shown_without_a_model_with_two_methods() -> None:
    own = manifest(recipe("small"))
    board = method_board({"one": (own, "+-"), "two": (own, "++"), "rules": (manifest(method=Method.RULES), "+-")})
    assert (render_methods(board, "", ""), methods_json(board)) == ("", "")


def test_the_download_has_the_same_numbers() -> None:
    rows = {row["submissions"][0]: row for row in json.loads(methods_json(BOARD))}
    assert set(rows) == {"base", "icl-1", "tuned", "other-base", "other-parser"}
    assert rows["icl-1"]["deviation"] == pytest.approx(0.1)


def test_a_board_without_pages_of_submissions_names_them_without_links() -> None:
    """A suite whose texts may not be published has no page for a submission."""
    rendered = render_methods(BOARD, "../../", None)
    assert "submissions/" not in rendered
    assert "icl-2" in rendered


def test_a_page_shows_the_spread_over_its_runs_and_links_to_the_others() -> None:
    html = render_runs(BOARD, "icl-2")
    shown = text_of(html)
    for words in ("Run 2 of 3", "Ranked runs 3 of 3 declared", "Mean accuracy 50.0 % 23.7–76.3", "Lowest 40.0 %"):
        assert words in shown
    assert "Highest 60.0 %" in shown
    assert "Standard deviation 10.0 points" in shown
    assert table_of(html, "runs-table")[1:] == [
        ["1", "icl-1", "5 of 10", "50.0"],
        ["2", "icl-2", "6 of 10", "60.0"],
        ["3", "icl-3", "4 of 10", "40.0"],
    ]
    assert re.findall(r'href="\.\./([^./"]+)/"', html) == ["icl-1", "icl-3"]


def test_a_single_ranked_run_of_several_has_no_spread() -> None:
    board = method_board({"one": (manifest(recipe("small", runs=3)), "+-")})
    assert "Ranked runs 1 of 3 declared" in text_of(render_runs(board, "one"))
    assert "not known: it needs two ranked runs" in text_of(render_runs(board, "one"))
    lost = method_board({"one": (manifest(recipe("small", runs=3)), "+?")})
    assert "This submission is not ranked" in text_of(render_runs(lost, "one"))


def test_the_recipe_is_shown_without_a_spread_if_there_is_one_run() -> None:
    shown = text_of(render_runs(BOARD, "base"))
    assert "Methods baseline" in shown
    assert "Repeated runs" not in shown
    assert render_runs(BOARD, "rules") == ""


def test_a_report_is_shown_by_reason_and_tier_with_both_accuracies() -> None:
    """Of the near tasks 0 and 1 one passes. Of the eight others six pass, three of three in the tier core."""
    html = render_training(BOARD, "tuned")
    shown = text_of(html)
    assert "Fine-tuned from small Fine-tuned on our pairs Pairs 40,639 Digest of the pairs 5f3c5f3c" in shown
    heads, *rows = table_of(html, "near-training")
    assert heads[2:6] == [
        "Same instruction exact",
        "Same command exact",
        "Similar instruction TF-IDF, cosine 0.9 or more",
        "Near by any reason",
    ]
    assert rows == [
        ["all tasks", "10", "1", "0", "1", "2", "50.0 1 of 2", "75.0 6 of 8 40.9–92.9"],
        ["core tier", "5", "1", "0", "1", "2", "50.0 1 of 2", "100.0 3 of 3 43.9–100.0"],
        ["expert tier", "5", "0", "0", "0", "0", "–", "60.0 3 of 5 23.1–88.2"],
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"near_tasks": []}, "The accuracy on the other tasks is not known: the report does not name the near tasks."),
        ({"near_tasks": ["gone", IDS[0]]}, "not known: the report is about other tasks than those of this board."),
    ],
)
def test_a_page_says_why_an_accuracy_is_not_known(changed: dict[str, Any], words: str) -> None:
    tuning = TUNING | {"contamination": {"core": OVERLAP | changed}}
    html = render_training(method_board({"own": (manifest(None, tuning), "+" * 10)}, tiers=TIERS), "own")
    assert words in text_of(html)
    assert [len(row) for row in table_of(html, "near-training")] == [6, 6, 6, 6]


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (manifest(), "Not declared: whether tasks are nearly in the training data of the model."),
        (manifest(method=Method.FINE_TUNED), "Not declared: the data of the fine-tuning, and the tasks that are"),
        (manifest(None, TUNING | {"contamination": {}}), "Not declared: which tasks of core are nearly in"),
        (manifest(None, {**TUNING, "pair_count": None}), "Pairs not declared"),
    ],
)
def test_what_is_not_declared_is_said_so(own: Any, words: str) -> None:
    assert words in text_of(render_training(method_board({"own": (own, "+" * 10)}), "own"))


def test_a_system_without_a_model_has_no_training_data() -> None:
    assert render_training(BOARD, "rules") == ""


def test_links_lead_to_formulas() -> None:
    pages = (render_methods(BOARD, "", ""), render_runs(BOARD, "icl-1"), render_training(BOARD, "tuned"))
    anchors = {anchor for page in pages for anchor in re.findall(r'scoring/#([^"]+)"', page)}
    assert anchors == {"methods", "runs", "near-training"}
    assert anchors <= set(re.findall(r"\{ #([a-z0-9-]+) \}", SCORING))


def test_declared_texts_are_shown_as_text() -> None:
    """Every attack is the name of a model, a prompt and a grammar. Only markup of the templates becomes elements."""
    board = hostile_board()
    tags = set()
    for slug in board.submissions:
        for part in (render_runs(board, slug), render_training(board, slug)):
            tags |= set(re.findall(r"<([a-z!?][a-z0-9]*)", part))
    methods = render_methods(board, "", "board/core")
    tags |= set(re.findall(r"<([a-z!?][a-z0-9]*)", methods))
    assert methods.count("<tr>") == 1 + len(ATTACKS) // 2
    own = {"h2", "h3", "p", "a", "dl", "div", "dt", "dd", "bdi", "small", "b", "i", "br", "span", "code", "ul", "li"}
    assert tags <= own | {"table", "caption", "thead", "tbody", "tr", "th", "td"}


@pytest.fixture(scope="module")
def address(build: Build) -> Iterator[str]:
    with site_server(build("methods", BOARD)) as found:
        yield found


@pytest.fixture
def phone(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("board/core/", "methods-table"),
        ("board/core/submissions/icl-1/", "runs-table"),
        ("board/core/submissions/tuned/", "near-training"),
    ],
)
def test_on_a_phone_only_the_frame_of_a_table_scrolls(address: str, path: str, table: str, phone: Page) -> None:
    phone.goto(address + path)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    frame = phone.locator(f".board-scroll:has(#{table})")
    assert frame.evaluate("node => node.hasAttribute('data-fits') || getComputedStyle(node).overflowX === 'auto'")
    last = phone.locator(f"#{table} tbody tr:first-child > *:last-child")
    last.scroll_into_view_if_needed()
    box = last.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 391


def test_a_click_on_a_method_sorts_the_models(address: str, phone: Page) -> None:
    phone.goto(f"{address}board/core/")
    phone.locator("#methods-table th[data-key=method-baseline] button").click()
    models = phone.locator("#methods-table tbody th").all_inner_texts()
    assert sorted(models) == ["other", "small"]
    phone.locator("#methods-table th[data-key=method-baseline] button").click()
    assert phone.locator("#methods-table tbody th").all_inner_texts() == models[::-1]
