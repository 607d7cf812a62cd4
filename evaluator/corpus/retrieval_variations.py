"""The five variations of the retrieval baseline as programs that answer tasks, from the project's training pairs alone.

A variation without further pairs uses a third of the training pairs. The other variations use all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.corpus.retrieval_steps import RETRIEVAL_STEPS, first_pairs
from evaluator.records import Candidate, Method, Prediction, Task
from evaluator.submissions.baselines import Baseline, TrainingPair
from evaluator.submissions.names import LOCAL_PREFIX

VARIATIONS: Final = {name.replace(" ", "-"): name for name in RETRIEVAL_STEPS}
"""The names of the steps by the word that a command and a slug use: `more-data` is the step `more data`."""

_ADDED: Final = {
    "raw": "The commands of the five nearest instructions of a third of the training pairs, unchanged.",
    "cleaned": "Like the step raw, without repeated and unreadable pairs, and with five different commands.",
    "more data": "Like the step cleaned, from all training pairs.",
    "literals": "Like the step more data, with masked literals in the comparison and replaced literals in the command.",
    "confidence": "Like the step literals, with a confidence of 0 or 1 by logistic regression.",
}


def variation_slug(variation: str) -> str:
    """Return the folder of a variation's submission. Git ignores folders with such names."""
    return f"{LOCAL_PREFIX}tfidf-retrieval-{variation}"


def retrieval_variation(variation: str) -> Baseline:
    """Return a variation as a baseline. Raises KeyError for an unknown name.

    The commands of `literals` are those of the committed baseline.
    """
    name = VARIATIONS[variation]
    retrieval = RETRIEVAL_STEPS[name]

    def predict(tasks: Sequence[Task], pairs: Sequence[TrainingPair]) -> list[Prediction]:
        training = retrieval.training(pairs if retrieval.more_data else first_pairs(pairs)[0])
        answers = retrieval.answer([task.nl for task in tasks], training)
        return [
            Prediction(
                task=task.id,
                candidates=tuple(Candidate(command=command.encode(), confidence=value) for command, value in answer),
            )
            for task, answer in zip(tasks, answers, strict=True)
        ]

    return Baseline(
        system=f"TF-IDF retrieval, step {name}",
        description=f"{_ADDED[name]} Sees a task's instruction and nothing else of it.",
        method=Method.RETRIEVAL,
        predict=predict,
        learns=True,
        suites=("core",),
    )
