"""For a foreign suite the site shows only numbers: no instruction, command or quoted output of the suite."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.write import write_pages
from evaluator.records import SuiteSource
from evaluator.testing.boards import drawn_board

THEIRS = "an instruction that is somebody's own"


def foreign_board() -> SuiteBoard:
    """Return a foreign board where each text of a task, a verdict and an answer is THEIRS."""
    board = drawn_board(3, 4, candidates=2, seed=5)
    fields = {"format": 2, "foreign": True, "source": SuiteSource(name="Elsewhere", version="0.3", licence="MIT <1>")}
    manifest = board.manifest.model_copy(update={**fields, "name": "theirs"})
    words = {"nl": THEIRS, "references": (THEIRS.encode(),), "near_misses": (THEIRS.encode(),)}
    tasks = tuple(task.model_copy(update=words) for task in board.tasks)
    results = tuple(
        result.model_copy(
            update={
                "suite": "theirs",
                "command": THEIRS.encode(),
                "finding": result.finding.model_copy(update={"reason": THEIRS, "place": THEIRS.encode()}),
            }
        )
        for result in board.results
    )
    return dataclasses.replace(board, manifest=manifest, tasks=tasks, results=results)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the files of one board of this project and one foreign board."""
    folder = tmp_path_factory.mktemp("site") / "board"
    write_pages([drawn_board(3, 4, candidates=2, seed=5), foreign_board()], folder)
    return folder


def test_no_text_of_theirs_is_in_any_file(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if THEIRS.encode() in path.read_bytes()] == []
    assert len(files) > 20


def test_only_numbers_are_written(folder: Path) -> None:
    """Standings, their charts and one page are written, but no page of a task or submission and no verdicts."""
    written = {str(path.relative_to(folder / "theirs")) for path in (folder / "theirs").rglob("*") if path.is_file()}
    charts = {f"charts/{name}.{kind}" for name in ("accuracy", "agreement", "topics") for kind in ("json", "svg")}
    assert written == {"index.md", "standings.csv", "standings.json", *charts}


def test_its_page_says_whose_it_is_and_leads_nowhere_that_is_not_there(folder: Path) -> None:
    page = (folder / ".parts" / "theirs.html").read_text()
    assert "Elsewhere, 0.3, licence MIT &lt;1&gt;" in page
    assert "theirs/submissions/" not in page
    assert "results.jsonl" not in page
    assert "theirs/standings.csv" in page


def test_a_board_of_ours_beside_it_has_all_its_pages(folder: Path) -> None:
    ours = next(path for path in folder.iterdir() if path.is_dir() and path.name not in ("theirs", ".parts"))
    assert (ours / "results.jsonl").stat().st_size
    assert list(ours.glob("tasks/*/index.md"))
