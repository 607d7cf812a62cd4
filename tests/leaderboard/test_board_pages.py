"""The pages of a board have the right rows and the same bytes each time, and no stale or partial file stays."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from evaluator.leaderboard import board_answers, page_units, task_page
from evaluator.leaderboard.board import SuiteBoard, index_board
from evaluator.leaderboard.downloads import standings_csv
from evaluator.leaderboard.submission_page import render_submission
from evaluator.leaderboard.task_page import render_task, render_tasks
from evaluator.leaderboard.verdict_parts import render_verdict
from evaluator.leaderboard.write import write_pages
from evaluator.metrics.texts import compare_texts
from evaluator.records import Finding, Method, Outcome, Result, Standing, Step
from evaluator.testing.boards import board_of, drawn_board, result_of
from tests.doubles.hostile_boards import ATTACKS, hostile_board

PAGE_LIMIT = 350_000


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def board() -> SuiteBoard:
    return drawn_board(5, 16, candidates=2, seed=3)


@pytest.fixture(scope="module")
def written(board: SuiteBoard, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("written") / "board"
    write_pages([board], out)
    return out


def part(written: Path, name: str) -> str:
    return (written / ".parts" / f"{name}.html").read_text()


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes(board: SuiteBoard, written: Path, tmp_path: Path) -> None:
    shuffled = dataclasses.replace(board, results=tuple(reversed(board.results)))
    write_pages([shuffled], tmp_path / "again")
    assert files_of(tmp_path / "again") == files_of(written)


@pytest.mark.slow
def test_no_page_of_a_task_that_is_gone_stays(tmp_path: Path) -> None:
    write_pages([drawn_board(3, 9)], tmp_path / "board")
    write_pages([drawn_board(2, 4)], tmp_path / "board")
    fresh = tmp_path / "fresh"
    write_pages([drawn_board(2, 4)], fresh)
    assert files_of(tmp_path / "board") == files_of(fresh)


def test_an_inconsistent_board_leaves_what_was_there(board: SuiteBoard, written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "board")
    before = files_of(tmp_path)
    with pytest.raises(ValueError, match="no task 'text-000'"):
        write_pages([dataclasses.replace(board, tasks=board.tasks[1:])], tmp_path / "board")
    assert files_of(tmp_path) == before


def test_all_that_does_not_belong_together_is_named(board: SuiteBoard) -> None:
    broken = dataclasses.replace(board, worlds={}, submissions={})
    with pytest.raises(ValueError, match=r"no submission.toml for .*no world 'archive'.*no world 'webserver'"):
        index_board(broken)


def test_two_boards_of_one_suite_are_refused(board: SuiteBoard, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="same suite"):
        write_pages([board, board], tmp_path / "board")


def test_without_a_board_there_is_still_a_home_page(tmp_path: Path) -> None:
    write_pages([], tmp_path / "board")
    assert "No suite has been scored yet" in part(tmp_path / "board", "_home")


def test_the_leaderboard_has_a_row_a_system_in_board_order(board: SuiteBoard, written: Path) -> None:
    table = part(written, "_home").split('id="standings"')[1].split("</table>")[0]
    found = re.findall(r'href="board/core/submissions/([^"/]+)/"', table)
    assert found == [row.submission for row in board.standings]


def test_a_row_tells_interval_denominator_and_upper_bound(board: SuiteBoard, written: Path) -> None:
    row = next(row for row in board.standings if row.undecided)
    text = part(written, "_home")
    assert f"{100 * row.accuracy_low:.1f}\u2013{100 * row.accuracy_high:.1f}" in text
    assert f'{row.passed} of {row.asked}<span class="undecided-count">, {row.undecided} undecided<' in text
    rows = (written / "core" / "rows.json").read_text()
    assert json.dumps(f"≤ {100 * row.accuracy_upper:.1f}")[1:-1] in rows


def test_a_system_that_is_not_ranked_is_listed_apart(board: SuiteBoard, tmp_path: Path) -> None:
    worst = board.standings[-1]
    lost = worst.model_copy(update={"ranked": False, "rank_low": None, "rank_high": None, "infra_errors": 2})
    write_pages([dataclasses.replace(board, standings=(*board.standings[:-1], lost))], tmp_path / "board")
    ranked, unranked = part(tmp_path / "board", "_home").split('id="unranked"')
    assert f"submissions/{worst.submission}/" in unranked
    assert f"submissions/{worst.submission}/" not in ranked


def test_a_submission_page_has_one_row_a_task_with_verdict_and_command(board: SuiteBoard, written: Path) -> None:
    slug = board.standings[0].submission
    text = part(written, f"core/submissions/{slug}").split('id="tasks"')[1].split("</table>")[0]
    assert re.findall(r'href="../../tasks/([^"/]+)/"', text) == [task.id for task in board.tasks]
    assert text.count('data-others="1"') == len(board.tasks)


def test_a_row_says_that_no_parser_reads_its_command() -> None:
    """Without this note, an NLC2CMD score of -1 has no visible reason."""
    texts = {"t-1": compare_texts(b"ls (", [b"ls"]), "t-2": compare_texts(b"ls -l", [b"ls"])}
    shown = [
        result_of("a", task, b"ls", Finding(outcome=Outcome.INVALID)).model_copy(update={"text": text})
        for task, text in texts.items()
    ]
    notes = ["unreadable by our parsers" in str(render_verdict([each], PAGE_LIMIT, None)) for each in shown]
    assert notes == [True, False]


def test_a_task_that_was_not_asked_is_said_so() -> None:
    board = drawn_board(1, 3)
    kept = [result for result in board.results if result.task != board.tasks[0].id]
    index = index_board(board_of(board.tasks, dict(board.submissions), kept))
    assert render_submission(index, index.board.standings[0]).count('<span class="verdict">not asked') == 1


def test_a_task_page_groups_equal_answers_with_who_solves_it_first() -> None:
    """Equal answers share a row. A row of many systems counts them and names at most its share of them."""
    board = drawn_board(120, 1, candidates=1)
    task = board.tasks[0]
    text = render_task(board, task, index_board(board).attempts([task.id])[task.id])
    outcomes = re.findall(r'<td><span class="verdict verdict--([a-z-]+)"', text)
    commands = Counter((result.command, result.finding) for result in board.results)
    solved = sum(result.finding.outcome is Outcome.PASS for result in board.results)
    assert len(outcomes) == len(commands) < 20
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome != "pass")
    assert f"<b>{solved} of 120</b> systems solve this task" in text
    given = max(commands[command, finding] for command, finding in commands if command in task.references)
    assert re.search(rf'{given} systems</summary>.*?gave <a href="#reference-\d">', text, re.S)
    assert 'id="reference-1"' in text


def test_a_task_page_lists_a_limited_number_of_answers_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_page, "MAX_GROUPS", 2)
    monkeypatch.setattr(task_page, "MAX_NAMES", 8)
    board = drawn_board(60, 1, candidates=1)
    task = board.tasks[0]
    text = render_task(board, task, index_board(board).attempts([task.id])[task.id])
    assert text.count('<th scope="row"') == 2
    assert text.count('<li><a href="../../submissions/') == 8
    assert re.search(r"<li>and \d+ more</li>", text)
    assert re.search(r"the first 2 of \d+ different answers are listed", text)


def test_a_control_counts_as_no_system_and_comes_last() -> None:
    """A control that passes does not make a task solved. Its answer stands in a table of its own."""
    board = drawn_board(3, 2, candidates=1)
    task = board.tasks[0]
    control = board.standings[0].submission
    manifests = dict(board.submissions)
    manifests[control] = manifests[control].model_copy(update={"method": Method.CONTROL})
    passed = Finding(outcome=Outcome.PASS)
    failed = Finding(outcome=Outcome.FAIL, step=Step.OUTPUT, reason="differs")
    results = [
        result_of(slug, each.id, b"true", passed if slug == control else failed)
        for slug in manifests
        for each in board.tasks
    ]
    index = index_board(board_of(board.tasks, manifests, results))
    text = render_task(index.board, task, index.attempts([task.id])[task.id])
    assert "<b>0 of 2</b> systems solve this task" in text
    systems, controls = text.split('id="controls"')
    assert f"submissions/{control}/" not in systems
    assert f"submissions/{control}/" in controls
    assert '0 <small class="note">of 2</small>' in render_tasks([index])


def test_a_task_page_depends_only_on_the_first_answers_to_it(board: SuiteBoard) -> None:
    task = board.tasks[3]
    attempts = index_board(board).attempts([task.id])[task.id]
    without = dataclasses.replace(board, results=())
    assert render_task(without, task, attempts) == render_task(board, task, attempts)


def test_the_list_of_tasks_cuts_an_instruction_only_where_that_saves_much(board: SuiteBoard) -> None:
    texts = {"short": "x" * 420, "long": "x" * 421}
    for kind, text in texts.items():
        tasks = (board.tasks[0].model_copy(update={"nl": text}), *board.tasks[1:])
        page = render_tasks([index_board(dataclasses.replace(board, tasks=tasks))])
        assert ("121 more characters" in page) == (kind == "long")


def test_each_task_page_carries_the_canary_of_its_suite(board: SuiteBoard, written: Path, tmp_path: Path) -> None:
    canary = "0f5a1c1e-7d2b-5c3d-9e4f-a1b2c3d4e5f6"
    write_pages([dataclasses.replace(board, manifest=board.manifest.model_copy(update={"canary": canary}))], tmp_path)
    pages = sorted((tmp_path / ".parts/core/tasks").glob("*.html"))
    assert len(pages) == len(board.tasks)
    assert [page.name for page in pages if canary not in page.read_text()] == []
    assert "Canary" not in part(written, f"core/tasks/{board.tasks[0].id}")


def test_downloads_are_the_records(board: SuiteBoard, written: Path) -> None:
    files = json.loads((written / "core/verdicts.json").read_text())["files"]
    lines = [gzip.decompress((written / "core" / entry["file"]).read_bytes()).splitlines() for entry in files]
    results = [Result.model_validate_json(line) for own in lines for line in own]
    rows = [Standing.model_validate(row) for row in json.loads((written / "core/standings.json").read_text())]
    assert sorted(results, key=repr) == sorted(board.results, key=repr)
    assert rows == list(board.standings)


def test_the_csv_holds_every_standing_with_its_topics(board: SuiteBoard, written: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((written / "core/standings.csv").read_text())))
    assert [row["submission"] for row in rows] == [row.submission for row in board.standings]
    assert [int(row["passed_text"]) for row in rows] == [row.topics["text"].passed for row in board.standings]
    assert [float(row["accuracy_low"]) for row in rows] == [row.accuracy_low for row in board.standings]


def test_a_name_never_begins_a_formula_in_the_csv() -> None:
    text = standings_csv(hostile_board().standings)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(ATTACKS)
    assert not [row["system"] for row in rows if row["system"].startswith(("=", "+", "-", "@"))]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)


@pytest.mark.slow
def test_a_page_stays_small_whatever_a_submission_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page stays below the limit even if a submission repeats a text of 36 kB everywhere.

    The text is longer than gzip's window, so gzip cannot compress a copy. The downloads would contain hundreds of
    megabytes of it and are empty here.
    """
    for module in (board_answers, page_units):
        monkeypatch.setattr(module, "compressed", lambda text: b"")
    shape = drawn_board(1, 300, candidates=5)
    noise = "".join(
        chr(0x4E00 + (number * 7919) % 20_000) for number in range(12_000)
    ).encode()  # longer than gzip's window
    finding = Finding(outcome=Outcome.FAIL, reason=noise.decode(), place=noise, variant=noise.decode()[:90])
    results = [result_of(row.submission, row.task, noise, finding, row.rank) for row in shape.results]
    write_pages([board_of(shape.tasks, dict(shape.submissions), results)], tmp_path / "board")
    sizes = [len(gzip.compress(path.read_bytes())) for path in (tmp_path / "board/.parts").rglob("*.html")]
    assert max(sizes) < PAGE_LIMIT
