"""The trouble of one suite, task or submission is its own: commands show everything else, and name the trouble."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from evaluator.pipeline.boards.gather import gather_boards
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Outcome
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.checkouts import small_checkout, small_task, write_submission, write_suite
from evaluator.testing.executor import FINGERPRINT, fake_boards
from tests.cli.command_runs import SHOWN, TASKS, run_here
from tests.own_suites import packages_of_core

DECLARATION = """format = 1
name = "theirs"
title = "Their benchmark"
version = "1.0.0"
licence = "MIT"
texts = true
digest = "{digest}"

[attribution]
authors = "Others"
address = "https://example.org/theirs"

[[sources]]
git = "https://example.org/theirs.git"
commit = "{commit}"
"""


def declare(root: Path) -> None:
    """Declare an external suite with one task, which is not fetched."""
    folder = root / "fixtures" / "external"
    folder.mkdir(parents=True)
    (folder / "theirs.toml").write_text(DECLARATION.format(digest="0" * 64, commit="a" * 40))
    line = {"task": "theirs-1", "digest": "0" * 64, "output": "exact"}
    (folder / "theirs.tasks.jsonl").write_text(json.dumps(line) + "\n")


def answer_also(root: Path, slug: str, suite: str, task: str) -> None:
    """Add an answer to another suite to a submission."""
    folder = root / "submissions" / slug
    manifest = folder / "submission.toml"
    manifest.write_text(f'{manifest.read_text()}{suite} = "1.0.0"\n')
    (folder / f"{suite}.jsonl").write_text(json.dumps({"task": task, "candidates": [{"command": "echo a"}]}) + "\n")


def add_suite(project: Project, name: str = "other") -> None:
    """Add a second suite, which the submission `good` answers, and on which nothing was executed."""
    write_suite(project.root, [small_task("files-9", references=("ls z", "echo z"))], name=name)
    answer_also(project.root, "good", name, "files-9")


def test_after_one_submission_was_scored_its_row_is_shown(tmp_path: Path) -> None:
    """A submission without evidence has no row. It is named as lacking verdicts."""
    project = small_checkout(tmp_path, TASKS, {"mine": {"files-1": ["echo a"], "files-2": ["echo b"]}})
    fake_boards(project, SHOWN)
    write_submission(project.root, "neighbour", {"files-1": ["another"], "files-2": ["command"]})
    found = run_here(project.root, "standings")
    assert (found.returncode, found.stderr) == (0, "bashboard: tiny: without verdicts on this machine: neighbour\n")
    assert "mine" in found.stdout
    assert "neighbour" not in found.stdout
    rows = json.loads(run_here(project.root, "standings", "--json").stdout)
    assert [(row["submission"], row["passed"]) for row in rows] == [("mine", 2)]


def test_a_row_with_some_verdicts_stays_with_infra_errors(judged: Project) -> None:
    """A row that lacks only some verdicts is shown without a rank, and says why."""
    write_submission(judged.root, "good", {"files-1": ["echo a"], "files-2": ["another"]})
    found = run_here(judged.root, "standings", "--json")
    assert found.returncode == 3
    row = next(row for row in json.loads(found.stdout) if row["submission"] == "good")
    assert (row["passed"], row["infra_errors"], row["ranked"]) == (1, 1, False)
    assert found.stderr == "bashboard: 1 answer without evidence on this machine; produce it with: bashboard score\n"


def test_a_broken_suite_is_left_out_with_its_line(judged: Project) -> None:
    """The board of another suite is complete, although a submission answers both suites."""
    add_suite(judged)
    (judged.root / "fixtures" / "other" / "tasks" / "files.jsonl").write_text('{"id": "\x1b[31m"}\n')
    found = run_here(judged.root, "standings")
    assert found.returncode == 0
    assert all(slug in found.stdout for slug in ("good", "lazy", "always-true"))
    (line,) = found.stderr.splitlines()
    assert line.startswith("bashboard: suite other is left out: ")
    assert "other/tasks/files.jsonl:1: " in line
    assert "\x1b" not in line


def test_a_broken_suite_that_is_asked_for_is_found_wanting(judged: Project) -> None:
    add_suite(judged)
    (judged.root / "fixtures" / "other" / "suite.toml").write_text("format = 1\n")
    both = run_here(judged.root, "standings", "--suite", "tiny", "--suite", "other")
    assert (both.returncode, "good" in both.stdout) == (1, True)
    assert "suite other is left out" in both.stderr
    alone = run_here(judged.root, "standings", "--suite", "other")
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "other/suite.toml" in alone.stderr


def test_broken_rulings_of_one_suite_leave_the_other_boards(judged: Project) -> None:
    add_suite(judged)
    rulings = judged.root / "fixtures" / "overrides" / "other" / "adjudications.jsonl"
    rulings.parent.mkdir(parents=True)
    rulings.write_text("nonsense\n")
    found = run_here(judged.root, "standings")
    assert (found.returncode, "good" in found.stdout) == (0, True)
    assert "suite other is left out" in found.stderr
    assert "adjudications.jsonl:1: " in found.stderr


def test_an_external_suite_that_is_not_fetched_is_left_out(judged: Project) -> None:
    """The message names the command that fetches the suite. A suite that nobody answers is not mentioned."""
    declare(judged.root)
    assert run_here(judged.root, "standings").stderr == ""
    answer_also(judged.root, "good", "theirs", "theirs-1")
    found = run_here(judged.root, "standings")
    assert (found.returncode, "good" in found.stdout) == (0, True)
    assert "suite theirs is left out: the external suite theirs is not fetched" in found.stderr
    assert "bashboard suite add theirs" in found.stderr
    assert run_here(judged.root, "score", "good").returncode == 1
    assert run_here(judged.root, "score", "lazy").returncode == 0
    assert run_here(judged.root, "standings", "--suite", "theirs").returncode == 3


def test_an_engine_failure_in_one_suite_leaves_the_other_boards(judged: Project) -> None:
    """Without an engine, `score` shows the suite whose verdicts exist, and the reason on the rows of the other."""
    add_suite(judged)
    found = run_here(judged.root, "score", "--json")
    assert found.returncode == 3
    rows = {(row["suite"], row["submission"]): row for row in json.loads(found.stdout)}
    assert rows["tiny", "good"]["passed"] == 2
    assert rows["other", "good"]["infra_errors"] == 1
    assert "suite other: not everything could be executed: " in found.stderr
    assert "DOCKER_HOST" in found.stderr
    assert "Traceback" not in found.stderr
    boards = gather_boards(judged, NullProgress(), execute=False).boards
    assert [(board.name, board.awaiting) for board in boards] == [("other", ("good",)), ("tiny", ())]


def test_the_reason_of_a_failed_execution_is_kept(judged: Project) -> None:
    """After a failed execution, the standings show the row with the reason of the failure."""
    add_suite(judged)
    suite = judged.suite("other")
    with closing(Store(judged.store_path)) as store:
        store.set_fingerprint(image_reference(suite.manifest), FINGERPRINT)
        with open_grader(judged, suite, NullProgress(), absent="nothing") as grader:
            planned = grader.keys.plan_item(GradingItem("files-9", b"echo a"))
        for key in planned.evidence_keys:
            store.set_failure((key, 0), "world kettle: its set-up ended with exit status 1")
    found = gather_boards(judged, NullProgress(), execute=False)
    (board,) = (board for board in found.boards if board.name == "other")
    (result,) = board.results
    assert result.finding.outcome is Outcome.INFRA_ERROR
    assert result.finding.reason == "world kettle: its set-up ended with exit status 1"
    assert [(row.submission, row.infra_errors) for row in board.standings] == [("good", 1)]


@pytest.mark.engine
def test_a_task_whose_set_up_fails_is_an_infra_error_alone(tmp_path: Path) -> None:
    """The answers to the task get the reason, the other tasks get verdicts, and `standings` repeats both."""
    tasks = [*TASKS, small_task("files-3", references=("ls c", "echo c"), setup=b"echo lost >&2; exit 1")]
    answers = {"files-1": ["echo a"], "files-2": ["false"], "files-3": ["echo c"]}
    build = b"mkdir -p /srv; touch /srv/a; echo b > /srv/b\n"
    project = small_checkout(tmp_path, tasks, {"mine": answers}, build=build, packages=packages_of_core())
    made = gather_boards(project, NullProgress(), workers=1)
    again = gather_boards(project, NullProgress(), execute=False)
    for board in (*made.boards, *again.boards):
        findings = {result.task: result.finding for result in board.results}
        assert [findings[task].outcome.value for task in ("files-1", "files-2")] == ["pass", "fail"]
        assert findings["files-3"].outcome is Outcome.INFRA_ERROR
        assert "setup" in findings["files-3"].reason


def test_two_submissions_are_compared_on_the_suites_with_verdicts(judged: Project) -> None:
    """A common suite without verdicts, or one that is not fetched, is left out with a line."""
    add_suite(judged)
    declare(judged.root)
    for slug in ("good", "lazy"):
        answer_also(judged.root, slug, "theirs", "theirs-1")
    answer_also(judged.root, "lazy", "other", "files-9")
    found = run_here(judged.root, "compare", "good", "lazy", "--json")
    assert found.returncode == 0, found.stderr
    assert [comparison["suite"] for comparison in json.loads(found.stdout)] == ["tiny"]
    assert "other: without verdicts on this machine: good, lazy" in found.stderr
    assert "suite theirs is left out" in found.stderr
    alone = run_here(judged.root, "compare", "good", "lazy", "--suite", "other")
    assert (alone.returncode, alone.stdout) == (3, "")
    assert "bashboard score --suite other" in alone.stderr
