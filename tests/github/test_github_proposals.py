"""The project keeps one pull request for one branch. It is opened once and then updated."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.errors import PermissionMissingError, UsageError
from evaluator.github.comments import LONGEST, WriteResult
from evaluator.github.proposals import Proposal, propose
from tests.doubles.github import InjectedFault, Pull
from tests.doubles.github.responses import pull_document
from tests.github.github_harness import BOT, GithubHarness

WRITE = {"contents": "write", "pull_requests": "write"}
OFFER: dict[str, Any] = {
    "branch": "bashboard/rescore",
    "base": "main",
    "title": "New verdicts",
    "body": "| before | after |\n",
    "files": {"submissions/old/core.verdicts.jsonl": b"{}\n"},
    "message": "New verdicts",
}


def offer(harness: GithubHarness, permissions: dict[str, str] = WRITE, **fields: Any) -> Proposal:
    return propose(harness.connect(permissions), **{**OFFER, **fields})


def pulls(harness: GithubHarness) -> list[Pull]:
    return [each for each in harness.board.issues.values() if each.head]


def test_a_proposal_is_one_commit_on_its_base(harness: GithubHarness) -> None:
    made = offer(harness)
    (pull,) = pulls(harness)
    assert (made.number, made.head, made.written) == (pull.number, pull.head, WriteResult.CREATED)
    assert made.url == f"{harness.github.url}/maintainer/board/pull/{pull.number}"
    assert (pull.title, pull.body, pull.user) == ("New verdicts", "| before | after |\n", BOT)
    assert [each.path for each in harness.board.git.changes(pull.base, pull.head)] == list(OFFER["files"])
    assert harness.board.git.resolve(f"{pull.head}^") == harness.board.git.resolve("refs/heads/main")
    harness.github.merge(harness.board, pull)
    assert harness.board.git.blob("main:submissions/old/core.verdicts.jsonl") == b"{}\n"


def test_the_same_twice_makes_one_and_writes_nothing(harness: GithubHarness) -> None:
    """A second proposal of the same files sends only the tree, because the tree's name shows that nothing changed."""
    first = offer(harness)
    before = len(harness.asked())
    second = offer(harness)
    assert (second.number, second.head, second.written) == (first.number, first.head, WriteResult.UNCHANGED)
    assert [each for each in harness.asked()[before:] if not each.startswith("GET")] == ["POST /git/trees"]


@pytest.mark.parametrize("fields", [{"title": "Other"}, {"body": "Other"}, {"files": {"other": b"x"}}])
def test_what_changed_is_changed_in_place(harness: GithubHarness, fields: dict[str, Any]) -> None:
    """A changed proposal updates the pull request. Files that the new proposal omits are removed from it."""
    first = offer(harness)
    second = offer(harness, **fields)
    assert (second.number, second.written) == (first.number, WriteResult.UPDATED)
    (pull,) = pulls(harness)
    expected = {**OFFER, **fields}
    assert (pull.title, pull.body) == (expected["title"], expected["body"])
    assert [each.path for each in harness.board.git.changes(pull.base, pull.head)] == list(expected["files"])


def test_a_base_that_went_on_is_followed(harness: GithubHarness) -> None:
    first = offer(harness)
    now = harness.board.git.commit("main", {"other": b"x"})
    second = offer(harness)
    assert (second.number, second.written) == (first.number, WriteResult.UPDATED)
    assert harness.board.git.resolve(f"{second.head}^") == now


def test_a_base_that_came_back_to_the_same_files_is_followed(harness: GithubHarness) -> None:
    """The commit moves to the new head of main, so the pull request shows no change that others reverted."""
    offer(harness)
    harness.board.git.commit("main", {"other": b"x"})
    now = harness.board.git.commit("main", {"other": None})
    assert harness.board.git.resolve(f"{offer(harness).head}^") == now


@pytest.mark.parametrize("how", ["merged", "closed"])
def test_what_was_merged_or_closed_is_not_opened_again(harness: GithubHarness, how: str) -> None:
    """After a merge or a close, the next proposal is a new pull request with the same branch name."""
    first = offer(harness)
    (pull,) = pulls(harness)
    if how == "merged":
        harness.github.merge(harness.board, pull)
    pull.state = "closed"
    second = offer(harness, files={"other": b"x"})
    assert (second.number, second.written) == (first.number + 1, WriteResult.CREATED)


def test_a_forks_branch_of_the_same_name_is_anothers(harness: GithubHarness) -> None:
    theirs = harness.pull("bashboard/rescore", title="New verdicts")
    made = offer(harness)
    assert (made.number != theirs.number, made.written) == (True, WriteResult.CREATED)
    assert theirs.body is None


def test_a_pull_request_of_another_repository_is_never_changed(harness: GithubHarness) -> None:
    """A fork's pull request stays unchanged even if GitHub lists it for this branch."""
    theirs = harness.pull("bashboard/rescore", title="New verdicts")
    document = [pull_document(harness.github.url, harness.board, theirs)]
    harness.github.faults.append(InjectedFault(200, method="GET", path="/pulls", document=document))
    assert offer(harness).written == WriteResult.CREATED
    assert theirs.body is None


LOST = [("POST", "/pulls"), ("POST", "/git/refs"), ("POST", "/git/commits")]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("method", "path"), LOST)
def test_a_lost_answer_makes_no_second_one(harness: GithubHarness, method: str, path: str, late: bool) -> None:
    harness.github.faults.append(InjectedFault(502, method=method, path=path, late=late))
    made = offer(harness)
    assert harness.github.faults == []
    assert [(each.number, each.head) for each in pulls(harness)] == [(made.number, made.head)]


def test_nothing_to_propose_is_wrong_use(harness: GithubHarness) -> None:
    with pytest.raises(UsageError, match="'main' already holds these files"):
        offer(harness, files={"README.md": b"A board.\n"})
    with pytest.raises(UsageError, match="no branch 'none' to propose to"):
        offer(harness, base="none")
    assert pulls(harness) == []


def test_a_body_that_is_too_long_is_cut_and_says_so(harness: GithubHarness) -> None:
    offer(harness, body="x" * (LONGEST + 1))
    (pull,) = pulls(harness)
    assert pull.body is not None
    assert len(pull.body) == LONGEST
    assert pull.body.endswith("This text was cut, because GitHub accepts no longer text.*\n")
    assert offer(harness, body="x" * (LONGEST + 1)).written == WriteResult.UNCHANGED


def test_a_setting_that_forbids_it_is_named(harness: GithubHarness) -> None:
    """The error names the repository setting. It is off in a new repository, and no permission of a job replaces it."""
    harness.board.actions_propose = False
    with pytest.raises(PermissionMissingError, match="Settings > Actions > General > Workflow permissions"):
        offer(harness)
