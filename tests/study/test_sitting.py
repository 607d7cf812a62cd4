"""A sitting: its clock, its order of tasks, and its measurements."""

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
    """A study whose clock only moves when `wait` is called. Executing a command takes `slow_s` seconds."""

    def __init__(self, measured: int = 20, slow_s: float = 100.0) -> None:
        self.now, self.lines = 1000.0, list[Measurement]()
        self.meanwhile: Callable[[], object] = lambda: self.wait(slow_s)
        examiner = FakeExaminer(RIGHT, meanwhile=lambda _: self.meanwhile())
        self.study = Study("core", "2.0.0", TASKS, examiner, self.lines.append, lambda: self.now, measured=measured)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def solve(self, key: str, seconds: float = 5.0) -> str:
        """Solve the current task after this many seconds, and return its id."""
        shown = self.study.show(key)
        assert shown is not None
        task = next(each for each in TASKS if each.nl == shown.instruction)
        self.wait(seconds)
        assert self.study.enter(key, shown.number, RIGHT[task.id]).passed
        return task.id


def test_the_first_task_is_not_measured() -> None:
    """The first task is a warm-up and gives no measurement."""
    room = Room(measured=2)
    key = room.study.join()
    names = [room.solve(key) for _ in range(3)]
    assert room.study.show(key) is None
    assert [line.task for line in room.lines] == names[1:]


def test_the_clock_stands_while_a_command_is_executed() -> None:
    """The clock stops while a command is executed.

    4 s before a command that fails and 6 s before one that passes make 10 s, however long the executions take.
    """
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
    """A skipped task gives a measurement that did not pass, so it counts as a skip and never as a time."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    room.study.show(key)
    room.wait(31)
    room.study.skip(key, 1)
    assert [(line.seconds, line.passed) for line in room.lines] == [(31.0, False)]


def test_showing_a_task_again_does_not_begin_its_clock_anew() -> None:
    """Showing a task again does not restart its clock, so a participant gains no time by reloading the page."""
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    room.study.show(key)
    room.wait(50)
    room.solve(key, 5)
    assert room.lines[0].seconds == 55.0


def test_a_failure_of_ours_costs_no_time_and_no_task() -> None:
    """An infrastructure failure adds no time, and the participant can enter a command for the same task again."""
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
    """A measurement has no field for a name, a time of day or a command.

    Its participant id is not part of the key that the page holds.
    """
    room = Room(measured=1)
    key = room.study.join()
    room.solve(key)
    room.solve(key)
    assert set(room.lines[0].model_dump()) == {
        *("format", "participant", "suite", "version", "task", "seconds", "passed"),
    }
    assert room.lines[0].participant not in key


def test_participants_have_orders_of_their_own() -> None:
    """Each participant gets every task once, in a random order.

    The orders differ, because a tired participant would otherwise always be slow on the same tasks.
    """
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
    """An answer to a task other than the current one, such as from an outdated page, is refused."""
    room = Room()
    key = room.study.join()
    room.solve(key)
    room.study.show(key)
    with pytest.raises(UsageError, match="is not the current task"):
        room.study.enter(key, number, b"ls")
    assert room.lines == []


def test_a_task_cannot_be_answered_before_it_is_shown() -> None:
    """An answer to a task before it is shown is refused, because the task's clock does not run yet."""
    room = Room()
    key = room.study.join()
    with pytest.raises(UsageError, match="is not the current task"):
        room.study.enter(key, 0, b"ls")


def test_one_command_is_executed_at_a_time() -> None:
    """A participant's second command is refused while the first one is still executed."""
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
    """A study refuses participants beyond MAX_SITTINGS, so that repeated joining cannot fill the memory.

    For an unknown key the error says to load the page again.
    """
    room = Room()
    for _ in range(MAX_SITTINGS):
        room.study.join()
    with pytest.raises(UsageError, match=f"this study is full: {MAX_SITTINGS} participants"):
        room.study.join()
    with pytest.raises(UsageError, match="load the page again"):
        room.study.show("nobody")
