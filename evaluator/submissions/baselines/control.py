"""Submissions that test the benchmark itself instead of a system.

One copies references and must pass every task. One does nothing and must fail every task.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.records import Candidate, Method, Prediction, Task
from evaluator.submissions.baselines.baseline import Baseline
from evaluator.submissions.baselines.training import TrainingPair


def repeat_second_reference(tasks: Sequence[Task], _: Sequence[TrainingPair]) -> list[Prediction]:
    """Answer each task with its second reference, or with its only reference."""
    return [_answer(task, task.references[min(1, len(task.references) - 1)]) for task in tasks]


def do_nothing(tasks: Sequence[Task], _: Sequence[TrainingPair]) -> list[Prediction]:
    """Answer each task with the command `true`, which does nothing."""
    return [_answer(task, b"true") for task in tasks]


def _answer(task: Task, command: bytes) -> Prediction:
    return Prediction(task=task.id, candidates=(Candidate(command=command),))


SECOND_REFERENCE = Baseline(
    system="Second reference",
    description=(
        "Not a system: the second reference of every task, copied. It checks that execution is deterministic and "
        "that the judge accepts what the suite itself calls correct, so everything must pass."
    ),
    method=Method.CONTROL,
    predict=repeat_second_reference,
    suites=("core",),
)

ALWAYS_TRUE = Baseline(
    system="Always true",
    description=(
        "Not a system: the command 'true', which does nothing and succeeds, for every task. It checks that doing "
        "nothing is never accepted, so nothing must pass."
    ),
    method=Method.CONTROL,
    predict=do_nothing,
    suites=("core",),
)
