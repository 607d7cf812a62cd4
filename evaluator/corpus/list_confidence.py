"""Decide by logistic regression whether a list of retrieved commands is worth its risk in the NLC2CMD metric.

The metric of a task (Agarwal et al. 2021) is linear in a confidence c that all its candidates share. Let p be the
probability that the score of the list is above 0, and let g and l be the mean scores of lists above 0 and of other
lists, both with the confidence 1. The expected score is

    c * (p * g + (1 - p) * l)

It is largest for c = 1 if the bracket is above 0, and for c = 0 otherwise. The regression estimates p from how near the
retrieved pairs are and how far their commands agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from evaluator.shell.nlc2cmd.score import score_pair
from evaluator.submissions.baselines.retrieval import RetrievedCommand

_DECIMALS: Final = 6
"""Probabilities are rounded, so that small numerical differences between machines do not change a decision."""


def list_features(commands: Sequence[RetrievedCommand]) -> tuple[float, float, float]:
    """Return the largest similarity, the mean similarity, and the agreement of the first command with the others.

    The agreement is the mean NLC2CMD score of the first command against each other command, in [-1, 1]. It is 0 if
    there is no other command.
    """
    if not commands:
        return 0.0, 0.0, 0.0
    similarities = [each.similarity for each in commands]
    scores = [score_pair(commands[0].command, other.command) for other in commands[1:]]
    agreement = sum(scores) / len(scores) if scores else 0.0
    return similarities[0], sum(similarities) / len(similarities), agreement


def list_score(commands: Sequence[RetrievedCommand], references: Sequence[str]) -> float:
    """Return the NLC2CMD score of a list with the confidence 1: the best pair if it is above 0, otherwise the mean."""
    scores = [score_pair(each.command, reference) for each in commands for reference in references]
    if not scores:
        return -1.0
    best = max(scores)
    return best if best > 0 else sum(scores) / len(scores)


class ListConfidence:
    """The confidence of lists, learned from other lists and their scores. Raises ValueError without a list."""

    def __init__(self, lists: Sequence[Sequence[RetrievedCommand]], scores: Sequence[float]) -> None:
        if not lists:
            raise ValueError("expected at least one list of commands to learn from")
        values = np.array(scores)
        self._share = float((values > 0).mean())
        self._gain = float(values[values > 0].mean()) if self._share > 0 else 0.0
        self._loss = float(values[values <= 0].mean()) if self._share < 1 else 0.0
        self._model = None
        if 0 < self._share < 1:
            from sklearn.linear_model import LogisticRegression

            self._model = LogisticRegression().fit([list_features(each) for each in lists], values > 0)

    def probability(self, commands: Sequence[RetrievedCommand]) -> float:
        """Return the probability that the score of a list is above 0."""
        if self._model is None:
            return self._share
        return round(float(self._model.predict_proba([list_features(commands)])[0, 1]), _DECIMALS)

    def confidence(self, commands: Sequence[RetrievedCommand]) -> float:
        """Return 1 if the expected score of a list is above 0, and 0 otherwise."""
        probability = self.probability(commands)
        return float(probability * self._gain + (1 - probability) * self._loss > 0)
