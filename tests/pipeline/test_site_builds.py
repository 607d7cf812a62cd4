"""Builds of the published site: one that keeps parts of the last build gives the same bytes as one from nothing."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evaluator.cli import app
from evaluator.errors import InfraError
from evaluator.leaderboard import site_pages, unit_writer
from evaluator.pipeline.benchmarks import site_benchmark
from evaluator.pipeline.benchmarks.site_benchmark import bench_site
from evaluator.pipeline.benchmarks.synthetic_boards import added_day, synthetic_results
from evaluator.pipeline.benchmarks.synthetic_projects import commit_submissions, write_project
from evaluator.pipeline.boards import pieces, site, stored_boards
from evaluator.pipeline.boards.published_boards import published_boards
from evaluator.pipeline.boards.site import build_boards_site
from evaluator.pipeline.boards.site_inputs import (
    CACHE,
    FileDigests,
    SiteInputs,
    forget_builds,
    note_build,
    unchanged_build,
)
from evaluator.pipeline.boards.stored_boards import StoredBoards
from evaluator.pipeline.git import run_git
from evaluator.pipeline.grading.adjudications import adjudicate
from evaluator.pipeline.grading.llm_panel import LEDGER
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.added_dates import added_dates
from evaluator.progress import NullProgress
from evaluator.records import Result, Ruling
from evaluator.testing.executor import fake_boards
from tests.command_runner import CommandRunner

SLUG = "system-0002"


def draw(root: Path, submissions: int = 5, tasks: int = 8) -> Project:
    write_project(root, NullProgress(), submissions=submissions, tasks=tasks, candidates=2)
    return Project(root)


def build(project: Project) -> list[str]:
    """Build the published site, and return what was said."""
    said: list[str] = []
    build_boards_site(project, NullProgress(), published=True, say=said.append)
    return said


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def stored(project: Project, **fields: object) -> StoredBoards:
    values = {"location": None, "workers": None, "progress": NullProgress(), "say": lambda line: None}
    return StoredBoards(project, SiteInputs(project.root, {}), **{**values, **fields})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose published site is built. No test may change it."""
    project = draw(tmp_path_factory.mktemp("built") / "project")
    build(project)
    return project


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A copy of the built project."""
    shutil.copytree(built.root, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


def add(project: Project) -> None:
    """Add a submission with the answers of another."""
    folder = project.root / "submissions"
    shutil.copytree(folder / SLUG, folder / "system-0009")
    manifest = folder / "system-0009" / "submission.toml"
    manifest.write_text(manifest.read_text().replace('system = "', 'system = "Another ', 1))


def remove(project: Project) -> None:
    shutil.rmtree(project.root / "submissions" / SLUG)


def lose_verdicts(project: Project) -> None:
    (project.root / "submissions" / SLUG / "core.verdicts.jsonl").unlink()


def lose_a_verdict(project: Project) -> None:
    """Remove the last verdict, so that the submission loses its rank."""
    path = project.root / "submissions" / SLUG / "core.verdicts.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def break_verdicts(project: Project) -> None:
    (project.root / "submissions" / SLUG / "core.verdicts.jsonl").write_text("no JSON\n")


def break_submission(project: Project) -> None:
    (project.root / "submissions" / SLUG / "notes.txt").write_text("not a file of a submission\n")


def reword_a_task(project: Project) -> None:
    path = next((project.root / "fixtures/core/tasks").glob("*.jsonl"))
    path.write_text(path.read_text().replace('"nl":"', '"nl":"Please: ', 1))


def edit_a_page(project: Project) -> None:
    path = project.root / "site" / "scoring.md"
    path.write_text(path.read_text() + "\nOne more sentence.\n")


CHANGES = (add, remove, lose_verdicts, lose_a_verdict, break_verdicts, break_submission, reword_a_task, edit_a_page)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_build_after_a_change_equals_one_from_nothing(project: Project, change: Callable[[Project], None]) -> None:
    change(project)
    said = build(project)
    kept = files_of(project.root / "build" / "site")
    forget_builds(project.root)
    assert build(project) == said
    assert files_of(project.root / "build" / "site") == kept


def test_a_change_that_is_taken_back_gives_the_site_before(project: Project, built: Project) -> None:
    add(project)
    build(project)
    shutil.rmtree(project.root / "submissions" / "system-0009")
    build(project)
    assert files_of(project.root / "build" / "site") == files_of(built.root / "build" / "site")


def test_a_build_reads_only_the_submission_that_changed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(project).boards()
    read: list[str] = []
    original = pieces.make_pieces

    def noted(maker: pieces.PieceMaker, keys: dict[str, str]) -> list[pieces.Check]:
        read.extend(keys)
        return original(maker, keys)

    monkeypatch.setattr(stored_boards, "make_pieces", noted)
    stored(project).boards()
    assert read == []
    lose_a_verdict(project)
    stored(project).boards()
    assert read == [SLUG]


def test_only_a_change_is_noticed(project: Project, tmp_path: Path) -> None:
    """A changed input, address or page makes the site build again. A change that is taken back does not."""

    def is_unchanged(**environ: str) -> bool:
        return unchanged_build(SiteInputs(project.root, environ)) is not None

    build(project)
    assert is_unchanged()
    assert not is_unchanged(BASHBOARD_SITE_URL="https://example.org/")
    inputs = ("submissions", "fixtures", "site/scoring.md")
    for change in CHANGES:
        for name in inputs:
            copy(project.root / name, tmp_path / change.__name__ / name)
        change(project)
        assert not is_unchanged(), change.__name__
        for name in inputs:
            copy(tmp_path / change.__name__ / name, project.root / name)
        assert is_unchanged(), change.__name__
    (project.root / "build" / "site" / "index.html").write_text("mine")
    assert not is_unchanged()
    build(project)
    assert "<table" in (project.root / "build" / "site" / "index.html").read_text()


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder in place of the target."""
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def rule(project: Project) -> None:
    suite = project.suite("core")
    adjudicate(
        project, suite="core", submission=SLUG, task=suite.tasks[0].id, ruling=Ruling.PASS, because="equal in effect"
    )


