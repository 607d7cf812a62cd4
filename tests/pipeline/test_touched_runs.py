"""Tests of touched runs.

A run counts as touched unless the store proves that no command of the submission could have changed it.
"""

from __future__ import annotations

from evaluator.pipeline.maintenance.touched_runs import LINGERS_S, TouchReason, touched_runs
from evaluator.store import RunKey, StoredRun

EVIL: RunKey = ("evil", 0)


def stored(name: str, container: str = "one", position: int = 1, opened: float = 1000, at: float = 1001) -> StoredRun:
    return StoredRun((name, 0), container, opened, position, at)


def reasons(*runs: StoredRun) -> dict[str, TouchReason]:
    """Return the reason for each touched run by its name.

    A run of the submission is at position 5 of a container that started at time 1000.
    """
    found = touched_runs([stored("evil", position=5, at=1010), *runs], {EVIL})
    assert found.pop(EVIL) is TouchReason.SHARED
    return {key: reason for (key, _), reason in found.items()}


def test_only_later_runs_of_its_own_container_are_touched() -> None:
    before, after = stored("before", position=4), stored("after", position=6)
    assert reasons(before, after) == {"after": TouchReason.LATER}


def test_the_first_of_its_runs_in_a_container_counts() -> None:
    runs = [stored("evil", position=5), stored("between", position=6), stored("too", position=9)]
    assert touched_runs(runs, {EVIL, ("too", 0)}).keys() == {EVIL, ("between", 0), ("too", 0)}


def test_a_container_that_was_open_at_the_same_time_is_touched_as_a_whole() -> None:
    first, last = stored("first", "two", 1, 999, 999.5), stored("last", "two", 9, 999, 1005)
    assert reasons(first, last) == {"first": TouchReason.BESIDE, "last": TouchReason.BESIDE}


def test_a_container_that_ended_before_or_opened_afterwards_is_not_touched() -> None:
    ended = stored("ended", "two", opened=0, at=1000 - LINGERS_S - 1)
    opened = stored("opened", "three", opened=1010 + LINGERS_S + 1, at=5000)
    assert reasons(ended, opened) == {}


def test_a_container_that_may_have_been_open_still_or_already_is_touched() -> None:
    still = stored("still", "two", opened=0, at=1000 - LINGERS_S)
    soon = stored("soon", "three", opened=1010 + LINGERS_S, at=5000)
    assert reasons(still, soon) == {"still": TouchReason.BESIDE, "soon": TouchReason.BESIDE}


def test_an_earlier_run_of_its_container_is_touched_from_another_of_its_containers() -> None:
    assert reasons(stored("before", position=4), stored("evil too", "two", 1)) != {}
    runs = [stored("before", position=4), stored("evil", position=5), stored("too", "two", 1)]
    assert touched_runs(runs, {EVIL, ("too", 0)})["before", 0] is TouchReason.BESIDE


def test_a_run_of_unknown_origin_is_touched_even_if_the_submission_never_ran() -> None:
    assert touched_runs([stored("imported", "", 0, 0)], set()) == {("imported", 0): TouchReason.UNKNOWN}


def test_without_a_run_of_the_submission_nothing_else_is_touched() -> None:
    assert touched_runs([stored("before"), stored("after", "two")], {EVIL}) == {}
