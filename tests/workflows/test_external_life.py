"""The life of submissions to an external suite, which each workflow fetches from a local Git server.

The suite has the layout of its publisher, with tasks that were written for this test. The workflow files of this
repository run with real Git and real containers. At the end, the server does not answer any more.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from evaluator.pipeline.project import Project
from evaluator.testing.declared_suites import commit_tree, declare_suite
from tests.doubles.git_server import GitServer, git_server
from tests.doubles.github import GitHubServer, HostedRepo, Pull
from tests.doubles.model_server import JudgeServer
from tests.doubles.stub_image_engine import StubImageEngine
from tests.doubles.workflows import RunResult
from tests.suites.foreign_trees import write_files
from tests.workflows.life_bench import ANSWERS, Life, below, submission

pytestmark = [pytest.mark.engine, pytest.mark.soak]

SUITE: Final = "nl2sh-alfa"
SETUP: Final = """#!/bin/bash
mkdir -p /testbed/den
echo 'one owl' > /testbed/owls.txt
echo 'two <b>owls</b>' > /testbed/den/more.txt
"""
QUERIES: Final = (
    ("Print the file <i>/testbed/owls.txt</i>", "cat /testbed/owls.txt", "head /testbed/owls.txt"),
    ("Remove the directory /testbed/den", "rm -r /testbed/den", "rm -rf /testbed/den"),
    ("Count the files below /testbed", "find /testbed -type f | wc -l", "find /testbed -type f -printf x | wc -c"),
)
THEIRS: Final = {"fs1-000": ["cat < /testbed/owls.txt"], "fs1-001": ["true"], "fs1-002": ["ls -R /testbed | wc -l"]}


def publisher(folder: Path) -> Path:
    """Write the publisher's repository: three tasks in one file system."""
    entries = [
        {"query": query, "gold": gold, "gold2": gold2, "difficulty": 0, "bash2": ""} for query, gold, gold2 in QUERIES
    ]
    place = "src/icalfa/assets"
    files = {
        f"{place}/datasets/nl2bash_fs_1.json": json.dumps(entries),
        f"{place}/docker/setup_nl2b_fs_1.sh": SETUP,
        "README.md": "Not read.\n",
    }
    return write_files(folder, files)


@dataclass(frozen=True)
class Published:
    """A board with an external suite, and the Git server of the suite's publisher."""

    life: Life
    server: GitServer
    repository: Path

    def hide(self) -> None:
        """Make the publisher's repository unreachable."""
        shutil.move(self.repository, self.repository.with_name("gone"))