def turn_a_verdict(project: Project) -> None:
    """Replace a stored verdict under its key, as after a quarantine."""
    change_store(project, "UPDATE verdicts SET record = record || ' ' WHERE key = (SELECT min(key) FROM verdicts)")


def lose_metrics(project: Project) -> None:
    change_store(project, "DELETE FROM figures")


def change_store(project: Project, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(project.store_path, isolation_level=None)) as database:
        database.execute(statement)


def add_a_reply(project: Project) -> None:
    project.store_path.with_name(LEDGER).write_text("{}\n")


def test_a_local_build_without_a_change_makes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It uses the digests of the published build, and those of the verdicts, rulings and replies of this machine."""
    fake_boards(project, lambda call: "same\n")
    made: list[bool] = []
    original = site.build_boards_site

    def counted(*values: Any, **named: Any) -> site.BuiltSite:
        made.append(named["published"])
        return original(*values, **named)

    monkeypatch.setattr(site, "build_boards_site", counted)
    monkeypatch.chdir(project.root)
    first, second = (CommandRunner().invoke(app, ["build"]) for _ in range(2))
    assert (first.exit_code, second.exit_code, second.stdout) == (0, 0, first.stdout)
    assert made == [False]

    def is_unchanged(*, published: bool = False, judge: str | None = None) -> bool:
        return unchanged_build(SiteInputs(project.root, os.environ, published, judge)) is not None

    assert is_unchanged()
    assert not is_unchanged(published=True)
    assert not is_unchanged(judge="exact")
    lose_metrics(project)
    assert is_unchanged()  # they follow from the rest
    for change in (turn_a_verdict, rule, add_a_reply, edit_a_page):
        change(project)
        assert not is_unchanged(), change.__name__
        inputs = SiteInputs(project.root, os.environ, published=False)
        note_build(inputs, (), ())
        inputs.digests.save()
        assert is_unchanged(), change.__name__


def test_a_verdict_that_another_process_just_stored_is_noticed(project: Project) -> None:
    """The other process still has the store open, so its change is not yet in the file itself."""
    fake_boards(project, lambda call: "same\n")
    before = SiteInputs(project.root, {}, published=False).whole
    with contextlib.closing(sqlite3.connect(project.store_path, isolation_level=None)) as database:
        database.execute("DELETE FROM verdicts WHERE key = (SELECT min(key) FROM verdicts)")
        assert SiteInputs(project.root, {}, published=False).whole != before


def test_a_skipped_local_build_ends_like_the_one_before(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission that is left out makes the command fail again."""
    fake_boards(project, lambda call: "same\n")
    break_submission(project)
    monkeypatch.chdir(project.root)
    first = CommandRunner().invoke(app, ["build"])
    monkeypatch.setattr(site, "build_boards_site", None)
    second = CommandRunner().invoke(app, ["build"])
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert SLUG in second.stderr
    assert set(second.stderr.splitlines()) <= set(first.stderr.splitlines())


