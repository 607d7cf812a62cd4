"""Labelled pairs are made from tasks, and figures are computed from the verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evaluator.judges.labelled_pairs import (
    JudgedPair,
    Origin,
    Pair,
    hardest_pairs,
    judge_metrics,
    near_miss_pairs,
    parts_of,
    table_4_pairs,
)
from evaluator.records import Finding, JudgeFigures, Mistake, Outcome, PairKind, Part, Task
from evaluator.testing.evidence import task

PASS, FAIL, UNDECIDED, INFRA = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED, Outcome.INFRA_ERROR


def tasks(number: int, references: int = 2) -> list[Task]:
    return [
        task(id=f"t-{n:02}", references=tuple(f"{n} {each}".encode() for each in range(references)))
        for n in range(number)
    ]


def test_table_4_judges_the_second_of_two_references_by_the_first() -> None:
    found = [pair for pair in table_4_pairs(tasks(30)) if pair.equivalent]
    assert found[3] == Pair("t-03", b"3 1", 1, True)
    assert len(found) == 30


def test_the_wrong_command_is_that_of_the_task_ten_further_on() -> None:
    found = [pair for pair in table_4_pairs(tasks(30)) if not pair.equivalent]
    assert (found[3], found[25]) == (Pair("t-03", b"13 1", 1, False), Pair("t-25", b"5 1", 1, False))


def test_of_three_references_each_is_judged_by_the_others() -> None:
    found = list(table_4_pairs(tasks(1, references=3)))
    assert found == [Pair("t-00", f"0 {n}".encode(), n, True) for n in range(3)]


def test_tasks_are_numbered_by_their_ids_and_not_by_their_files() -> None:
    assert list(table_4_pairs(tasks(30)[::-1])) == list(table_4_pairs(tasks(30)))


def test_near_misses_are_judged_by_all_references() -> None:
    given = [task(references=(b"a", b"b"), near_misses=(b"c", b"d"))]
    assert list(near_miss_pairs(given)) == [Pair("task-1", each, None, False) for each in (b"c", b"d")]


@pytest.mark.parametrize(
    ("suite", "parts"),
    [
        ("core", [Part.WRITTEN_FROM, Part.WRITTEN_FROM, Part.WRITTEN_FROM]),
        ("nl2sh-alfa", [Part.WRITTEN_FROM, Part.HELD_BACK, Part.WRITTEN_FROM]),
        ("elsewhere", [Part.HELD_BACK, Part.HELD_BACK, Part.HELD_BACK]),
    ],
)
def test_figures_on_what_rules_were_written_from_are_told_apart(suite: str, parts: list[Part]) -> None:
    assert list(parts_of(suite, tasks(3)).values()) == parts


ORIGIN = Origin("judge", 1, "tiny", "1.0.0", PairKind.TABLE_4)


def judged(*outcomes: tuple[bool, Outcome], seconds: float = 0.0) -> list[JudgedPair]:
    return [JudgedPair(Pair(f"t-{n:02}", b"", None, label), each, seconds) for n, (label, each) in enumerate(outcomes)]


def figure(found: Sequence[JudgedPair]) -> JudgeFigures:
    (one,) = judge_metrics(ORIGIN, found, {})
    return one


def test_undecided_counts_as_fail_and_is_told() -> None:
    found = figure(
        judged((True, PASS), (True, PASS), (True, UNDECIDED), (True, FAIL), (False, PASS), (False, UNDECIDED))
    )
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == 0.5
    assert found.f1 == pytest.approx(4 / 7)
    assert (found.accuracy, found.accuracy_decided, found.undecided) == (0.5, 0.5, 2)


@pytest.mark.parametrize("outcome", [FAIL, Outcome.TIMEOUT, Outcome.INVALID, Outcome.UNANSWERED])
def test_whatever_does_not_pass_and_is_decided_failed(outcome: Outcome) -> None:
    found = figure(judged((True, outcome), (False, outcome)))
    assert (found.equivalent_failed, found.wrong_failed, found.accuracy_decided) == (1, 1, 0.5)


def test_our_failures_are_in_no_figure() -> None:
    found = figure(judged((True, PASS), (True, INFRA), (False, INFRA)))
    assert (found.infra_errors, found.equivalent, found.wrong, found.accuracy) == (2, 1, 0, 1.0)


def test_what_nothing_is_known_of_has_no_rate() -> None:
    found = figure(judged((False, FAIL)))
    assert (found.precision, found.recall, found.f1, found.accuracy) == (None, None, None, 1.0)


def test_each_part_of_the_tasks_has_its_own_row() -> None:
    parts = {"t-00": Part.WRITTEN_FROM, "t-01": Part.HELD_BACK, "t-02": Part.WRITTEN_FROM}
    found = judge_metrics(ORIGIN, judged((True, PASS), (True, FAIL), (False, PASS), seconds=0.5), parts, usd=2.0)
    assert [(each.part, each.equivalent, each.wrong, each.seconds, each.usd) for each in found] == [
        (Part.ALL, 2, 1, 1.5, 2.0),
        (Part.WRITTEN_FROM, 1, 1, 1.0, 0.0),
        (Part.HELD_BACK, 1, 0, 0.5, 0.0),
    ]


def mistake(number: int, equivalent: bool, outcome: Outcome, judge: str = "ours", **fields: Any) -> Mistake:
    values = {"suite": "tiny", "kind": PairKind.TABLE_4, "part": Part.HELD_BACK, "command": b"x", **fields}
    finding = Finding(outcome=outcome, reason="so")
    return Mistake(judge=judge, task=f"t-{number:02}", equivalent=equivalent, finding=finding, **values)


def test_false_passes_are_hardest_then_false_failures_then_what_is_open() -> None:
    given = [mistake(1, False, UNDECIDED), mistake(2, True, UNDECIDED), mistake(3, True, FAIL), mistake(4, False, PASS)]
    assert [each.mistake.task for each in hardest_pairs(given, "ours")] == ["t-04", "t-03", "t-02", "t-01"]
    assert [each.mistake.task for each in hardest_pairs(given, "ours", most=2)] == ["t-04", "t-03"]
    assert hardest_pairs(given, "theirs") == []


def test_among_equals_those_are_hardest_that_other_judges_get_wrong_too() -> None:
    given = [mistake(1, True, FAIL), mistake(2, True, FAIL), mistake(2, True, FAIL, "theirs")]
    assert [(each.mistake.task, each.others) for each in hardest_pairs(given, "ours")] == [("t-02", 1), ("t-01", 0)]


def test_mutants_and_what_is_held_back_beside_other_pairs_are_not_listed() -> None:
    given = [
        mistake(1, True, FAIL),
        mistake(2, True, FAIL, part=Part.WRITTEN_FROM),
        mistake(3, False, PASS, part=Part.WRITTEN_FROM, kind=PairKind.MUTANTS),
        mistake(4, True, FAIL, suite="elsewhere"),
    ]
    assert [each.mistake.task for each in hardest_pairs(given, "ours")] == ["t-04", "t-02"]
