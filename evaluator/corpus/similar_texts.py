"""Find texts that are nearly the same, by the cosine of TF-IDF vectors of words and letters.

The similarity is the mean of two cosines: of words and pairs of words, and of 3 to 5 letters. Features are hashed, so a
word that only one of two texts has lowers their similarity, whatever the other texts are.

Texts are compared in blocks, so 100,000 texts need minutes on one core and some hundred megabytes. A mean of at least t
needs a cosine of words of at least 2t - 1. So the many letters are compared only for texts that share enough words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

THRESHOLD: Final = 0.9
"""The cosine from which Westenfelder et al. 2025 call two instructions the same."""

_BLOCK: Final = 2000
_PRODUCTS: Final = 50_000
"""The number of pairs of texts whose letters are compared at once."""

_FEATURES: Final = 2**20
_DECIMALS: Final = 6
_WORD: Final = r"[\w./*-]+"
_BLANKS: Final = re.compile(r"\s+")


class SimilarPair(NamedTuple):
    """A text and one of the others, by their numbers from 0, and their similarity."""

    text: int
    other: int
    cosine: float


def plain(text: str) -> str:
    """Return a text in lower case, with single blanks and without a full stop, so that equal texts are found first."""
    return _BLANKS.sub(" ", text).strip().rstrip(".").lower()


class Vectors(NamedTuple):
    """Vectors of the same texts: of their words and of their letters."""

    words: csr_matrix
    letters: csr_matrix


class TextSpace:
    """The weights of features: the inverse document frequencies in the given texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        self._words = HashingVectorizer(
            n_features=_FEATURES, ngram_range=(1, 2), token_pattern=_WORD, norm=None, alternate_sign=False
        )
        self._letters = HashingVectorizer(
            n_features=_FEATURES, analyzer="char_wb", ngram_range=(3, 5), norm=None, alternate_sign=False
        )
        counts = [np.zeros(_FEATURES, dtype=np.float64) for _ in range(2)]
        for begin in range(0, len(texts), _BLOCK):
            for count, matrix in zip(counts, self._counted(texts[begin : begin + _BLOCK]), strict=True):
                np.add.at(count, matrix.indices, 1.0)
        self._idf = [np.log((1 + len(texts)) / (1 + count)) + 1 for count in counts]

    def _counted(self, texts: Sequence[str]) -> tuple[csr_matrix, csr_matrix]:
        lowered = [plain(text) for text in texts]
        return self._words.transform(lowered), self._letters.transform(lowered)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts: one row of length 1 for each text, for words and for letters."""
        from sklearn.preprocessing import normalize

        parts = []
        for matrix, idf in zip(self._counted(texts), self._idf, strict=True):
            weighted = matrix.astype(np.float64)
            weighted.data = (1 + np.log(weighted.data)) * idf[weighted.indices]
            parts.append(normalize(weighted))
        return Vectors(*parts)


def close_matches(
    texts: Sequence[str],
    others: Sequence[str],
    threshold: float = THRESHOLD,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[SimilarPair]:
    """Yield a match for each text and each of the others whose cosine is at least `threshold`.

    The matches are in the order of blocks of texts. `advance` is called once per text, after its matches.
    """
    if not texts or not others:
        return
    space = TextSpace([*texts, *others])
    columns = [(begin, space.vectors(others[begin : begin + _BLOCK])) for begin in range(0, len(others), _BLOCK)]
    for begin in range(0, len(texts), _BLOCK):
        rows = space.vectors(texts[begin : begin + _BLOCK])
        for offset, column in columns:
            for row, other, cosine in _above(rows, column, threshold):
                yield SimilarPair(begin + row, offset + other, cosine)
        for _ in range(rows.words.shape[0]):
            advance()


def nearest_matches(
    texts: Sequence[str],
    others: Sequence[str],
    threshold: float = THRESHOLD,
    advance: Callable[[], None] = lambda: None,
) -> list[SimilarPair]:
    """Return the nearest of the others for each text with a cosine of at least `threshold`, in the order of texts."""
    nearest: dict[int, SimilarPair] = {}
    for match in close_matches(texts, others, threshold, advance):
        if match.text not in nearest or match.cosine > nearest[match.text].cosine:
            nearest[match.text] = match
    return [nearest[text] for text in sorted(nearest)]


def earlier_matches(
    texts: Sequence[str],
    threshold: float = THRESHOLD,
    advance: Callable[[], None] = lambda: None,
    skipped: Collection[int] = (),
) -> Iterator[SimilarPair]:
    """Yield a match for each text that is near to an earlier text which itself has no match.

    The texts with the numbers `skipped` only count for the weights of features. `advance` is called once per text.
    """
    if not texts:
        return
    numbers = [number for number in range(len(texts)) if number not in skipped]
    for _ in range(len(texts) - len(numbers)):
        advance()
    space = TextSpace(texts)
    kept: list[tuple[Sequence[int], Vectors]] = []
    for begin in range(0, len(numbers), _BLOCK):
        block = numbers[begin : begin + _BLOCK]
        rows = space.vectors([texts[number] for number in block])
        near: dict[int, list[tuple[int, float]]] = {}
        for others, column in [*kept, (block, rows)]:
            for row, other, cosine in _above(rows, column, threshold):
                near.setdefault(block[row], []).append((others[other], cosine))
        dropped = set[int]()
        for text in block:
            found = [(cosine, other) for other, cosine in near.get(text, []) if other < text and other not in dropped]
            if found:
                cosine, other = max(found, key=lambda each: (each[0], -each[1]))
                dropped.add(text)
                yield SimilarPair(text, other, cosine)
            advance()
        left = [row for row, text in enumerate(block) if text not in dropped]
        if left:
            kept.append(([block[row] for row in left], Vectors(rows.words[left], rows.letters[left])))


def _above(rows: Vectors, columns: Vectors, threshold: float) -> Iterator[tuple[int, int, float]]:
    """Yield the row, the column and the similarity of each two texts with a similarity of at least `threshold`."""
    products = (rows.words @ columns.words.T).tocoo()
    places = np.flatnonzero(products.data >= 2 * threshold - 1 - 10.0**-_DECIMALS)
    for begin in range(0, len(places), _PRODUCTS):
        chosen = places[begin : begin + _PRODUCTS]
        left, right = products.row[chosen], products.col[chosen]
        letters = np.asarray(rows.letters[left].multiply(columns.letters[right]).sum(axis=1)).ravel()
        similarities = np.round((products.data[chosen] + letters) / 2, _DECIMALS)
        for place in np.flatnonzero(similarities >= threshold):
            yield int(left[place]), int(right[place]), float(similarities[place])
