"""Fields that change from run to run are found and masked on both sides. A candidate cannot forge a pass with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evaluator.judges import find_judge, volatile_fields
from evaluator.judges.consensus.nondeterministic import volatile_words
from evaluator.records import Evidence, Finding, Outcome, OutputMode, ShellState, Step, Trial
from evaluator.testing.evidence import (
    added,
    archive,
    case,
    directory,
    evidence,
    member,
    modified,
    process,
    shell,
    task,
    trial,
)

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


def judge(mode: str, references: Sequence[Any], candidate: Any, observe: Sequence[str] = ()) -> Finding:
    return find_judge("consensus").judge(case(references, candidate, task(mode, observe)))


PID = trial("pid 17 ok\n", "pid 23 ok\n")

OUTPUTS = {
    "another value of a volatile field": ("exact", [PID, PID], "pid 99 ok\n", PASS),
    "a stable field beside it is wrong": ("exact", [PID, PID], "pid 99 bad\n", FAIL),
    "a field more": ("exact", [PID, PID], "pid 99 very ok\n", FAIL),
    "the volatile field missing": ("exact", [PID, PID], "pid ok\n", FAIL),
    "lines": ("lines", [PID, PID], "pid 99 ok  \n", PASS),
    "lines, a line more": ("lines", [PID, PID], "pid 99 ok\npid 99 ok\n", FAIL),
    "set": ("set", [PID, PID], "ok 99 pid\n", PASS),
    "set, stable field wrong": ("set", [PID, PID], "pid 99 bad\n", FAIL),
    "set, volatile field missing": ("set", [PID, PID], "pid ok\n", FAIL),
    "set, a field more": ("set", [PID, PID], "pid 99 ok 5\n", UNDECIDED),
    "all that is printed is volatile": ("exact", [trial("17\n", "23\n")] * 2, "99\n", UNDECIDED),
    "all of a set is volatile": ("set", [trial("17\n", "23\n")] * 2, "99\n", UNDECIDED),
    "all of a set is volatile, nothing printed": ("set", [trial("17\n", "23\n")] * 2, "", FAIL),
    "all is volatile, a line too many": ("exact", [trial("17\n", "23\n")] * 2, "99\n99\n", FAIL),
    "other numbers of lines mask nothing": ("exact", [trial("a\nb\n", "a\n")] * 2, "a\nc\n", FAIL),
    "a line of other numbers of words": ("exact", [trial("x\na b\n", "x\na\n")] * 2, "x\nz\n", PASS),
    "order is not volatile in a set": ("set", [trial("a\nb\n", "b\na\n")] * 2, "a\nc\n", FAIL),
    "order is volatile in lines": ("lines", [trial("x\na\nb\n", "x\nb\na\n")] * 2, "x\nb\na\n", PASS),
}


@pytest.mark.parametrize(("mode", "references", "candidate", "outcome"), OUTPUTS.values(), ids=OUTPUTS)
def test_a_references_volatile_words_are_masked(
    mode: str, references: list[Trial], candidate: str, outcome: Outcome
) -> None:
    assert judge(mode, references, candidate).outcome is outcome


STEADY, ONCE = trial("5\n", "5\n"), trial("5\n")
DICE = trial("5171\n", "992\n")

FORGERIES = {
    "dice against steady references": ("exact", [STEADY, STEADY], DICE, FAIL),
    "dice against references run once": ("exact", [ONCE, ONCE], DICE, UNDECIDED),
    "dice in a set against steady references": ("set", [STEADY, STEADY], DICE, FAIL),
    "dice in a set against references run once": ("set", [ONCE, ONCE], DICE, UNDECIDED),
    "dice that come right once": ("exact", [STEADY, STEADY], trial("6\n", "5\n"), FAIL),
    "dice beside a wrong word": ("exact", [trial("n 5\n")] * 2, trial("m 4\n", "m 6\n"), FAIL),
    "a volatile field where references have one": ("exact", [PID, PID], trial("pid 1 ok\n", "pid 2 ok\n"), PASS),
    "another volatile field": ("exact", [PID, PID], trial("p1 1 ok\n", "p2 2 ok\n"), UNDECIDED),
    "wrong and steady": ("exact", [STEADY, STEADY], trial("6\n", "6\n"), FAIL),
    "right and repeated": ("exact", [STEADY, STEADY], trial("5\n", "5\n"), PASS),
}


@pytest.mark.parametrize(("mode", "references", "candidate", "outcome"), FORGERIES.values(), ids=FORGERIES)
def test_a_candidate_does_not_pass_by_its_own_volatility(
    mode: str, references: list[Trial], candidate: Trial, outcome: Outcome
) -> None:
    assert judge(mode, references, candidate).outcome is outcome


def changes(*pairs: Any, **fields: Any) -> Evidence:
    return evidence(changes=pairs, **fields)


FACTS = {
    "content of one path": (
        trial(changes(added("/srv/a", "1"), added("/srv/b")), changes(added("/srv/a", "2"), added("/srv/b"))),
        changes(added("/srv/a", "3"), added("/srv/b")),
        PASS,
    ),
    "content of another path": (
        trial(changes(added("/srv/a", "1"), added("/srv/b")), changes(added("/srv/a", "2"), added("/srv/b"))),
        changes(added("/srv/a", "3"), added("/srv/b", "x")),
        FAIL,
    ),
    "volatile content does not excuse the path": (
        trial(changes(added("/srv/a", "1")), changes(added("/srv/a", "2"))),
        changes(),
        FAIL,
    ),
    "a member's content": (
        trial(
            changes(archive("/srv/x", [member("a", "1"), member("b")])),
            changes(archive("/srv/x", [member("a", "2"), member("b")])),
        ),
        changes(archive("/srv/x", [member("a", "3"), member("b")])),
        PASS,
    ),
    "another member": (
        trial(
            changes(archive("/srv/x", [member("a", "1"), member("b")])),
            changes(archive("/srv/x", [member("a", "2"), member("b")])),
        ),
        changes(archive("/srv/x", [member("a", "3"), member("b", "x")])),
        FAIL,
    ),
    "one word of a listed file": (
        trial(changes(modified("/srv/l", "n 1\n", text=True)), changes(modified("/srv/l", "n 2\n", text=True))),
        changes(modified("/srv/l", "n 3\n", text=True)),
        PASS,
    ),
    "a path of random name, another one by the candidate": (
        trial(changes(directory("/srv/t.Ab1")), changes(directory("/srv/t.Cd2"))),
        trial(changes(directory("/srv/t.Xy3")), changes(directory("/srv/t.Zw4"))),
        UNDECIDED,
    ),
    "a path of random name against steady references": (
        trial(changes(), changes()),
        trial(changes(directory("/srv/t.Xy3")), changes(directory("/srv/t.Zw4"))),
        FAIL,
    ),
}


@pytest.mark.parametrize(("reference", "candidate", "outcome"), FACTS.values(), ids=FACTS)
def test_single_facts_of_files_are_masked(reference: Trial, candidate: Evidence | Trial, outcome: Outcome) -> None:
    finding = judge("exact", [reference, reference], candidate)
    assert finding.outcome is outcome
    assert (finding.step is Step.FILES) == (outcome is not PASS)


def test_one_variables_value_is_masked_and_no_other() -> None:
    first, again = (evidence(shell=shell({"ID": number, "X": "1"})) for number in ("1", "2"))
    reference = trial(first, again)
    right, wrong = (evidence(shell=shell({"ID": "3", "X": value})) for value in ("1", "2"))
    assert judge("none", [reference] * 2, right, ["shell"]).outcome is PASS
    assert judge("none", [reference] * 2, wrong, ["shell"]).outcome is FAIL


def test_one_process_is_masked_and_no_other() -> None:
    first, again = (evidence(processes=(process(f"worker {n}"), process("keeper"))) for n in (1, 2))
    reference = trial(first, again)
    wrong = evidence(processes=(process("worker 1"),))
    assert judge("none", [reference] * 2, first, ["processes"]).outcome is PASS
    assert judge("none", [reference] * 2, wrong, ["processes"]).outcome is FAIL


INCOMPLETE = [
    evidence(ending="timeout", shell=shell(), processes=()),
    evidence(changes_truncated=True, shell=shell(), processes=()),
    evidence(shell=ShellState(alive=False), processes=()),
    evidence(processes=()),
    evidence(shell=shell()),
]


@pytest.mark.parametrize("again", INCOMPLETE)
def test_a_second_run_that_lacks_something_masks_nothing(again: Evidence) -> None:
    shows: dict[str, Any] = {"shell": shell({"X": "1"}), "processes": (process("sleep 1"),)}
    runs = trial(evidence("1\n", changes=[added("/srv/a")], **shows), again)
    nothing = evidence("1\n", shell=shell(), processes=())
    assert judge("none", [runs] * 2, nothing, ["shell", "processes"]).outcome is FAIL
    assert volatile_fields(runs, task("exact", ["shell", "processes"])) == ()


def test_a_word_of_standard_error_is_masked() -> None:
    reference = trial(evidence(stderr="pid 1 gone\n"), evidence(stderr="pid 2 gone\n"))
    assert judge("none", [reference] * 2, evidence(stderr="pid 3 gone\n"), ["stderr"]).outcome is PASS
    assert judge("none", [reference] * 2, evidence(stderr="pid 3 lost\n"), ["stderr"]).outcome is FAIL


NAMES = [
    ("exact", (), trial("a 1\nb\n", "a 2\nb\n"), ("stdout line 1, field 2",)),
    ("exact", (), trial("a\nb 1 2\n", "a\nb 1\n"), ("stdout line 2",)),
    ("exact", (), trial("a\n", "a\nb\n"), ("stdout: 1 lines, then 2",)),
    ("exact", (), trial("a\n", "a\n"), ()),
    ("exact", (), trial("a\n"), ()),
    ("set", (), trial("a\nb\n", "b\na\n"), ()),
    ("set", (), trial("a\nb 1\n", "b 2\na\n"), ("stdout line 2, field 2",)),
    ("none", (), trial("a\n", "b\n"), ()),
    ("none", (), trial(evidence(stderr="a\n"), evidence(stderr="b\n")), ()),
    ("none", ("stderr",), trial(evidence(stderr="a\n"), evidence(stderr="b\n")), ("stderr line 1, field 1",)),
    ("none", (), trial(evidence(status=0), evidence(status=1)), ()),
    ("none", ("exit",), trial(evidence(status=0), evidence(status=1)), ("exit status",)),
    ("none", (), trial(changes(added("/a", "1")), changes(added("/a", "2"))), ("content of '/a'",)),
    (
        "none",
        (),
        trial(changes(modified("/a", "x 1", text=True)), changes(modified("/a", "x 2", text=True))),
        ("'/a' line 1, field 2",),
    ),
    (
        "none",
        (),
        trial(changes(archive("/a", [member("m", "1")])), changes(archive("/a", [member("m", "2")]))),
        ("member 'm' of '/a'",),
    ),
    ("none", (), trial(changes(added("/a")), changes()), ("'/a'", "content of '/a'", "mode of '/a'", "owner of '/a'")),
    (
        "none",
        ("shell",),
        trial(evidence(shell=shell({"X": "1"})), evidence(shell=shell({"X": "2"}))),
        ("variable 'X'",),
    ),
    (
        "none",
        ("processes",),
        trial(evidence(processes=(process("sleep 1"),)), evidence(processes=())),
        ("running process 'sleep 1' of user 0",),
    ),
]


@pytest.mark.parametrize(("mode", "observe", "runs", "names"), NAMES)
def test_volatile_fields_are_named_for_people(
    mode: str, observe: tuple[str, ...], runs: Trial, names: tuple[str, ...]
) -> None:
    assert volatile_fields(runs, task(mode, observe)) == names


def test_lines_of_a_set_are_paired_whatever_their_order() -> None:
    words = volatile_words(b"a 1\nb 2\nc 3\n", b"c 3\na 9\nb 2\n", OutputMode.SET)
    assert [str(place) for place in words] == ["line 1, field 2"]
