"""Issues: read whole, answered once, closed."""

from __future__ import annotations

import pytest

from evaluator.errors import PermissionMissingError, UsageError
from evaluator.github.comments import Written, upsert_comment
from evaluator.github.issues import Issue, close_issue, read_issue
from tests.doubles.github import Fault
from tests.github.github_bench import BOT, Bench

WRITE = {"issues": "write"}


def test_an_issue_is_read_whole(bench: Bench) -> None:
    """Whatever a stranger wrote is text."""
    body = "### Task\r\n\r\n${{ secrets.X }} `$(id)` \u202e"
    made = bench.github.issue(bench.board, bench.stranger, "::error::x", body, ["appeal", "ruling: pass"])
    assert read_issue(bench.connect(WRITE), made.number) == Issue(
        number=made.number,
        author=bench.stranger.id,
        login="stranger",
        title="::error::x",
        body=body,
        labels=frozenset({"appeal", "ruling: pass"}),
        state="open",
        is_pull=False,
        url=f"{bench.github.url}/maintainer/board/issues/{made.number}",
    )


def test_a_pull_request_is_told_from_an_issue(bench: Bench) -> None:
    """Both have numbers of one row, and labels."""
    assert read_issue(bench.connect(WRITE), bench.pull().number).is_pull


def test_an_account_and_a_body_may_be_missing(bench: Bench) -> None:
    made = bench.github.issue(bench.board, bench.stranger)
    made.user = None
    found = read_issue(bench.connect(WRITE), made.number)
    assert (found.author, found.login, found.body) == (None, "", "")


def test_a_closed_issue_stays_closed(bench: Bench) -> None:
    made = bench.github.issue(bench.board, bench.stranger)
    bench.github.faults.append(Fault(502, method="PATCH", late=True))
    for _ in range(2):
        close_issue(bench.connect(WRITE), made.number)
        assert (made.state, made.reason) == ("closed", "completed")
    close_issue(bench.connect(WRITE), made.number, "not_planned")
    assert read_issue(bench.connect(WRITE), made.number).state == "closed"
    assert made.reason == "not_planned"


def test_an_issue_is_answered_once(bench: Bench) -> None:
    made = bench.github.issue(bench.board, bench.stranger)
    written = [
        upsert_comment(bench.connect(WRITE), made.number, "appeal", text, issue=True).written
        for text in ("One.", "Two.", "Two.")
    ]
    assert written == [Written.CREATED, Written.UPDATED, Written.UNCHANGED]
    assert [each.user for each in made.comments] == [BOT]


def test_pull_requests_permission_is_none_for_issues(bench: Bench) -> None:
    """What is missing is named as the job needs it."""
    made = bench.github.issue(bench.board, bench.stranger)
    poor = bench.connect({"pull_requests": "write"})
    with pytest.raises(PermissionMissingError, match="add `issues: write`"):
        upsert_comment(poor, made.number, "appeal", "Hello.", issue=True)
    with pytest.raises(PermissionMissingError, match="add `issues: read`"):
        read_issue(poor, made.number)


def test_an_issue_that_is_not_there_is_told(bench: Bench) -> None:
    with pytest.raises(UsageError, match=r"reading issue \d: "):
        read_issue(bench.connect(WRITE), 9)
