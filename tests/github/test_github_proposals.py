"""One pull request of ours for one branch, made once and changed in place."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.errors import PermissionMissingError, UsageError
from evaluator.github.comments import LONGEST, Written
from evaluator.github.proposals import Proposal, propose
from tests.doubles.github import Fault, Pull
from tests.doubles.github.responses import pull_document
from tests.github.github_bench import BOT, Bench

WRITE = {"contents": "write", "pull_requests": "write"}
OFFER: dict[str, Any] = {
    "branch": "bashboard/rescore",
    "base": "main",
    "title": "New verdicts",
    "body": "| before | after |\n",
    "files": {"submissions/old/core.verdicts.jsonl": b"{}\n"},
    "message": "New verdicts",
}


def offer(bench: Bench, permissions: dict[str, str] = WRITE, **fields: Any) -> Proposal:
    return propose(bench.connect(permissions), **{**OFFER, **fields})


def pulls(bench: Bench) -> list[Pull]:
    return [each for each in bench.board.issues.values() if each.head]


def test_a_proposal_is_one_commit_on_its_base(bench: Bench) -> None:
    made = offer(bench)
    (pull,) = pulls(bench)
    assert (made.number, made.head, made.written) == (pull.number, pull.head, Written.CREATED)
    assert made.url == f"{bench.github.url}/maintainer/board/pull/{pull.number}"
    assert (pull.title, pull.body, pull.user) == ("New verdicts", "| before | after |\n", BOT)
    assert [each.path for each in bench.board.git.changes(pull.base, pull.head)] == list(OFFER["files"])
    assert bench.board.git.resolve(f"{pull.head}^") == bench.board.git.resolve("refs/heads/main")
    bench.github.merge(bench.board, pull)
    assert bench.board.git.blob("main:submissions/old/core.verdicts.jsonl") == b"{}\n"


def test_the_same_twice_makes_one_and_writes_nothing(bench: Bench) -> None:
    """But for the tree, whose name tells that it is the same."""
    first = offer(bench)
    before = len(bench.asked())
    second = offer(bench)
    assert (second.number, second.head, second.written) == (first.number, first.head, Written.UNCHANGED)
    assert [each for each in bench.asked()[before:] if not each.startswith("GET")] == ["POST /git/trees"]


@pytest.mark.parametrize("fields", [{"title": "Other"}, {"body": "Other"}, {"files": {"other": b"x"}}])
def test_what_changed_is_changed_in_place(bench: Bench, fields: dict[str, Any]) -> None:
    """Files that are offered no longer are no longer in it."""
    first = offer(bench)
    second = offer(bench, **fields)
    assert (second.number, second.written) == (first.number, Written.UPDATED)
    (pull,) = pulls(bench)
    expected = {**OFFER, **fields}
    assert (pull.title, pull.body) == (expected["title"], expected["body"])
    assert [each.path for each in bench.board.git.changes(pull.base, pull.head)] == list(expected["files"])


def test_a_base_that_went_on_is_followed(bench: Bench) -> None:
    first = offer(bench)
    now = bench.board.git.commit("main", {"other": b"x"})
    second = offer(bench)
    assert (second.number, second.written) == (first.number, Written.UPDATED)
    assert bench.board.git.resolve(f"{second.head}^") == now


def test_a_base_that_came_back_to_the_same_files_is_followed(bench: Bench) -> None:
    """Otherwise the pull request would show what others did and undid."""
    offer(bench)
    bench.board.git.commit("main", {"other": b"x"})
    now = bench.board.git.commit("main", {"other": None})
    assert bench.board.git.resolve(f"{offer(bench).head}^") == now


@pytest.mark.parametrize("how", ["merged", "closed"])
def test_what_was_merged_or_closed_is_not_opened_again(bench: Bench, how: str) -> None:
    """The next proposal is a pull request of its own, though its branch has the same name."""
    first = offer(bench)
    (pull,) = pulls(bench)
    if how == "merged":
        bench.github.merge(bench.board, pull)
    pull.state = "closed"
    second = offer(bench, files={"other": b"x"})
    assert (second.number, second.written) == (first.number + 1, Written.CREATED)


def test_a_forks_branch_of_the_same_name_is_anothers(bench: Bench) -> None:
    theirs = bench.pull("bashboard/rescore", title="New verdicts")
    made = offer(bench)
    assert (made.number != theirs.number, made.written) == (True, Written.CREATED)
    assert theirs.body is None


def test_a_pull_request_of_another_repository_is_never_changed(bench: Bench) -> None:
    """Even if GitHub named it."""
    theirs = bench.pull("bashboard/rescore", title="New verdicts")
    document = [pull_document(bench.github.url, bench.board, theirs)]
    bench.github.faults.append(Fault(200, method="GET", path="/pulls", document=document))
    assert offer(bench).written == Written.CREATED
    assert theirs.body is None


LOST = [("POST", "/pulls"), ("POST", "/git/refs"), ("POST", "/git/commits")]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("method", "path"), LOST)
def test_a_lost_answer_makes_no_second_one(bench: Bench, method: str, path: str, late: bool) -> None:
    bench.github.faults.append(Fault(502, method=method, path=path, late=late))
    made = offer(bench)
    assert bench.github.faults == []
    assert [(each.number, each.head) for each in pulls(bench)] == [(made.number, made.head)]


def test_nothing_to_propose_is_wrong_use(bench: Bench) -> None:
    with pytest.raises(UsageError, match="'main' holds these files already"):
        offer(bench, files={"README.md": b"A board.\n"})
    with pytest.raises(UsageError, match="no branch 'none' to propose to"):
        offer(bench, base="none")
    assert pulls(bench) == []


def test_a_body_that_is_too_long_is_cut_and_says_so(bench: Bench) -> None:
    offer(bench, body="x" * (LONGEST + 1))
    (pull,) = pulls(bench)
    assert pull.body is not None
    assert len(pull.body) == LONGEST
    assert pull.body.endswith("This text was cut: GitHub takes no longer ones.*\n")
    assert offer(bench, body="x" * (LONGEST + 1)).written == Written.UNCHANGED


def test_a_setting_that_forbids_it_is_named(bench: Bench) -> None:
    """It is off in a new repository, and no permission of a job helps."""
    bench.board.actions_propose = False
    with pytest.raises(PermissionMissingError, match="Settings > Actions > General > Workflow permissions"):
        offer(bench)
