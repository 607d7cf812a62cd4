"""The changes of the boards in real Git histories: rows that come, move, stay and go, and versions of suites."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.change_history import MAX_CHANGES, change_history
from evaluator.pipeline.grading.verdict_files import verdicts_path
from evaluator.pipeline.project import Project
from evaluator.records import BoardChange, BoardChangeKind, ChangeHistory, RowScore
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import Shows, fake_boards
from evaluator.testing.verdict_files import write_verdicts

TASKS = [small_task(f"files-{number}", references=(f"ls {number}", f"echo {number}")) for number in range(1, 5)]
SHOWN: dict[str, Shows] = {f"{verb} {number}": f"{number}\n" for verb in ("ls", "echo") for number in range(1, 5)}
RIGHT = {task.id: [task.references[1].decode()] for task in TASKS}
ANSWERS: Mapping[str, Mapping[str, list[str]]] = {
    "good": RIGHT,
    "half": {**RIGHT, "files-1": ["true", "ls 1"], "files-2": ["true"]},
}
ALL, TWO = RowScore(passed=4, asked=4), RowScore(passed=2, asked=4)


class Checkout:
    """A checkout under Git with a board. Each commit has a day of its own."""

    def __init__(self, root: Path) -> None:
        self.project = small_checkout(root, TASKS, {slug: dict(given) for slug, given in ANSWERS.items()})
        (self.board,) = fake_boards(self.project, {**SHOWN, "true": ""})
        self.days = 0
        self.git("init", "--quiet", "--initial-branch=main")

    @property
    def suite(self) -> str:
        return self.board.name

    def git(self, *words: str) -> str:
        day = f"2026-01-{self.days + 1:02}T12:00:00Z"
        names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        times = {f"GIT_{who}_DATE": day for who in ("AUTHOR", "COMMITTER")}
        done = subprocess.run(
            ["git", *words],
            cwd=self.project.root,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **names, **times},
        )
        return done.stdout

    def commit(self) -> str:
        self.days += 1
        self.git("add", "--all", "--force", "--", "submissions", "fixtures")
        self.git("commit", "--quiet", "--allow-empty", "-m", "A change")
        return self.git("rev-parse", "HEAD").strip()

    def publish(self, *slugs: str, board: SuiteBoard | None = None, **header: object) -> str:
        for slug in slugs:
            write_verdicts(self.project, board or self.board, slug, **header)
        return self.commit()

    def history(self, cache: Path | None = None) -> ChangeHistory:
        history = change_history(self.project, cache)
        assert history is not None
        return history


Event = tuple[str, str | None, RowScore | None, RowScore | None]


def rows(history: ChangeHistory) -> list[Event]:
    """Return the changes apart from versions of suites, the latest first."""
    return [
        (each.kind.value, each.submission, each.before, each.after)
        for each in history.changes
        if each.kind is not BoardChangeKind.VERSION
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "checkout")
    made.commit()
    return made


def test_a_published_row_is_added_with_its_score(checkout: Checkout) -> None:
    commit = checkout.publish("good", "half")
    history = checkout.history()
    assert rows(history) == [("added", "good", None, ALL), ("added", "half", None, TWO)]
    assert {(each.commit, each.time.isoformat()) for each in history.changes[:2]} == {
        (commit, "2026-01-03T12:00:00+00:00")
    }
    assert (history.commit, history.complete) == (commit, True)
    assert history.changes[0].system == checkout.board.submissions["good"].system


def test_only_the_first_candidate_counts(checkout: Checkout) -> None:
    """The second candidate of `half` for files-1 passes, and its row has the score of the board."""
    checkout.publish("half")
    (standing,) = [row for row in checkout.board.standings if row.submission == "half"]
    assert rows(checkout.history()) == [("added", "half", None, RowScore(passed=standing.passed, asked=standing.asked))]


def test_a_row_moves_if_its_score_does(checkout: Checkout) -> None:
    checkout.publish("half")
    path = verdicts_path(checkout.project, "half", checkout.suite)
    path.write_text(path.read_text().replace('"outcome":"fail"', '"outcome":"pass"'))
    checkout.commit()
    assert rows(checkout.history())[0] == ("moved", "half", TWO, ALL)


def test_rows_with_the_same_score_are_one_change(checkout: Checkout) -> None:
    checkout.publish("good", "half")
    checkout.publish("good", "half", judge_version=99)
    change = checkout.history().changes[0]
    assert (change.kind, change.rows, change.submission) == (BoardChangeKind.RESCORED, 2, None)
    ((before, after),) = change.versions
    assert before.startswith("consensus ")
    assert after == "consensus 99"


def test_a_removed_row_keeps_its_last_score(checkout: Checkout) -> None:
    checkout.publish("good", "half")
    verdicts_path(checkout.project, "half", checkout.suite).unlink()
    checkout.commit()
    assert rows(checkout.history())[0] == ("removed", "half", TWO, None)


def test_a_suite_has_a_first_and_a_next_version(checkout: Checkout) -> None:
    path = checkout.project.fixtures / checkout.suite / "suite.toml"
    path.write_text(path.read_text().replace(f'"{checkout.board.manifest.version}"', '"9.0.0"'))
    checkout.commit()
    versions = [each.versions for each in checkout.history().changes]
    assert versions == [((checkout.board.manifest.version, "9.0.0"),), (("", checkout.board.manifest.version),)]


def test_a_merged_branch_is_one_change_on_the_day_of_its_merge(checkout: Checkout) -> None:
    checkout.git("checkout", "--quiet", "-b", "topic")
    checkout.publish("good")
    checkout.git("checkout", "--quiet", "main")
    checkout.days += 5
    checkout.git("merge", "--quiet", "--no-ff", "-m", "merge", "topic")
    (change,) = [each for each in checkout.history().changes if each.kind is BoardChangeKind.ADDED]
    assert (change.time.day, change.commit) == (8, checkout.git("rev-parse", "HEAD").strip())


def test_later_builds_read_only_the_new_commits(checkout: Checkout, tmp_path: Path) -> None:
    cache = tmp_path / "kept" / "changes.json"
    checkout.publish("good")
    first = checkout.history(cache)
    kept = cache.read_bytes()
    assert checkout.history(cache) == first
    assert cache.read_bytes() == kept
    checkout.publish("half")
    assert checkout.history(cache) == checkout.history()
    marked = first.model_copy(update={"changes": (*first.changes, first.changes[0])})
    cache.write_text(marked.model_dump_json())
    assert len(checkout.history(cache).changes) == len(checkout.history().changes) + 1


@pytest.mark.parametrize("spoil", [b"", b"{}", b"\xff", b'{"format": 2}'])
def test_an_unreadable_cache_is_made_anew(checkout: Checkout, tmp_path: Path, spoil: bytes) -> None:
    checkout.publish("good")
    (tmp_path / "kept").write_bytes(spoil)
    assert checkout.history(tmp_path / "kept") == checkout.history()


def test_changes_of_another_branch_are_not_kept(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("checkout", "--quiet", "-b", "topic")
    checkout.publish("good")
    checkout.history(tmp_path / "kept")
    checkout.git("checkout", "--quiet", "main")
    checkout.publish("half")
    assert checkout.history(tmp_path / "kept") == checkout.history()
    assert [slug for _, slug, _, _ in rows(checkout.history())] == ["half"]


def test_a_shallow_clone_has_what_it_knows(checkout: Checkout, tmp_path: Path) -> None:
    checkout.publish("good")
    checkout.publish("half")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth=2", checkout.project.root.as_uri(), clone], check=True)
    history = change_history(Project(clone), tmp_path / "kept")
    assert history is not None
    assert not history.complete
    assert rows(history) == [("added", "half", None, TWO)]
    subprocess.run(["git", "fetch", "--quiet", "--unshallow"], cwd=clone, check=True, capture_output=True)
    assert change_history(Project(clone), tmp_path / "kept") == checkout.history()


def test_a_folder_outside_git_has_no_history(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert change_history(Project(tmp_path)) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert change_history(checkout.project) is None


def write(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    "spoil",
    [
        write(""),
        write("[" * 100_000),
        write("null\n[]\n{}\n"),
        write('{"suite":[]}\n{"task":1,"command":"","finding":{"outcome":"pass"}}\n{"finding":3}\n'),
        link,
    ],
)
def test_a_verdict_file_of_other_content_disturbs_no_other_row(
    checkout: Checkout, spoil: Callable[[Path], object]
) -> None:
    for slug in ("good", "half"):
        write_verdicts(checkout.project, checkout.board, slug)
    spoil(verdicts_path(checkout.project, "half", checkout.suite))
    checkout.commit()
    assert ("added", "good", None, ALL) in rows(checkout.history())


@pytest.mark.parametrize("text", ["system = 3", "[[" * 40_000, 'system = "' + "x" * 5_000 + '"', "\0"])
def test_a_manifest_of_other_content_still_names_the_row(checkout: Checkout, text: str) -> None:
    (checkout.project.root / "submissions/good/submission.toml").write_text(text)
    checkout.publish("good")
    (change,) = [each for each in checkout.history().changes if each.submission]
    assert change.system is not None
    assert len(change.system) <= 200


def test_there_are_at_most_the_newest_changes(checkout: Checkout) -> None:
    for number in range(MAX_CHANGES + 5):
        folder = checkout.project.root / f"submissions/many-{number:03}"
        folder.mkdir()
        (folder / f"{checkout.suite}.verdicts.jsonl").write_text("{}\n")
    checkout.commit()
    changes = checkout.history().changes
    assert len(changes) == MAX_CHANGES
    assert {each.kind for each in changes} == {BoardChangeKind.ADDED}


def test_an_id_names_the_commit_the_kind_the_suite_and_the_row(checkout: Checkout) -> None:
    checkout.publish("good", "half")
    change = checkout.history().changes[0]
    others: list[dict[str, object]] = [
        {"commit": "0" * 40},
        {"kind": BoardChangeKind.MOVED},
        {"suite": "other"},
        {"submission": "half"},
    ]
    ids = {BoardChange.model_validate({**change.model_dump(), **other}).id for other in ({}, *others)}
    assert len(ids) == 5
    assert change.id == change.model_copy(update={"system": "a new name"}).id