def test_what_was_said_is_said_again(project: Project) -> None:
    lose_verdicts(project)
    said = build(project)
    last = unchanged_build(SiteInputs(project.root, {}))
    assert last is not None
    assert list(last.said) == said == [f"core: without published verdicts: {SLUG}"]


def test_a_build_that_fails_leaves_the_site_as_it_was(project: Project) -> None:
    before = files_of(project.root / "build" / "site")
    (project.root / "site" / "scoring.md").write_text("[gone](nowhere.md)\n")
    with pytest.raises(InfraError, match=r"nowhere\.md"):
        build(project)
    assert files_of(project.root / "build" / "site") == before
    assert [path.name for path in (project.root / "build").iterdir()] == ["site"]


def test_stored_boards_are_the_published_boards(project: Project) -> None:
    lose_a_verdict(project)
    (board,), (whole,) = stored(project).boards().boards, published_boards(project).boards
    assert board.results == ()
    for name in ("standings", "resolution", "environment", "awaiting", "submissions", "utilities", "tasks"):
        assert getattr(board, name) == getattr(whole, name), name
    for row in whole.standings:
        own = [result for results in board.answers.candidates(row.submission).values() for result in results]
        assert own == [result for result in whole.results if result.submission == row.submission]


def records_of_pieces(root: Path) -> dict[str, bytes]:
    """Return the pieces without their first lines, which depend on the folder of the project."""
    return {name: data.partition(b"\n")[2] for name, data in files_of(root / CACHE / "pieces").items()}


