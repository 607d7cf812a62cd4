"""Tests of the evidence scheduler: it does not wait idly, and findings do not depend on the order of executions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.testing.checkouts import small_task
from evaluator.testing.executor import FakeExecutor, RequestedExecution, Shows
from tests.pipeline.grading_bench import SHOWN, GradingHarness


class Shuffled(FakeExecutor):
    """An executor that returns results in a random order, as several workers do."""

    seed = 0

    def __call__(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        chance, taken = random.Random(self.seed), 0  # noqa: S311 - a seed is needed, not secrecy
        waiting: list[Request] = []
        while waiting or taken < len(requests):
            waiting += requests[taken:]
            taken = len(requests)
            request = waiting.pop(chance.randrange(len(waiting)))
            yield request, self._result(request)


def ticks(call: RequestedExecution) -> Shows:
    """Return the output of a command. The output of `ticking` in variant `two` differs in each run."""
    if call.command == "ticking":
        return f"{'no' if call.variant == 'one' else call.before}\n"
    return SHOWN.get(call.command, "no\n")


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_answers_leaves_no_trace(harness: GradingHarness, seed: int) -> None:
    """Findings and the number of runs do not depend on the order of results.

    This also holds if a command is a candidate for two tasks and only one of these tasks requests a second run.
    """
    harness.tasks = [
        small_task("files-1"),
        small_task("files-2", nl="Do something else", references=("echo no", "printf 'no\\n'")),
    ]
    commands = [b"ticking", b"wrong", b"right", b"also right", b"", None]
    subjects = [GradingItem(task.id, command) for task, command in itertools.product(harness.tasks, commands)]
    in_order, shuffled = FakeExecutor(ticks), Shuffled(ticks)
    shuffled.seed = seed
    expected = harness.grader(in_order, judge="consensus").grade(subjects)
    harness.forget()
    assert harness.grader(shuffled, judge="consensus").grade(subjects) == expected
    assert shuffled.counts == in_order.counts


def test_a_candidate_goes_on_while_others_wait_for_their_first_run(harness: GradingHarness) -> None:
    """There are no rounds. A result is judged at once, and the next run of its candidate joins the queue."""
    harness.tasks = [small_task("files-1"), small_task("files-2", references=("last", "last too"))]
    execution = FakeExecutor(lambda call: "no\n" if call.command.startswith("last") else "yes\n")
    grader = harness.grader(execution)
    grader.grade([GradingItem("files-1", b"also right")])
    grader.grade([GradingItem("files-1", b"another"), GradingItem("files-2", b"wrong")])
    ran = [(call.command, call.variant, call.before) for call in execution.calls]
    assert ran.index(("another", "two", 0)) < ran.index(("last", "one", 1))


def test_while_a_second_run_is_not_due_others_are_executed(harness: GradingHarness) -> None:
    """Other commands are executed while a second run is not yet due.

    The executor of this test fails if one of the first eight runs has a delay.
    """

    class Due(FakeExecutor):
        def __call__(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
            for number in itertools.count():
                if number == len(requests):
                    return
                assert not requests[number].not_before or number >= 8
                yield requests[number], self._result(requests[number])

    execution = Due(SHOWN)
    harness.grader(execution, spacing_s=30.0).ensure_evidence(
        [GradingItem("files-1", b"wrong"), GradingItem("files-1", b"also right")]
    )
    assert len(execution.calls) == 12
