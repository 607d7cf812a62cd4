"""The definition of a baseline: a program that answers tasks, and the metadata of its submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.records import Method, Prediction, Task
from evaluator.submissions.baselines.training import TrainingPair

Predict = Callable[[Sequence[Task], Sequence[TrainingPair]], list[Prediction]]
"""A function of tasks and training pairs that returns one prediction for each task, in the same order."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A program in this repository that answers tasks. The answers of the program form a submission.

    The same tasks and training pairs give the same predictions on every machine. `learns` is true if the program uses
    the training pairs. The submission then declares their use. `suites` names the suites that the submission answers. A
    repository may lack some of them.
    """

    system: str
    description: str
    method: Method
    predict: Predict
    learns: bool = False
    suites: tuple[str, ...] = ("core", "programs")
