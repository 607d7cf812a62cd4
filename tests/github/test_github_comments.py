"""A report has one comment per pull request. It is found again and updated, and no other comment is changed."""

from __future__ import annotations

import pytest

from evaluator.errors import GitHubError
from evaluator.github.comments import LONGEST, WriteResult, marker, update_if_present, upsert_comment
from tests.doubles.github import InjectedFault
from tests.github.github_harness import BOT, GithubHarness


def write(harness: GithubHarness, number: int, text: str) -> WriteResult:
    return upsert_comment(harness.connect(), number, "report", text).written


def test_there_is_one_comment_whatever_is_said(harness: GithubHarness) -> None:
    """The comment is created once, then updated, and not written if its text is already the same."""
    pull = harness.pull()
    written = [
        write(harness, pull.number, text) for text in ("One.", "Two.", "Two.", f"{marker('report')}\nTwo.\n\n", "One.")
    ]
    assert written == [
        WriteResult.CREATED,
        WriteResult.UPDATED,
        WriteResult.UNCHANGED,
        WriteResult.UNCHANGED,
        WriteResult.UPDATED,
    ]
    assert [each.body for each in pull.comments] == [f"{marker('report')}\nOne.\n"]
    assert [each.split()[0] for each in harness.asked() if not each.startswith("GET")] == ["POST", "PATCH", "PATCH"]


def test_a_forged_marker_is_nobodys_but_its_authors(harness: GithubHarness) -> None:
    """Only a comment of the bot that begins with the marker is updated, so a copied marker changes no other comment."""
    pull = harness.pull()
    harness.github.comment(pull, harness.stranger, f"{marker('report')}\nAll is well.")
    harness.github.comment(pull, BOT, f"You wrote: {marker('report')}")
    harness.github.comment(pull, harness.github.user("github-actions"), marker("report"))
    harness.github.comment(pull, BOT, marker("reporter"))
    harness.github.comment(pull, None, marker("report"))
    before = [each.body for each in pull.comments]
    assert write(harness, pull.number, "Hello.") == WriteResult.CREATED
    assert [each.body for each in pull.comments[:-1]] == before
    assert len(pull.comments) == 6


def test_a_comment_is_found_behind_a_hundred_others(harness: GithubHarness) -> None:
    pull = harness.pull()
    for number in range(230):
        harness.github.comment(pull, harness.stranger, f"Comment {number}")
    assert [write(harness, pull.number, text) for text in ("One.", "Two.")] == [
        WriteResult.CREATED,
        WriteResult.UPDATED,
    ]
    assert len(pull.comments) == 231


def test_an_answer_that_was_lost_makes_no_second_comment(harness: GithubHarness) -> None:
    """GitHub may create the comment and then answer 502, so the client looks for the comment before it writes again."""
    pull = harness.pull()
    harness.github.faults += [InjectedFault(502, method="POST"), InjectedFault(502, method="POST", late=True)]
    assert write(harness, pull.number, "Hello.") == WriteResult.CREATED
    assert len(pull.comments) == 1
    assert harness.asked("POST") == [f"POST /issues/{pull.number}/comments"] * 2


def test_a_comment_that_fails_for_ever_is_an_error(harness: GithubHarness) -> None:
    pull = harness.pull()
    harness.github.faults += [InjectedFault(500, method="POST")] * 4
    with pytest.raises(GitHubError, match="GitHub answered 500"):
        write(harness, pull.number, "Hello.")
    assert pull.comments == []


def test_a_text_that_is_too_long_is_cut_and_says_so(harness: GithubHarness) -> None:
    pull = harness.pull()
    text = "`${{ secrets.X }}` ü\r\n" * 4_000
    assert [write(harness, pull.number, text) for _ in range(2)] == [WriteResult.CREATED, WriteResult.UNCHANGED]
    assert len(pull.comments[0].body) == LONGEST
    assert pull.comments[0].body.endswith("GitHub accepts no longer text.*\n")


def test_what_is_amended_is_there_already(harness: GithubHarness) -> None:
    """`update_if_present` creates no comment. It only changes one that exists."""
    pull = harness.pull()
    assert update_if_present(harness.connect(), pull.number, "report", "Gone.") is None
    assert pull.comments == []
    write(harness, pull.number, "One.")
    amended = [update_if_present(harness.connect(), pull.number, "report", "Gone.") for _ in range(2)]
    assert [each and each.written for each in amended] == [WriteResult.UPDATED, WriteResult.UNCHANGED]
    assert [each.body for each in pull.comments] == [f"{marker('report')}\nGone.\n"]
