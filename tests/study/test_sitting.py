"""A sitting's clock, order and lines."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from evaluator.errors import InfraError, UsageError
from evaluator.records import Measurement
from evaluator.study.sitting import MAX_SITTINGS, Study
from evaluator.testing.boards import drawn_board
from evaluator.testing.examiner import FakeExaminer

TASKS = drawn_board(1, 6).tasks
RIGHT = {task.id: f"do {task.id}".encode() for task in TASKS}


class Room:
    """A study with a clock that stands until it is told otherwise; executing takes `slow_s`."""

    def __init__(self, measured: int = 20, slow_s: float = 100.0) -> None:
        self.now, self.lines = 1000.0, list[Measurement]()
        self.meanwhile: Callable[[], object] = lambda: self.wait(slow_s)
        examiner = FakeExaminer(RIGHT, meanwhile=lambda _: self.meanwhile())
        self.study = Study("core", "2.0.0", TASKS, examiner, self.lines.append, lambda: self.now, measured=measured)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def solve(self, key: str, seconds: float = 5.0) -> str:
        """Do the present task after so many seconds; its id."""
        shown = self.study.show(key)
        assert shown is not None
        task = next(each for each in TASKS if each.nl == shown.instruction)
        self.wait(seconds)
        assert self.study.enter(key, shown.number, RIGHT[task.id]).passed
        return task.id


def test_the_first_task_is_not_measured() -> None:
    """It is there to get used to the page."""
    room = Room(measured=2)
    key = room.study.join()
    names = [room.solve(key) for _ in range(3)]
    assert room.study.show(key) is None
    assert [line.task for line in room.lines] == names[1:]


def test_the_clock_stands_while_a_command_is_executed() -> None:
    """4 s of thinking, a command that fails, 6 s more, and one that passes: 10 s, whatever the machine took."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    shown = room.study.show(key)
    assert shown is not None
    room.wait(4)
    assert not room.study.enter(key, shown.number, b"ls").passed
    room.solve(key, 6)
    assert [(line.seconds, line.passed) for line in room.lines] == [(10.0, True)]


def test_a_skipped_task_is_kept_as_one() -> None:
    """It tells how many gave up, and never counts as a time."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    room.study.show(key)
    room.wait(31)
    room.study.skip(key, 1)
    assert [(line.seconds, line.passed) for line in room.lines] == [(31.0, False)]


def test_showing_a_task_again_does_not_begin_its_clock_anew() -> None:
    """Loading a page again wins nobody any time."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    room.study.show(key)
    room.wait(50)
    room.solve(key, 5)
    assert room.lines[0].seconds == 55.0


def test_a_failure_of_ours_costs_no_time_and_no_task() -> None:
    """The same command is entered once more."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)

    def broken() -> None:
        room.wait(70)
        raise InfraError("the engine went away")

    usual, room.meanwhile = room.meanwhile, broken
    room.study.show(key)
    with pytest.raises(InfraError):
        room.study.enter(key, 1, b"ls")
    room.meanwhile = usual
    room.solve(key, 8)
    assert room.lines[0].seconds == 8.0


def test_a_line_says_nothing_of_whom_when_or_what() -> None:
    """These fields, and an id of which the key that the page holds says nothing."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    room.solve(key)
    assert set(room.lines[0].model_dump()) == {
        *("format", "participant", "suite", "version", "task", "seconds", "passed"),
    }
    assert room.lines[0].participant not in key


def test_participants_have_orders_of_their_own() -> None:
    """A late task is not the same for all, as people tire; nobody is asked a task twice."""
    room = Room(slow_s=0)
    orders = []
    for _ in range(8):
        key = room.study.join()
        orders.append(tuple(room.solve(key) for _ in TASKS))
    assert all(len(set(order)) == len(TASKS) for order in orders)
    assert len(set(orders)) > 1
    assert len({line.participant for line in room.lines}) == 8


@pytest.mark.parametrize("number", [0, 2, -1, 99])
def test_only_the_task_that_is_shown_is_answered(number: int) -> None:
    """A stale page changes nothing."""
    room = Room()
    key = room.study.join()
    room.solve(key)
    room.study.show(key)
    with pytest.raises(UsageError, match="is not the current task"):
        room.study.enter(key, number, b"ls")
    assert room.lines == []


def test_a_task_cannot_be_answered_before_it_is_shown() -> None:
    """Its clock does not run yet."""
    room = Room()
    key = room.study.join()
    with pytest.raises(UsageError, match="is not the current task"):
        room.study.enter(key, 0, b"ls")


def test_one_command_is_executed_at_a_time() -> None:
    """A second Enter meanwhile is refused, and does not count."""
    room = Room(slow_s=0)
    key = room.study.join()
    room.study.show(key)
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        assert done.wait(10)

    room.meanwhile = hold
    first = threading.Thread(target=room.study.enter, args=(key, 0, b"ls"))
    first.start()
    assert inside.wait(10)
    with pytest.raises(UsageError, match="still being executed"):
        room.study.enter(key, 0, b"pwd")
    done.set()
    first.join()


def test_a_study_has_an_end_of_participants() -> None:
    """Joining again and again fills no memory; an unknown key is told what to do."""
    room = Room()
    for _ in range(MAX_SITTINGS):
        room.study.join()
    with pytest.raises(UsageError, match=f"this study is full: {MAX_SITTINGS} participants"):
        room.study.join()
    with pytest.raises(UsageError, match="load the page again"):
        room.study.show("nobody")
