"""The tables of error classes on a submission's page and on the page of comparisons."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evaluator.cli.tables import comparison_text
from evaluator.leaderboard.board import SuiteBoard, index_board
from evaluator.leaderboard.compare_page import render_comparison
from evaluator.leaderboard.downloads import standings_csv, standings_json
from evaluator.leaderboard.error_classes_part import MEANING, render_error_classes
from evaluator.leaderboard.figures_part import render_metrics
from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.submission_page import render_submission
from evaluator.pipeline.boards.compare import compare_on
from evaluator.records import ErrorClass, Finding, LatencySlice, Outcome, SubmissionMetrics
from evaluator.testing.boards import board_of, drawn_board, result_of
from tests.doubles.hostile_boards import ATTACKS, hostile_board

BOARD = drawn_board(4, 16, seed=5)
COMPARE_SCRIPT = Path(__file__).parents[2] / "site" / "assets" / "compare.js"
SCRIPT = "compare.js"


class Names(HTMLParser):
    """Collects the names of elements and attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def rows_of(html: str, table: str) -> dict[str, list[str]]:
    """Return the cells of a table's rows without markup, by the row's value."""
    body = html.partition(f'id="{table}"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r'<tr><th scope="row" data-value="([^"]*)">.*?</th>(.*?)</tr>', body, re.DOTALL)
    return {name: [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", cells)] for name, cells in rows}


def hostile_table(attack: bytes) -> str:
    """Return the table of a submission whose only answer is the attack."""
    tasks = BOARD.tasks[:1]
    results = [result_of("system-0000", tasks[0].id, attack, Finding(outcome=Outcome.FAIL))]
    board = board_of(tasks, {"system-0000": BOARD.submissions["system-0000"]}, results)
    return render_error_classes(index_board(board).answers["system-0000"], 400)


def test_each_class_has_its_tasks_and_its_first_answer() -> None:
    """The counts are those of the row, and the example is the first task with this class."""
    standing = BOARD.standings[-1]
    answers = index_board(BOARD).answers[standing.submission]
    rows = rows_of(render_submission(index_board(BOARD), standing), "errors-table")
    assert list(rows) == [kind.value for kind in ErrorClass] == [kind.value for kind in MEANING]
    assert {name: int(cells[0]) for name, cells in rows.items()} == standing.figures.errors
    firsts = [(task, results[0]) for task, results in answers.items()]
    for name, cells in rows.items():
        first = next(((task, row.command) for task, row in firsts if row.error == name), ("", None))
        assert cells[2] == first[0]
        assert cells[3] == (first[1] or b"").decode().replace("'", "&#x27;").replace('"', "&quot;")
    assert sum(float(cells[1]) for cells in rows.values()) == pytest.approx(100, abs=0.5)


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_a_hostile_command_is_shown_and_adds_no_markup(attack: bytes) -> None:
    """Its characters are text. It adds no element and no attribute to those of the table of a harmless command."""
    harmless, hostile = Names(hostile_table(b"ls")), Names(hostile_table(attack))
    assert hostile.elements <= harmless.elements | {"span", "br", "code"}
    assert hostile.attributes <= harmless.attributes
    assert plain_text(attack[:40])[:12] in hostile.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]", hostile.text)


def test_the_pages_of_a_hostile_board_have_the_tables() -> None:
    index = index_board(hostile_board())
    html = render_submission(index, index.board.standings[0])
    assert sum(int(cells[0]) for cells in rows_of(html, "errors-table").values()) > 0
    assert "<script>alert" not in html + render_comparison(index, SCRIPT)


def test_without_classes_there_is_no_table() -> None:
    """If one failed answer has no class, the counts of the others would not add up to the failed tasks."""
    answers = dict(index_board(BOARD).answers[BOARD.standings[-1].submission])
    assert render_error_classes(answers, 400)
    name = next(task for task, (first, *_) in answers.items() if first.error is not None)
    answers[name] = (answers[name][0].model_copy(update={"error": None}),)
    assert render_error_classes(answers, 400) == ""


def test_a_submission_that_passes_everything_has_no_errors() -> None:
    tasks = BOARD.tasks[:2]
    results = [result_of("system-0000", task.id, b"ls", Finding(outcome=Outcome.PASS)) for task in tasks]
    board = board_of(tasks, {"system-0000": BOARD.submissions["system-0000"]}, results)
    rows = rows_of(render_error_classes(index_board(board).answers["system-0000"], 400), "errors-table")
    assert {tuple(cells) for cells in rows.values()} == {("0", "–", "", "")}


def test_the_page_of_comparisons_has_all_systems() -> None:
    rows = rows_of(render_comparison(index_board(BOARD), SCRIPT), "error-classes")
    assert rows == {row.submission: [str(row.figures.errors[kind]) for kind in ErrorClass] for row in BOARD.standings}


def test_the_script_of_the_page_has_the_classes_of_the_record() -> None:
    listed = re.search(r"const CLASSES = (\[.*?\]);", COMPARE_SCRIPT.read_text("utf-8"), re.DOTALL)
    assert listed
    assert json.loads(listed[1]) == [kind.value for kind in ErrorClass]


def test_the_downloads_have_the_classes_and_the_rates() -> None:
    """JSON has the counts by class, and the CSV has a column for each class and each percentile."""
    standing = BOARD.standings[-1]
    (*_, last) = json.loads(standings_json(BOARD.standings))
    assert last["figures"]["errors"] == standing.figures.errors
    assert last["figures"]["sessions"] == 2
    (*_, row) = csv.DictReader(io.StringIO(standings_csv(BOARD.standings)))
    assert {kind: int(row[f"error_{kind.value.replace(' ', '_')}"]) for kind in ErrorClass} == standing.figures.errors
    assert (row["latency_all_p90_s"], row["dangerous"]) == (
        str(standing.figures.latency[0].p90_s),
        str(standing.figures.dangerous),
    )
    results = [json.loads(each.to_json()) for each in BOARD.results]
    assert {each.get("error") for each in results if each["finding"]["outcome"] == "pass"} == {None}


def test_the_csv_is_empty_where_nothing_was_reported() -> None:
    silent = BOARD.standings[0].model_copy(update={"figures": SubmissionMetrics()})
    row = list(csv.DictReader(io.StringIO(standings_csv([BOARD.standings[0], silent]))))[1]
    assert [row[name] for name in ("error_wrong_flags", "latency_all_p90_s", "dangerous")] == ["", "", ""]


def test_the_page_has_the_rates_and_the_latency_of_each_tier() -> None:
    figures = SubmissionMetrics(
        stateful_accuracy=0.125,
        dangerous=0.25,
        session_score=0.625,
        sessions=2,
        latency=(
            LatencySlice(slice="all", reported=4, median_s=0.35, p90_s=9, p99_s=9.5),
            LatencySlice(slice="advanced", reported=2, median_s=1, p90_s=2, p99_s=2),
        ),
    )
    html = render_metrics(BOARD.standings[0].model_copy(update={"figures": figures}))
    text = re.sub(r"<[^>]+>", " ", html)
    for words in ("12.5 %", "25.0 %", "62.5 %", "mean over 2 worlds"):
        assert words in text
    assert rows_of(html, "latency") == {"all": ["4", "0.35", "9", "9.5"], "advanced": ["2", "1", "2", "2"]}


def compared(board: SuiteBoard) -> str:
    from rich.console import Console

    console = Console(width=120, file=io.StringIO())
    console.print(comparison_text(compare_on(board, "system-0001", "system-0003")))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_comparison_counts_the_errors_of_both() -> None:
    """The counts add up to the compared tasks that a system does not pass. Classes without an error are left out."""
    found = compare_on(BOARD, "system-0001", "system-0003")
    counts = found.counts
    assert sum(pair.first for pair in found.errors.values()) == counts.only_second + counts.neither
    assert sum(pair.second for pair in found.errors.values()) == counts.only_first + counts.neither
    assert all(pair.first or pair.second for pair in found.errors.values())
    text = compared(BOARD)
    for kind, pair in found.errors.items():
        assert re.search(rf"^{kind.value} +{pair.first} +{pair.second} *$", text, re.MULTILINE)
