"""Submissions that test the benchmark itself instead of a system.

One copies references and must pass every task. One hides a copied reference behind `:`, which must count as verbatim.
One does nothing and must fail every task.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.records import Candidate, Method, Prediction, Task
from evaluator.submissions.baselines.baseline import Baseline
from evaluator.submissions.baselines.training import TrainingPair


def repeat_second_reference(tasks: Sequence[Task], _: Sequence[TrainingPair]) -> list[Prediction]:
    """Answer each task with its second reference, or with its only reference."""
    return [_answer(task, task.references[min(1, len(task.references) - 1)]) for task in tasks]


def wrap_first_reference(tasks: Sequence[Task], _: Sequence[TrainingPair]) -> list[Prediction]:
    """Answer each task with its first reference behind a call of `:`, so that the texts differ."""
    return [_answer(task, _wrapped(task.references[0])) for task in tasks]


def _wrapped(command: bytes) -> bytes:
    """Return a command with a call of `:` before it. The first line of a script that names its program stays first."""
    if not command.startswith(b"#!"):
        return b": h; " + command
    program, _, rest = command.partition(b"\n")
    return program + b"\n: h\n" + rest


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
)

WRAPPED_REFERENCE = Baseline(
    system="Wrapped reference",
    description=(
        "Not a system: the first reference of every task behind the command ': h', which does nothing. It checks that "
        "such a disguise does not hide a copied reference, so the verbatim rate must be that of a copy."
    ),
    method=Method.CONTROL,
    predict=wrap_first_reference,
)

ALWAYS_TRUE = Baseline(
    system="Always true",
    description=(
        "Not a system: the command 'true', which does nothing and succeeds, for every task. It checks that doing "
        "nothing is never accepted, so nothing must pass."
    ),
    method=Method.CONTROL,
    predict=do_nothing,
)
