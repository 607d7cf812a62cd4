"""What a baseline is: a program that answers tasks, and the metadata its submission carries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.records import Method, Prediction, Task
from evaluator.submissions.baselines.training import TrainingPair

Predict = Callable[[Sequence[Task], Sequence[TrainingPair]], list[Prediction]]
"""Tasks and training pairs to one prediction a task, in the tasks' order."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A program in this repository whose predictions are a submission.

    The same tasks and pairs give the same predictions on every machine. `learns` tells whether the training
    pairs are used, and so declared.
    """

    system: str
    description: str
    method: Method
    predict: Predict
    learns: bool = False
