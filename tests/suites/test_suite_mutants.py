"""The score, survivors and stale marks of a mutation test, and the file of equivalence marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.records import Equivalence, Finding, MutationReport, Outcome, Step, command_digest
from evaluator.suites.mutation_report import (
    AskedMutant,
    equivalences_path,
    mark_equivalent,
    mutants_of_task,
    read_equivalences,
    report,
    sample_of,
)
from evaluator.testing.checkouts import small_task

TASK = small_task("files-1")
OUTCOMES = {
    b"a": Outcome.FAIL,
    b"b": Outcome.TIMEOUT,
    b"c": Outcome.PASS,
    b"d": Outcome.UNDECIDED,
    b"e": Outcome.INVALID,
    b"f": Outcome.INFRA_ERROR,
    b"g": Outcome.PASS,
}


def mark(command: bytes, task: str = "files-1", digest: str = TASK.digest) -> Equivalence:
    return Equivalence(
        format=1,
        task=task,
        task_digest=digest,
        command_digest=command_digest(command),
        because="the same in all worlds",
    )


def reported(*marks: Equivalence, **fields: Any) -> MutationReport:
    findings = {
        AskedMutant(TASK, 1, "number" if command < b"d" else "glob", command): Finding(
            outcome=outcome, step=Step.OUTPUT, reason="because", variant="one"
        )
        for command, outcome in OUTCOMES.items()
    }
    return report("core", findings, marks, tasks=[TASK], **fields)


def test_mutants_come_once_and_none_is_a_reference() -> None:
    made = {b"right": [("number", b"x"), ("glob", b"right too")], b"right too": [("sign", b"x"), ("type", b"y")]}
    asked = list(mutants_of_task(TASK, lambda reference: made[reference]))
    assert [(each.reference, each.operator, each.command) for each in asked] == [(1, "number", b"x"), (2, "type", b"y")]


def test_the_score_is_what_failed_of_what_is_not_marked_equivalent() -> None:
    """The score is the share of failed mutants among all that are not marked as equivalent.

    Refused mutants and infrastructure failures are left out. Undecided mutants count as not failed.
    """
    plain, marked = reported(), reported(mark(b"c"))
    assert (plain.mutants, plain.failed, plain.survived, plain.undecided) == (5, 2, 2, 1)
    assert (plain.refused, plain.infra, plain.score) == (1, 1, 2 / 5)
    assert (marked.survived, marked.equivalent, marked.score, marked.marked_share) == (1, 1, 2 / 4, 1 / 5)


def test_survivors_are_what_passed_or_was_left_open_and_is_not_marked() -> None:
    assert [each.command for each in reported(mark(b"c")).survivors] == [b"d", b"g"]


def test_worlds_add_up_to_the_whole_and_a_task_below_nine_tenths_is_weak() -> None:
    found = reported(mark(b"c"))
    assert [(row.world, row.mutants, row.failed, row.score) for row in found.worlds] == [(TASK.world, 5, 2, 2 / 4)]
    assert [(row.task, row.survived, row.undecided) for row in found.weak] == [("files-1", 1, 1)]
    assert reported(*(mark(command) for command in (b"c", b"d", b"g"))).weak == ()


def test_a_sample_has_the_same_mutants_in_each_call() -> None:
    mutants = [AskedMutant(TASK, 1, "number", f"echo {number}".encode()) for number in range(9)]
    drawn = sample_of(mutants, 4)
    assert len(drawn) == 4
    assert sample_of(mutants[::-1], 4) == drawn[::-1]
    assert sample_of(mutants, 9) == mutants


def test_operators_add_up_to_the_whole() -> None:
    found = reported(mark(b"c"))
    assert {row.operator: (row.mutants, row.failed) for row in found.operators} == {"number": (3, 2), "glob": (2, 0)}
    assert sum(row.equivalent for row in found.operators) == found.equivalent


@pytest.mark.parametrize(
    ("stale", "reason"),
    [
        (mark(b"a"), "fails in variant one, so it is not equivalent: because"),
        (mark(b"e"), "bash does not accept it"),
        (mark(b"z"), "no reference of the task has this mutant"),
        (mark(b"c", digest="0" * 64), "the task was reworded"),
        (mark(b"c", task="files-0"), "the suite has no such task"),
    ],
)
def test_marks_that_say_nothing_any_more_are_told(stale: Equivalence, reason: str) -> None:
    (told,) = reported(stale, retired=("files-0",)).stale
    assert told.line == 1
    assert reason in told.reason


def test_marks_of_tasks_that_were_not_asked_are_left_alone() -> None:
    assert reported(mark(b"c", task="files-2")).stale == ()


@pytest.mark.parametrize(("marks", "over"), [((), False), ((mark(b"c"),), True)])
def test_more_than_a_tenth_marked_is_too_many(marks: tuple[Equivalence, ...], over: bool) -> None:
    assert reported(*marks).is_over_marked is over


def test_a_few_tasks_do_not_tell_the_share_of_the_suite() -> None:
    """The limit on marked mutants does not apply to a part of a suite, because tasks differ in equivalent mutants."""
    assert not reported(mark(b"c")).model_copy(update={"whole": False}).is_over_marked


def test_a_mark_is_written_and_read(tmp_path: Path) -> None:
    path = equivalences_path(tmp_path, "core")
    made = mark_equivalent(path, TASK, b"c", "the same in all worlds")
    mark_equivalent(path, TASK, b"d", "the other order of a set")
    assert made == mark(b"c")
    assert made in read_equivalences(path)
    assert len(read_equivalences(path)) == 2


def test_a_mark_is_not_made_twice_nor_without_a_reason(tmp_path: Path) -> None:
    path = equivalences_path(tmp_path, "core")
    mark_equivalent(path, TASK, b"c", "the same in all worlds")
    with pytest.raises(UsageError, match="already"):
        mark_equivalent(path, TASK, b"c", "said once more")
    with pytest.raises(UsageError, match="8 to 500"):
        mark_equivalent(path, TASK, b"d", " same ")


def test_every_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "equivalent.jsonl"
    good = mark(b"c").model_dump_json()
    path.write_text(f'{good}\nnonsense\n{{"format": 1}}\n{{"format": 2}}\n{good}\n')
    with pytest.raises(FormatError) as raised:
        read_equivalences(path)
    assert {problem.line for problem in raised.value.problems} == {2, 3, 4, 5}
    assert "upgrade bashboard" in str(raised.value)
    assert "marks the command of line 1 again" in str(raised.value)


def test_no_file_is_no_marks(tmp_path: Path) -> None:
    assert read_equivalences(tmp_path / "none.jsonl") == ()