def test_the_number_of_submissions_in_a_batch_changes_nothing(
    built: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for batch in (1, 3, 20):
        root = tmp_path / str(batch)
        shutil.copytree(built.root, root, symlinks=True, ignore=shutil.ignore_patterns(".bashboard", "build"))
        monkeypatch.setattr(stored_boards, "_BATCH", batch)
        stored(Project(root)).boards()
        found.append(records_of_pieces(root))
    assert found[0] == found[1] == found[2]


def test_other_processes_give_the_same_site(project: Project, built: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes read the submissions, and two others write the pages, although this board is small."""
    for module, limit in ((stored_boards, "_BATCH"), (site_pages, "_CHUNK"), (unit_writer, "FEW_UNITS")):
        monkeypatch.setattr(module, limit, 2)
    submitted = ""
    submit = ProcessPoolExecutor.submit

    def noted(executor: ProcessPoolExecutor, work: Any, /, *arguments: Any, **options: Any) -> Any:
        nonlocal submitted
        submitted += repr(work)
        return submit(executor, work, *arguments, **options)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", noted)
    forget_builds(project.root)
    build(project)
    assert all(name in submitted for name in ("make_pieces", "write_saved_units", "_write_files")), submitted
    assert files_of(project.root / "build" / "site") == files_of(built.root / "build" / "site")
    assert records_of_pieces(project.root) == records_of_pieces(built.root)


def test_verdicts_are_published_once(built: Project) -> None:
    site = built.root / "build" / "site" / "board" / "core"
    listed = json.loads((site / "verdicts.json").read_text())["files"]
    assert len(listed) == 5
    for entry in listed:
        lines = gzip.decompress((site / entry["file"]).read_bytes()).splitlines()
        assert {Result.model_validate_json(line).submission for line in lines} == {entry["submission"]}
        old = json.loads((site / entry["file"].removesuffix(".gz")).read_text())
        assert (site / "submissions" / old["moved_to"]).is_file()
    assert json.loads((site / "results.jsonl").read_text()) == {"moved_to": "verdicts.json"}


def test_a_file_is_read_again_if_it_may_have_changed(tmp_path: Path) -> None:
    """Its size, its time or its inode differs, or it was written so recently that a second change has the same time."""
    file, cache = tmp_path / "file", tmp_path / "digests.json"

    def digest() -> str:
        digests = FileDigests(cache)
        found = digests.of(file)
        digests.save()
        return found

    file.write_text("one")
    first, status = digest(), file.stat()
    file.write_text("two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digest() != first  # written within the same tick as far as the cache knows
    os.utime(file, ns=(0, time.time_ns() - 10**10))
    second = digest()
    status = file.stat()
    file.write_text("six")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digest() == second  # nobody can tell: as in Git's index
    other = tmp_path / "other"
    other.write_text("six")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)
    assert digest() != second


@pytest.mark.slow
def test_the_benchmark_measures_three_builds() -> None:
    found = bench_site(NullProgress(), sizes=[2], tasks=3, candidates=1, browser=False)
    assert [row["step"] for row in found["builds"]] == ["clean", "nothing changed", "one more submission"]
    assert all(row["peak_mb"] > 0 for row in found["builds"])
    assert found["sizes"][0]["files"] > 20


@pytest.mark.slow
def test_a_site_without_the_page_of_a_submission_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission that is left out makes the site smaller, so its times would be those of another board."""

    def broken(root: Path, *arguments: object, **counts: int) -> None:
        write_project(root, NullProgress(), **counts)
        path = root / "submissions" / SLUG / "submission.toml"
        path.write_text(path.read_text().replace("format = 3", "format = 3\nunknown = 1", 1))

    monkeypatch.setattr(site_benchmark, "write_project", broken)
    with pytest.raises(InfraError, match="the site lacks 1 page of submissions, such as that of system-0002"):
        bench_site(NullProgress(), sizes=[4], tasks=3, candidates=1, browser=False)


@pytest.mark.parametrize("number", [0, 141, 600, 1_999])
def test_the_days_of_synthetic_systems_are_in_the_past(number: int) -> None:
    manifest = synthetic_results(number + 1, 1, 1).manifests[f"system-{number:04d}"]
    assert added_day(number) < date(2026, 11, 1)
    assert manifest.released is None or manifest.released < date(2026, 11, 1)


def test_the_history_of_a_synthetic_project_has_a_commit_for_each_submission(tmp_path: Path) -> None:
    project = draw(tmp_path / "project", submissions=3, tasks=2)
    late = project.root / "submissions" / SLUG
    late.rename(tmp_path / SLUG)
    commit_submissions(project.root)
    assert added_dates(project) == {f"system-000{number}": added_day(number) for number in (0, 1)}
    (tmp_path / SLUG).rename(late)
    commit_submissions(project.root)
    assert added_dates(project)[SLUG] == added_day(2)
    assert run_git(project.root, "status", "--porcelain", "--", "submissions", "fixtures") == b""
    assert len((run_git(project.root, "rev-list", "HEAD") or b"").split()) == 4
