"""Usable references, and the limits of a single reference."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.judges import find_judge
from evaluator.judges.consensus.single_reference import Printed, has_word_overlap
from evaluator.records import Ending, Finding, Outcome, Step
from evaluator.testing.evidence import added, case, evidence, task

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED
NOT_FOUND = evidence("", status=1, stderr="chmod: cannot access '/home/x': No such file\n")
NOTHING = evidence("")


def judge(references: list[Any], candidate: Any, mode: str = "set", **fields: Any) -> Finding:
    return find_judge("consensus").judge(case(references, candidate, task(mode), **fields))


SHOWS_NOTHING = {
    "nothing for nothing": ([NOTHING, NOTHING], NOTHING, UNDECIDED),
    "something for nothing": ([NOTHING, NOTHING], evidence("a\n"), FAIL),
    "an effect for nothing": ([NOTHING, NOTHING], evidence("", changes=[added("/srv/x")]), FAIL),
    "nothing in one variant only": ([{"a": "1\n", "b": ""}] * 2, {"a": "1\n", "b": ""}, PASS),
    "nothing in every variant": ([{"a": "", "b": ""}] * 2, {"a": "", "b": ""}, UNDECIDED),
    "the same complaint": ([NOT_FOUND], NOT_FOUND, UNDECIDED),
    "another complaint": ([NOT_FOUND], evidence("", status=1, stderr="no crontab for root\n"), UNDECIDED),
    "what only complains is no reference": ([NOT_FOUND, "a\n"], NOT_FOUND, FAIL),
    "a missing file without a name": ([NOT_FOUND], evidence("", status=1, stderr="No such file\n"), UNDECIDED),
    "the other reference counts": ([NOT_FOUND, "a\n"], "a\n", PASS),
    "a complaint beside output": ([evidence("a\n", status=1, stderr="one was not readable\n")], "b\n", FAIL),
    "nothing found, without complaint": ([evidence("", status=1), evidence("", status=1)], "a\n", FAIL),
    "a limit": ([evidence("", ending=Ending.TIMEOUT)], NOTHING, UNDECIDED),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), SHOWS_NOTHING.values(), ids=SHOWS_NOTHING)
def test_what_shows_nothing_proves_nothing(references: list[Any], candidate: Any, outcome: Outcome) -> None:
    assert judge(references, candidate).outcome is outcome


def test_a_references_own_bytes_pass_whatever_they_show() -> None:
    finding = judge([NOT_FOUND, NOTHING], NOTHING, command=b"reference 2")
    assert (finding.outcome, finding.step) == (PASS, Step.EQUAL)
    assert finding.reason == "is reference 2, byte for byte"


def test_what_is_observed_is_always_something() -> None:
    seen = case([evidence("", status=1)] * 2, evidence("", status=2), task("none", ["exit"]))
    assert find_judge("consensus").judge(seen).outcome is PASS


ONE_REFERENCE = {
    "fields less": ("441 notes.txt\n", "441\n", UNDECIDED),
    "paths spelled otherwise": ("/srv/dir/mysql\n", "dir/mysql\n", UNDECIDED),
    "numbers among the names": ("init---pstree\n", "init(1)---pstree(2)\n", UNDECIDED),
    "the same rows": ("b 2\na 1\n", "1 a\n2 b\n", PASS),
    "another value": ("441\n", "442\n", FAIL),
    "another thing": ("alpha beta\ngamma delta\n", "one two three\n", FAIL),
    "one word out of many": ("bin boot dev etc home lib media mnt opt\n", "etc\n", FAIL),
    "nothing": ("alpha\n", "", FAIL),
}


@pytest.mark.parametrize(("reference", "candidate", "outcome"), ONE_REFERENCE.values(), ids=ONE_REFERENCE)
def test_one_reference_does_not_fail_what_may_be_another_layout(
    reference: str, candidate: str, outcome: Outcome
) -> None:
    assert judge([reference], candidate).outcome is outcome


@pytest.mark.parametrize(("reference", "candidate"), [(each[0], each[1]) for each in ONE_REFERENCE.values()])
def test_where_two_references_teach_the_layout_it_is_not_excused(reference: str, candidate: str) -> None:
    assert judge([reference, reference], candidate).outcome is not UNDECIDED


@pytest.mark.parametrize("mode", ["exact", "lines"])
def test_where_the_bytes_are_asked_for_no_layout_is_another(mode: str) -> None:
    assert judge(["441 notes.txt\n"], "441\n", mode).outcome is FAIL


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (b"alpha beta", b"beta, alpha!", True),
        (b"", b"", False),
        (b"-- !", b"-- !", False),
        (b"\xff\xfe", b"\xff", False),
        ("größe 1".encode(), "größe 2".encode(), False),
        ("größe 1 x".encode(), "größe=1".encode(), True),
    ],
)
def test_words_are_letters_or_digits(left: bytes, right: bytes, same: bool) -> None:
    ours, theirs = Printed(left, b""), Printed(right, b"")
    assert has_word_overlap(ours, theirs) is has_word_overlap(theirs, ours) is same


def test_a_commands_own_words_say_nothing() -> None:
    """A command that lists processes appears in its own output, so words of the command do not count."""
    left, right = Printed(b"init\n `-pstree -a\n", b"pstree -a"), Printed(b"PID CMD\n1 init\n2 ps f\n", b"ps f")
    assert has_word_overlap(left, right)
    assert not has_word_overlap(Printed(b"/srv/a\n", b"find /srv"), Printed(b"/srv/b\n", b"ls -d /srv/*"))


@pytest.mark.parametrize(
    ("changes", "outcome"), [([added("/srv/x")], UNDECIDED), ([added("/tmp/x")], FAIL), ([], FAIL)]
)
def test_what_a_lone_reference_prints_beside_its_changes_may_be_chatter(changes: list[Any], outcome: Outcome) -> None:
    reference, candidate = evidence("x: done\n", changes=changes), evidence("", changes=changes)
    assert judge([reference], candidate).outcome is outcome
    assert judge([reference, reference], candidate).outcome is FAIL


def complains(path: str, status: int = 1) -> Any:
    return evidence("", status=status, stderr=f"cat: {path}: No such file or directory\n")


ELSEWHERE = {
    "a file that nobody speaks of": ("other.txt", "cat other.txt", FAIL),
    "below the folder that the commands start in": ("./sub/other.txt", "cat ./sub/other.txt", FAIL),
    "the task's own file": ("/srv/notes.txt", "cat /srv/notes.txt", UNDECIDED),
    "the reference's own file": ("/home/x", "cat /home/x", UNDECIDED),
    "a folder of the system": ("/sys/devices/cpu", "cat /sys/devices/cpu", UNDECIDED),
    "a file that the command does not name": ("other.txt", "cat $(ls)", UNDECIDED),
}


@pytest.mark.parametrize(("path", "command", "outcome"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_asking_for_a_file_that_nobody_speaks_of_fails(path: str, command: str, outcome: Outcome) -> None:
    seen = case(
        [NOT_FOUND], complains(path), task("set", nl="Show notes.txt"), command=command.encode(), cwd="/home/me"
    )
    assert find_judge("consensus").judge(seen).outcome is outcome


def test_a_complaint_beside_success_is_none() -> None:
    seen = case([NOT_FOUND], complains("other.txt", 0), task("set"), command=b"cat other.txt || true", cwd="/home/me")
    assert find_judge("consensus").judge(seen).outcome is UNDECIDED


def test_a_reference_in_another_spelling_passes_whatever_it_shows() -> None:
    finding = judge([NOT_FOUND], NOT_FOUND, command=b"'reference' \"1\"")
    assert (finding.outcome, finding.reason) == (PASS, "is reference 1, word for word")
    assert judge([NOT_FOUND], NOT_FOUND, command=b"reference 10").outcome is UNDECIDED
