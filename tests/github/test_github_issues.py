"""The client reads an issue with all its fields and writes one answer to it."""

from __future__ import annotations

import pytest

from evaluator.errors import PermissionMissingError, UsageError
from evaluator.github.comments import WriteResult, upsert_comment
from evaluator.github.issues import Issue, read_issue
from tests.github.github_harness import BOT, GithubHarness

WRITE = {"issues": "write"}


def test_an_issue_is_read_whole(harness: GithubHarness) -> None:
    """The issue's text is untrusted and is returned unchanged."""
    body = "### Task\r\n\r\n${{ secrets.X }} `$(id)` \u202e"
    made = harness.github.issue(harness.board, harness.stranger, "::error::x", body, ["appeal", "ruling: pass"])
    assert read_issue(harness.connect(WRITE), made.number) == Issue(
        number=made.number,
        author=harness.stranger.id,
        login="stranger",
        title="::error::x",
        body=body,
        labels=frozenset({"appeal", "ruling: pass"}),
        state="open",
        is_pull=False,
        url=f"{harness.github.url}/maintainer/board/issues/{made.number}",
    )


def test_a_pull_request_is_told_from_an_issue(harness: GithubHarness) -> None:
    """Pull requests and issues share one sequence of numbers, so `is_pull` is set for a pull request."""
    assert read_issue(harness.connect(WRITE), harness.pull().number).is_pull


def test_an_account_and_a_body_may_be_missing(harness: GithubHarness) -> None:
    made = harness.github.issue(harness.board, harness.stranger)
    made.user = None
    found = read_issue(harness.connect(WRITE), made.number)
    assert (found.author, found.login, found.body) == (None, "", "")


def test_an_issue_is_answered_once(harness: GithubHarness) -> None:
    made = harness.github.issue(harness.board, harness.stranger)
    written = [
        upsert_comment(harness.connect(WRITE), made.number, "appeal", text, issue=True).written
        for text in ("One.", "Two.", "Two.")
    ]
    assert written == [WriteResult.CREATED, WriteResult.UPDATED, WriteResult.UNCHANGED]
    assert [each.user for each in made.comments] == [BOT]


def test_pull_requests_permission_is_none_for_issues(harness: GithubHarness) -> None:
    """The permission for pull requests does not cover issues, and the error names the missing permission."""
    made = harness.github.issue(harness.board, harness.stranger)
    poor = harness.connect({"pull_requests": "write"})
    with pytest.raises(PermissionMissingError, match="add `issues: write`"):
        upsert_comment(poor, made.number, "appeal", "Hello.", issue=True)
    with pytest.raises(PermissionMissingError, match="add `issues: read`"):
        read_issue(poor, made.number)


def test_an_issue_that_is_not_there_is_told(harness: GithubHarness) -> None:
    with pytest.raises(UsageError, match=r"reading issue \d: "):
        read_issue(harness.connect(WRITE), 9)
