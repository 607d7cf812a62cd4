"""Retrieval baseline: it copies the commands of the most similar training instructions and replaces their literals.

The similarity is the cosine of TF-IDF vectors of words and letters. Similarities are rounded before the ranking, so
small numerical differences between machines do not change the ranking. Of equally similar training pairs, the first in
the file of training pairs wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from evaluator.records import MAX_CANDIDATES, Candidate, Method, Prediction, Task
from evaluator.submissions.baselines.baseline import Baseline
from evaluator.submissions.baselines.literals import mask_literals, transfer_literals
from evaluator.submissions.baselines.training import TrainingPair

if TYPE_CHECKING:
    from sklearn.pipeline import FeatureUnion

RANKED_DECIMALS: Final = 6
CONFIDENCE_DECIMALS: Final = 3
_WORD: Final = r"[\w-]+"


def retrieve(tasks: Sequence[Task], pairs: Sequence[TrainingPair]) -> list[Prediction]:
    """Return up to five commands for each task. The confidence of a command is the similarity of its training pair."""
    features = _features()
    pair_vectors = features.fit_transform([mask_literals(pair.nl) for pair in pairs])
    task_vectors = features.transform([mask_literals(task.nl) for task in tasks])
    similarities = np.round((task_vectors @ pair_vectors.T).toarray() / len(features.transformer_list), RANKED_DECIMALS)
    return [
        Prediction(task=task.id, candidates=_candidates(task.nl, row.tolist(), pairs))
        for task, row in zip(tasks, similarities, strict=True)
    ]


def _features() -> FeatureUnion:
    """Return the TF-IDF vectorizers of words and of letters.

    Each vectorizer gives vectors of length 1, so the dot product of two vectors is their cosine.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=_WORD)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    return FeatureUnion([("words", words), ("letters", letters)])


def _candidates(instruction: str, similarities: list[float], pairs: Sequence[TrainingPair]) -> tuple[Candidate, ...]:
    nearest = sorted(range(len(pairs)), key=lambda index: (-similarities[index], index))
    confidences: dict[str, float] = {}
    for index in nearest:
        if similarities[index] <= 0 or len(confidences) == MAX_CANDIDATES:
            break
        command = transfer_literals(pairs[index].command, pairs[index].nl, instruction)
        confidences.setdefault(command, min(1.0, round(similarities[index], CONFIDENCE_DECIMALS)))
    return tuple(
        Candidate(command=command.encode(), confidence=confidence) for command, confidence in confidences.items()
    )


TFIDF_RETRIEVAL = Baseline(
    system="TF-IDF retrieval",
    description=(
        "Gives the commands of the five most similar instructions among the repository's own training pairs: cosine "
        "similarity of TF-IDF vectors over words and over letters, literals masked. Paths, quoted text, numbers, "
        "extensions and names of the retrieved instruction are replaced in its command by those of the task's. "
        "Sees a task's instruction and nothing else of it; pairs and program were fixed before the tasks were read."
    ),
    method=Method.RETRIEVAL,
    predict=retrieve,
    learns=True,
)