@pytest.fixture(scope="module")
def board(light: StubImageEngine, panel: JudgeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folder = tmp_path_factory.mktemp("external")
    (folder / "served").mkdir()
    with GitHubServer(folder / "github") as github, git_server(folder / "served") as server:
        tree = publisher(server.folder / "benchmark")
        commit = commit_tree(tree)

        def declare(project: Project) -> None:
            shutil.rmtree(project.fixtures / "external", ignore_errors=True)
            declare_suite(project, SUITE, tree, f"{server.address}/benchmark/.git", commit)

        yield Published(Life.begin(github, folder, panel.url, light.host, declare), server, tree)
        assert github.complaints == []


@dataclass(frozen=True)
class Opened:
    fork: HostedRepo
    pull: Pull
    run: RunResult
    comment: str


def open_pull(life: Life, slug: str, files: dict[str, bytes]) -> Opened:
    """Open a pull request of a new account, and run `submission` and `report`."""
    fork = life.github.fork(life.board, life.github.user(slug))
    fork.git.commit("mine", below(slug, files))
    pull = life.github.open_pull(life.board, fork, "mine")
    run = life.run_submission(pull, "opened")
    report = life.run_report(run)
    assert report.conclusion == "success", report.log
    return Opened(fork, pull, run, pull.comments[-1].body)


@pytest.fixture(scope="module")
def first(board: Published) -> RunResult:
    result = board.life.publish(None)
    assert result.conclusion == "success", result.log
    return result


def test_a_suite_without_submissions_is_not_fetched(board: Published, first: RunResult) -> None:
    """The publisher is not asked, the suite has no board, and no text of the suite is in the repository."""
    assert "no external suite is missing" in first.log or "imported" not in first.log
    assert not (board.life.actions.site / "board" / SUITE).exists()
    assert not [path for path in board.life.paths() if path.startswith(f"fixtures/{SUITE}/")]
    index = board.life.read(f"fixtures/external/{SUITE}.tasks.jsonl").decode()
    assert [json.loads(line)["task"] for line in index.splitlines()] == list(THEIRS)
    assert "owls" not in index


@pytest.fixture(scope="module")
def opened(board: Published, first: RunResult) -> Opened:
    del first
    wrong = submission({**THEIRS, "fs9-000": ["ls"]}, suite=SUITE, version="1.0.0")
    refused = open_pull(board.life, "mistaken", wrong)
    assert refused.run.conclusion == "failure"
    assert f"submissions/mistaken/{SUITE}.jsonl:4: unknown task 'fs9-000'" in refused.comment
    return open_pull(board.life, "guest", submission(THEIRS, suite=SUITE, version="1.0.0"))


def test_a_pull_request_is_checked_and_previewed(opened: Opened) -> None:
    """The suite is fetched and imported, the commands are executed, and the comment has the metrics."""
    assert opened.run.conclusion == "success", opened.run.log
    assert f"fixtures/{SUITE}: imported" in opened.run.log
    assert set(opened.pull.labels) >= {"valid", "ready to merge"}
    assert "1 of 3 tasks" in opened.comment
    assert SUITE in opened.comment


@pytest.fixture(scope="module")
def merged(board: Published, opened: Opened) -> RunResult:
    result = board.life.merge(opened.pull)
    assert result.conclusion == "success", result.log
    return result


def test_a_merge_publishes_the_verdicts(board: Published, merged: RunResult) -> None:
    """Each job fetches the suite by itself. Verdicts, evidence and the owner are published like those of `core`."""
    assert [name for name in merged.jobs if name.startswith("derive / execute")] == ["derive / execute (guest)"]
    for name in ("derive / restore", "derive / prepare", "derive / execute (guest)", "derive / judge"):
        assert f"fixtures/{SUITE}: imported" in merged.jobs[name].log
    lines = board.life.read(f"submissions/guest/{SUITE}.verdicts.jsonl").decode().splitlines()
    header = json.loads(lines[0])
    assert (header["suite"], header["suite_version"]) == (SUITE, "1.0.0")
    outcomes = {(verdict := json.loads(line))["task"]: verdict["finding"]["outcome"] for line in lines[1:]}
    assert outcomes == {"fs1-000": "pass", "fs1-001": "fail", "fs1-002": "undecided"}
    evidence = set(board.life.paths("evidence"))
    assert {f"references/{SUITE}.jsonl.gz", f"submissions/guest/{SUITE}.jsonl.gz"} <= evidence
    assert "guest" in json.loads(board.life.read("submissions/owners.json"))["owners"]


def test_the_site_shows_the_row_and_the_texts_with_their_authors(board: Published, merged: RunResult) -> None:
    """The deployed site has a board, a page for each task and submission, and names the authors of the texts."""
    del merged
    life = board.life
    assert "guest" in life.site(f"board/{SUITE}/index.html")
    task = life.site(f"board/{SUITE}/tasks/fs1-000/index.html")
    assert "Print the file &lt;i&gt;/testbed/owls.txt&lt;/i&gt;" in task
    assert "cat /testbed/owls.txt" in task
    row = life.site(f"board/{SUITE}/submissions/guest/index.html")
    for page in (task, row, life.site(f"board/{SUITE}/index.html"), life.site(f"board/{SUITE}/compare/index.html")):
        assert "The authors of the test" in page
        assert "licence MIT" in page
    assert f"board/{SUITE}/" in life.site("index.html")


def test_nothing_of_the_publisher_is_committed(board: Published, merged: RunResult) -> None:
    """After the publication, neither main nor the branch with the evidence has an instruction of the suite."""
    del merged
    for branch in ("main", "evidence"):
        assert not [path for path in board.life.paths(branch) if path.startswith(f"fixtures/{SUITE}/")]
    assert b"owls" not in board.life.read(f"submissions/guest/{SUITE}.verdicts.jsonl")


@pytest.fixture(scope="module")
def alone(board: Published, merged: RunResult) -> RunResult:
    """A publication of a submission to `core` while the publisher's server does not have the repository."""
    del merged
    board.hide()
    opened = open_pull(board.life, "late", submission(ANSWERS))
    assert opened.run.conclusion == "success", opened.run.log
    assert "1 of 3 tasks" in opened.comment
    result = board.life.merge(opened.pull)
    assert result.conclusion == "success", result.log
    return result


def test_without_the_source_core_is_published_all_the_same(board: Published, alone: RunResult) -> None:
    """The row on `core` appears, and the published verdicts and evidence of the external suite stay."""
    assert "a suite stays missing: " in alone.jobs["derive / prepare"].log
    assert "submissions/late/core.verdicts.jsonl" in board.life.paths()
    assert f"submissions/guest/{SUITE}.verdicts.jsonl" in board.life.paths()
    assert f"submissions/guest/{SUITE}.jsonl.gz" in board.life.paths("evidence")
    assert "late" in board.life.site("board/core/index.html")
    assert "rules" in board.life.site("board/core/index.html")


def test_without_the_source_the_page_says_what_is_missing(board: Published, alone: RunResult) -> None:
    """The suite stays in the list of boards, and its page states the reason."""
    del alone
    assert f"board/{SUITE}/" in board.life.site("index.html")
    page = board.life.site(f"board/{SUITE}/index.html")
    assert "Not available in this build" in page
    assert f"the external suite {SUITE} is not fetched" in page
    assert not (board.life.actions.site / "board" / SUITE / "tasks").exists()
