"""The site shows the texts of an external suite with attribution if the licence allows it, otherwise only numbers."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.write import write_pages
from evaluator.records import Attribution, ExternalSuite, GitSource, SuiteSource
from evaluator.testing.boards import drawn_board

THEIRS = "an <script>instruction</script> that is somebody's own"
SHOWN = "an &lt;script&gt;instruction&lt;/script&gt; that is somebody&#x27;s own"
AUTHORS = "A. Author & <b>others</b>"


def declaration(name: str, *, texts: bool) -> ExternalSuite:
    """Return the declaration of an external suite with markup in each text."""
    return ExternalSuite(
        format=1,
        name=name,
        title="Their <i>benchmark</i>",
        version="1.0.0",
        licence="MIT AND CDLA-Permissive-2.0",
        texts=texts,
        digest="0" * 64,
        attribution=Attribution(authors=AUTHORS, paper="A <u>paper</u>", address="https://example.org/theirs"),
        sources=(GitSource(git="https://example.org/theirs.git", commit="a" * 40),),
    )


def foreign_board(name: str, declared: ExternalSuite | None) -> SuiteBoard:
    """Return an external board where each text of a task, a verdict and an answer is THEIRS."""
    board = drawn_board(3, 4, candidates=2, seed=5)
    fields = {"format": 2, "foreign": True, "source": SuiteSource(name="Elsewhere", version="0.3", licence="MIT <1>")}
    manifest = board.manifest.model_copy(update={**fields, "name": name})
    words = {"nl": THEIRS, "references": (THEIRS.encode(),), "near_misses": (THEIRS.encode(),)}
    tasks = tuple(task.model_copy(update=words) for task in board.tasks)
    results = tuple(
        result.model_copy(
            update={
                "suite": name,
                "command": THEIRS.encode(),
                "finding": result.finding.model_copy(update={"reason": THEIRS, "place": THEIRS.encode()}),
            }
        )
        for result in board.results
    )
    return dataclasses.replace(board, manifest=manifest, tasks=tasks, results=results, declared=declared)


BOARDS: dict[str, ExternalSuite | None] = {
    "free": declaration("free", texts=True),
    "closed": declaration("closed", texts=False),
    "undeclared": None,
}
NUMBERS_ONLY = ["closed", "undeclared"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the files of one board of this project, three external boards, and a missing one."""
    folder = tmp_path_factory.mktemp("site") / "board"
    boards = [foreign_board(name, declared) for name, declared in BOARDS.items()]
    ours = drawn_board(3, 4, candidates=2, seed=5)
    write_pages([ours, *boards], folder, unavailable={"absent": "the <source> did not answer"})
    return folder


def files_of(folder: Path, suite: str) -> list[Path]:
    """Return all files of a suite: its pages, their parts and its downloads."""
    places = [folder / suite, folder / ".parts" / suite, folder / ".parts" / f"{suite}.html"]
    return [path for place in places for path in (place.rglob("*") if place.is_dir() else [place]) if path.is_file()]


@pytest.mark.parametrize("suite", NUMBERS_ONLY)
def test_without_permission_no_text_is_in_any_file(built: Path, suite: str) -> None:
    """If the licence does not allow it, no instruction, command or output is in a page or a download."""
    texts = [path.read_bytes() for path in files_of(built, suite)]
    assert [text for text in texts if b"somebody" in text] == []
    assert len(texts) > 5


@pytest.mark.parametrize("suite", NUMBERS_ONLY)
def test_without_permission_only_numbers_are_written(built: Path, suite: str) -> None:
    """Standings, their charts and one page are written, but no page of a task or submission and no verdicts."""
    written = {str(path.relative_to(built / suite)) for path in (built / suite).rglob("*") if path.is_file()}
    names = {Path(name).name.split(".")[0] for name in written if name.startswith("charts/")}
    assert {"accuracy", "agreement", "topics", "latency", "added"} <= names
    charts = {f"charts/{name}.{kind}" for name in names for kind in ("json", "svg", "themed.json")}
    downloads = {"rows.json", "board.json", "standings.csv", "standings.json", "standings.parquet"}
    assert written == {"index.md", "all/index.md", *downloads, *charts}
    page = (built / ".parts" / f"{suite}.html").read_text()
    assert "We may not publish its texts" in page
    assert f"{suite}/submissions/" not in page
    assert "verdicts.json" not in page
    assert f"{suite}/standings.csv" in page


def test_with_permission_every_page_and_download_is_written(built: Path) -> None:
    """A board whose texts may be shown has the same pages and downloads as a board of this project."""
    ours = next(
        path for path in built.iterdir() if path.is_dir() and path.name not in (*BOARDS, "absent", ".parts", "_shell")
    )
    files = {str(path.relative_to(built / "free")) for path in (built / "free").rglob("*") if path.is_file()}
    assert files == {str(path.relative_to(ours)) for path in ours.rglob("*") if path.is_file()}
    records = [gzip.decompress(path.read_bytes()) for path in (built / "free" / "submissions").glob("*.gz")]
    assert THEIRS.split(">")[1].split("<")[0] in b"".join(records).decode()


def test_shown_texts_are_escaped(built: Path) -> None:
    """An instruction or a declaration with markup is shown as text on every page."""
    parts = [path.read_text() for path in files_of(built, "free") if path.suffix == ".html"]
    assert len(parts) == 3 + 3 + 4  # the board, all systems, the comparison, the submissions, the tasks
    assert sum(SHOWN in part for part in parts) == 3 + 4
    everything = "".join(parts) + (built / ".parts" / "_tasks.html").read_text()
    assert not any(markup in everything for markup in ("<script>instruction", "<b>others", "<u>paper", "<i>benchmark"))


def test_every_page_with_their_texts_names_the_authors_and_the_licence(built: Path) -> None:
    """The pages of the board, the comparison, each submission and each task name the authors and the licence."""
    parts = [path for path in files_of(built, "free") if path.suffix == ".html"] + [built / ".parts" / "_tasks.html"]
    for part in map(Path.read_text, parts):
        assert "A. Author &amp; &lt;b&gt;others&lt;/b&gt;" in part
        assert "MIT AND CDLA-Permissive-2.0" in part
        assert '<a href="https://example.org/theirs"' in part


def test_a_suite_without_a_board_has_a_page_with_the_reason(built: Path) -> None:
    """Every board links to the page of a suite that is not available, and the page gives the reason."""
    page = (built / ".parts" / "absent.html").read_text()
    assert "Not available in this build" in page
    assert "the &lt;source&gt; did not answer" in page
    assert (built / "absent" / "index.md").is_file()
    for suite in BOARDS:
        assert "board/absent/" in (built / ".parts" / f"{suite}.html").read_text()
        assert f"board/{suite}/" in page


def test_an_unavailable_suite_with_the_name_of_a_board_is_refused(tmp_path: Path) -> None:
    board = drawn_board(2, 3)
    with pytest.raises(ValueError, match="two boards have the same suite"):
        write_pages([board], tmp_path / "board", unavailable={board.name: "why"})


def test_the_index_of_tasks_lists_only_suites_with_texts(built: Path) -> None:
    tasks = (built / ".parts" / "_tasks.html").read_text()
    assert SHOWN in tasks
    assert [suite for suite in BOARDS if f"board/{suite}/tasks/" in tasks] == ["free"]
