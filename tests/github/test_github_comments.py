"""One sticky comment: found again, changed in place, never another's."""

from __future__ import annotations

import pytest

from evaluator.errors import GitHubError
from evaluator.github.comments import LONGEST, Written, amend_comment, marker, upsert_comment
from tests.doubles.github import Fault
from tests.github.github_bench import BOT, Bench


def write(bench: Bench, number: int, text: str) -> Written:
    return upsert_comment(bench.connect(), number, "report", text).written


def test_there_is_one_comment_whatever_is_said(bench: Bench) -> None:
    """Made, changed in place, and not written where it says so already."""
    pull = bench.pull()
    written = [
        write(bench, pull.number, text) for text in ("One.", "Two.", "Two.", f"{marker('report')}\nTwo.\n\n", "One.")
    ]
    assert written == [Written.CREATED, Written.UPDATED, Written.UNCHANGED, Written.UNCHANGED, Written.UPDATED]
    assert [each.body for each in pull.comments] == [f"{marker('report')}\nOne.\n"]
    assert [each.split()[0] for each in bench.asked() if not each.startswith("GET")] == ["POST", "PATCH", "PATCH"]


def test_a_forged_marker_is_nobodys_but_its_authors(bench: Bench) -> None:
    """Neither a person's comment is changed, nor one of an account that is gone, nor what the bot says elsewhere."""
    pull = bench.pull()
    bench.github.comment(pull, bench.stranger, f"{marker('report')}\nAll is well.")
    bench.github.comment(pull, BOT, f"You wrote: {marker('report')}")
    bench.github.comment(pull, bench.github.user("github-actions"), marker("report"))
    bench.github.comment(pull, BOT, marker("reporter"))
    bench.github.comment(pull, None, marker("report"))
    before = [each.body for each in pull.comments]
    assert write(bench, pull.number, "Hello.") == Written.CREATED
    assert [each.body for each in pull.comments[:-1]] == before
    assert len(pull.comments) == 6


def test_a_comment_is_found_behind_a_hundred_others(bench: Bench) -> None:
    pull = bench.pull()
    for number in range(230):
        bench.github.comment(pull, bench.stranger, f"Comment {number}")
    assert [write(bench, pull.number, text) for text in ("One.", "Two.")] == [Written.CREATED, Written.UPDATED]
    assert len(pull.comments) == 231


def test_an_answer_that_was_lost_makes_no_second_comment(bench: Bench) -> None:
    """GitHub may have obeyed and then failed, so the comment is looked for before it is written again."""
    pull = bench.pull()
    bench.github.faults += [Fault(502, method="POST"), Fault(502, method="POST", late=True)]
    assert write(bench, pull.number, "Hello.") == Written.CREATED
    assert len(pull.comments) == 1
    assert bench.asked("POST") == [f"POST /issues/{pull.number}/comments"] * 2


def test_a_comment_that_fails_for_ever_is_an_error(bench: Bench) -> None:
    pull = bench.pull()
    bench.github.faults += [Fault(500, method="POST")] * 4
    with pytest.raises(GitHubError, match="GitHub answered 500"):
        write(bench, pull.number, "Hello.")
    assert pull.comments == []


def test_a_text_that_is_too_long_is_cut_and_says_so(bench: Bench) -> None:
    pull = bench.pull()
    text = "`${{ secrets.X }}` ü\r\n" * 4_000
    assert [write(bench, pull.number, text) for _ in range(2)] == [Written.CREATED, Written.UNCHANGED]
    assert len(pull.comments[0].body) == LONGEST
    assert pull.comments[0].body.endswith("GitHub takes no longer ones.*\n")


def test_what_is_amended_is_there_already(bench: Bench) -> None:
    """Nothing is said where nothing of that name was said before."""
    pull = bench.pull()
    assert amend_comment(bench.connect(), pull.number, "report", "Gone.") is None
    assert pull.comments == []
    write(bench, pull.number, "One.")
    amended = [amend_comment(bench.connect(), pull.number, "report", "Gone.") for _ in range(2)]
    assert [each and each.written for each in amended] == [Written.UPDATED, Written.UNCHANGED]
    assert [each.body for each in pull.comments] == [f"{marker('report')}\nGone.\n"]
