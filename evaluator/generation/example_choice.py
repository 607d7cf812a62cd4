"""Choose the training pairs that stand as examples in a prompt.

Fu et al. 2023 and Westenfelder et al. 2025 show that examples which cover the training pairs help more than examples by
chance. `representatives` clusters the pairs by k-means (Lloyd 1982) with the seeding k-means++, and takes the pair
nearest to the centre of each cluster. `nearest_pairs` takes the pairs nearest to one instruction instead.

Vectors come from a model server, or from this machine: TF-IDF of words and letters, reduced to 100 dimensions by a
truncated SVD (latent semantic analysis, Deerwester et al. 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evaluator.submissions.baselines.training import TrainingPair

Vectors = NDArray[np.float64]
"""One row of length 1 for each text."""

DIMENSIONS: Final = 100
_WORD: Final = r"[\w-]+"
_DECIMALS: Final = 6
"""Similarities are rounded before a ranking, so small numerical differences between machines do not change it."""


class TextVectors:
    """Vectors of texts, computed on this machine from the training instructions alone."""

    def __init__(self, instructions: Sequence[str], seed: int) -> None:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import FeatureUnion, make_pipeline

        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=_WORD)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        features = FeatureUnion([("words", words), ("letters", letters)])
        width = features.fit_transform(instructions).shape[1]
        reduction = TruncatedSVD(min(DIMENSIONS, width - 1, max(1, len(instructions) - 1)), random_state=seed)
        self._model: Any = make_pipeline(features, reduction)
        self.of_instructions = unit_rows(self._model.fit_transform(instructions))

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of other texts, for example of the tasks' instructions."""
        return unit_rows(self._model.transform(texts))


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """Return the vectors scaled to length 1. A vector of zeros stays as it is."""
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled


def representatives(vectors: Vectors, count: int, seed: int) -> list[int]:
    """Return the rows nearest to the centres of `count` clusters, in ascending order.

    There are at most as many rows as vectors. Of equally near rows, the first one is taken.
    """
    from sklearn.cluster import KMeans

    count = min(count, len(vectors))
    if count == 0:
        return []
    model = KMeans(count, n_init=4, random_state=seed).fit(vectors)
    centres = unit_rows(model.cluster_centers_)
    chosen: list[int] = []
    for number, similarities in enumerate(np.round(centres @ vectors.T, _DECIMALS)):
        members = np.flatnonzero(model.labels_ == number)
        free = [row for row in (members if len(members) else range(len(vectors))) if row not in chosen]
        if free:
            chosen.append(int(min(free, key=lambda row: (-similarities[row], row))))
    return sorted(chosen)


def nearest_pairs(vectors: Vectors, instruction: Vectors, count: int) -> list[int]:
    """Return the `count` rows with the largest cosine to an instruction, the nearest one last.

    The nearest example stands directly before the question, because models give the end of a prompt more weight.
    """
    similarities = np.round(vectors @ instruction, _DECIMALS)
    order = sorted(range(len(vectors)), key=lambda row: (-similarities[row], row))
    return order[:count][::-1]


def first_pairs(pairs: Sequence[TrainingPair], count: int, seed: int) -> list[int]:
    """Return `count` rows by chance, always the same ones for a seed, in ascending order.

    A smaller number with the same seed gives a subset, so that rows with 5 and 10 examples can be compared.
    """
    order = np.random.default_rng(seed).permutation(len(pairs))
    return sorted(int(row) for row in order[:count])
