"""Find the texts that are most similar to another text, by the cosine of TF-IDF vectors of words and of letters.

Similarities are rounded before the ranking, so small numerical differences between machines do not change the ranking.
Of equally similar texts, the first wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

RANKED_DECIMALS: Final = 6
_WORD: Final = r"[\w-]+"
_BLOCK: Final = 64
"""The number of texts that are compared at once. With 100,000 indexed texts, a block needs 50 MB."""
_FEW: Final = 32

Similarities: TypeAlias = NDArray[np.float64]


class TfidfIndex:
    """The TF-IDF vectors of texts. Raises ValueError if no text has a word."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import FeatureUnion

        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=_WORD)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        self._features = FeatureUnion([("words", words), ("letters", letters)])
        self._vectors = self._features.fit_transform(texts).T.tocsr()

    def similarities(self, texts: Sequence[str]) -> Iterator[Similarities]:
        """Yield the similarities of each text to all indexed texts, in [0, 1] with six decimals.

        Each vectorizer gives vectors of length 1, so half of the dot product is the mean of the two cosines.
        """
        for begin in range(0, len(texts), _BLOCK):
            rows = self._features.transform(texts[begin : begin + _BLOCK])
            yield from np.round((rows @ self._vectors).toarray() / 2, RANKED_DECIMALS)


def most_similar(similarities: Similarities) -> Iterator[int]:
    """Yield the positions of all similarities above 0, from the largest to the smallest.

    Most callers need a few positions alone. So a few are sorted first, and the rest only if it is needed.
    """
    done = 0
    for count in (_FEW, len(similarities)):
        least = np.partition(similarities, -count)[-count] if count < len(similarities) else 0.0
        chosen = np.flatnonzero((similarities >= least) & (similarities > 0))
        order = chosen[np.argsort(-similarities[chosen], kind="stable")]
        yield from order[done:].tolist()
        done = len(order)
