"""The commands that a comment recommends fix the problem, as tested in a real clone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.doubles.github import GitHubServer
from tests.github.github_harness import GithubHarness
from tests.github.preview_examples import pieces
from tests.github.report_harness import SERVER, TASKS, VERDICTS, ReportHarness

ANSWER = {TASKS[0].id: ["other"]}
PERSON = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportHarness]:
    folder = tmp_path_factory.mktemp("board")
    with GitHubServer(folder) as github:
        yield ReportHarness(GithubHarness(github), folder)


def typed(board: ReportHarness, branch: str, lines: list[str]) -> None:
    """Run these commands in a clone of the fork, on a branch. The repository's address resolves to the double."""
    clone = board.root / f"clone-{branch}"
    origin, hosted = board.harness.fork.git.folder, board.harness.board.git.folder
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(board.root), "GIT_CONFIG_NOSYSTEM": "1", **PERSON}

    def run(*words: str) -> None:
        done = subprocess.run(words, cwd=clone, env=environ, capture_output=True, check=False)
        assert done.returncode == 0, (words, done.stderr)

    clone.mkdir()
    run("git", "clone", "--quiet", "--branch", branch, str(origin), ".")
    run("git", "config", f"url.{hosted}.insteadOf", f"{SERVER}/maintainer/board")
    for line in lines:
        run("bash", "-euc", line)


def case(board: ReportHarness, name: str) -> Mapping[str, Any]:
    """Return the files of a pull request."""
    mine = board.submission("mine")
    return {
        "verdicts-edited": {"submissions/old/tiny.verdicts.jsonl": b"{}\n", **board.submission("old", ANSWER)},
        "verdicts-removed": {"submissions/old/tiny.verdicts.jsonl": None, **board.submission("old", ANSWER)},
        "verdicts-added": {**mine, "submissions/mine/tiny.verdicts.jsonl": VERDICTS},
        "half-withdrawn": {f"submissions/old/{each}": None for each in ("submission.toml", "tiny.jsonl")},
        "anothers-changed": board.submission("best", ANSWER),
        "anothers-name": board.submission("once"),
        "the-judge-too": {**mine, "evaluator/judges/exact.py": b"x\n"},
        "two-of-them": {**mine, **board.submission("second")},
    }[name]


NAMES = ("verdicts-edited", "verdicts-removed", "verdicts-added", "half-withdrawn")
APART = ("anothers-changed", "anothers-name", "the-judge-too", "two-of-them")


@pytest.mark.parametrize("name", [*NAMES, *APART])
def test_what_is_to_be_typed_mends_it(board: ReportHarness, name: str) -> None:
    """The fix is on the branch itself, or on a new branch that replaces it."""
    pull = board.offer(case(board, name), name)
    refused = board.answer(pull, dry_run=True)
    assert "valid" not in refused.labels
    (fence, *_) = (each.content for each in pieces(refused.text) if each.kind == "fence")
    own = "mine" if name == "two-of-them" else "a-name-of-mine"
    typed(board, name, fence.replace("your-system", own).splitlines())
    alone = board.harness.fork.git.find("refs/heads/submission-alone")
    mended = board.github.open_pull(board.harness.board, board.harness.fork, "submission-alone") if alone else pull
    board.github.follow()
    board.github.now = board.github.now.replace(year=board.github.now.year + 1)
    assert "valid" in board.answer(mended, dry_run=True).labels
    if alone:
        (board.harness.fork.git.folder / "refs" / "heads" / "submission-alone").unlink()
        mended.state = "closed"
