"""The accuracy on the tasks that a report names as near to the training data, and on the others."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.records import Method, NearReport, Tier
from evaluator.testing.boards import drawn_board
from tests.doubles.method_boards import manifest, method_board

IDS = [task.id for task in drawn_board(1, 6).tasks]
MARKS = "+-+++-"
"""Two of the three tasks of each tier pass: the tiers are the first and the last three tasks."""
TIERS = {task: Tier.ADVANCED if number < 3 else Tier.EXPERT for number, task in enumerate(IDS)}


def report(marks: str = MARKS, **changed: Any) -> NearReport | None:
    """Return the report of a submission. The first two tasks and the last one are near, unless `changed`."""
    overlap = {
        "version": "1.0.0",
        "tasks": 6,
        "same_command": 1,
        "similar": 2,
        "near_tasks": [IDS[0], IDS[1], IDS[5]],
        "tiers": {
            "core": {"tasks": 3, "same_command": 1, "similar": 1},
            "expert": {"tasks": 3, "similar": 1},
        },
    }
    tuning = {"base_model": "small", "data": "pairs", "pairs": "0" * 64, "contamination": {"core": overlap | changed}}
    board = method_board({"own": (manifest(None, tuning, Method.FINE_TUNED), marks)}, tiers=TIERS)
    return board.near_reports.get("own")


def test_both_parts_are_counted_for_all_tasks_and_for_each_tier() -> None:
    """Of the near tasks 0, 1 and 5 one passes, and of the others 2, 3 and 4 all three. Wilson: 3/3 is 0.4385 to 1."""
    found = report()
    assert found is not None
    assert found.missing is None
    rows = {str(row.tier): row for row in found.rows}
    tallies = {
        tier: (row.near and (row.near.passed, row.near.asked), row.others and (row.others.passed, row.others.asked))
        for tier, row in rows.items()
    }
    assert tallies == {"all": ((1, 3), (3, 3)), "core": ((1, 2), (1, 1)), "expert": ((0, 1), (2, 2))}
    assert (rows["all"].others_low, rows["all"].others_high) == pytest.approx((0.4385, 1.0), abs=5e-5)
    assert rows["core"].counts.same_command == 1


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({"near_tasks": []}, "not-listed"),
        ({"near_tasks": [IDS[0], IDS[1], "gone-001"]}, "other-tasks"),
        ({"tasks": 7, "tiers": {}}, "other-tasks"),
        ({"marks": "?" + MARKS[1:]}, "no-verdicts"),
    ],
)
def test_an_accuracy_that_is_not_known_has_a_reason(changed: dict[str, Any], missing: str) -> None:
    found = report(**changed)
    assert found is not None
    assert found.missing == missing
    assert [row.others for row in found.rows] == [None] * len(found.rows)
    assert found.rows[0].counts.near == 3


def test_without_a_near_task_all_tasks_are_the_others() -> None:
    found = report(same_command=0, similar=0, near_tasks=[], tiers={})
    assert found is not None
    (row,) = found.rows
    assert row.near is not None
    assert row.others is not None
    assert (row.near.asked, row.others.asked, row.others.passed) == (0, 6, 4)


def test_a_tier_whose_counts_are_not_those_of_its_tasks_has_no_accuracy() -> None:
    """The named tasks are two of core and one of expert, but the report says one and two."""
    tiers = {"core": {"tasks": 3, "same_command": 1}, "expert": {"tasks": 3, "similar": 2}}
    found = report(tiers=tiers)
    assert found is not None
    assert [row.others is not None for row in found.rows] == [True, False, False]


def test_a_submission_without_a_report_for_the_suite_has_none() -> None:
    tuning = {"base_model": "small", "data": "pairs", "pairs": "0" * 64}
    assert method_board({"own": (manifest(None, tuning), MARKS)}).near_reports == {}
