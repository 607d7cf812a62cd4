"""Corpus BLEU of the first candidates: the share of their word n-grams that also occur in the references.

This is BLEU-4 of Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation" (ACL), without
smoothing, over words separated by white space. It is a score of a corpus: counts are summed over all tasks asked before
any division. The score of one command has no meaning here. (The judge `bleu` is different: it compares characters.)

The score equals that of NLTK's `corpus_bleu`, which earlier papers in the field used. As in NLTK, a command with fewer
than n words still adds 1 to the number of n-grams. Here NLTK differs from other implementations. NLTK itself is not
called, because its import takes longer than the counts of a thousand commands. The counts of each command are stored,
because every board sums them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import BleuCounts

ORDERS: Final = (1, 2, 3, 4)


def bleu_counts(words: Sequence[str], references: Sequence[Sequence[str]]) -> BleuCounts:
    """Return the counts that one command adds to the score of a corpus. `references` must not be empty.

    >>> bleu_counts("ls -l -a".split(), ["ls -l".split(), "ls -a -t -r".split()])
    BleuCounts(matches=(3, 1, 0, 0), tokens=3, reference_tokens=2)
    """
    one, two, three, four = (_matches(words, references, order) for order in ORDERS)
    lengths = map(len, references)
    return BleuCounts(
        matches=(one, two, three, four),
        tokens=len(words),
        reference_tokens=min(lengths, key=lambda length: (abs(length - len(words)), length)),
    )


def _matches(words: Sequence[str], references: Sequence[Sequence[str]], order: int) -> int:
    """Count the n-grams of a command that occur in a reference, with n = `order`.

    An n-gram that occurs several times in the command counts at most as often as in any single reference.
    """
    allowed: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        allowed |= _ngrams(reference, order)
    return (_ngrams(words, order) & allowed).total()


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def corpus_bleu(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns suite, submission and bleu (in [0, 1], or null if a command has no stored counts).

    N_n is the number of n-grams in the first candidates, and m_n is the number of these n-grams that also occur in a
    reference. c is the number of words in the first candidates. r is the number of words in the references, with one
    reference per candidate: the one nearest in length. All are sums over the tasks asked:

        BLEU = exp(min(0, 1 - r / c)) * (m_1/N_1 * m_2/N_2 * m_3/N_3 * m_4/N_4) ** (1/4)

    BLEU is 0 if any m_n is 0. Example, for a command of five words of which only the last differs from the reference:
    (4/5 * 3/4 * 2/3 * 1/2) ** (1/4) = 0.6687.
    """
    tokens = pl.col("tokens")
    columns = [pl.col(f"bleu_{order}").sum().alias(f"m{order}") for order in ORDERS]
    columns += [(tokens - order + 1).clip(lower_bound=1).sum().alias(f"n{order}") for order in ORDERS]
    summed = (
        first_candidates(frame)
        .group_by(BOARD)
        .agg(
            *columns,
            tokens.sum().alias("c"),
            pl.col("reference_tokens").sum().alias("r"),
            tokens.is_null().any().alias("unknown"),
        )
    )
    logarithms = pl.mean_horizontal([(pl.col(f"m{order}") / pl.col(f"n{order}")).log() for order in ORDERS])
    brevity = (1 - pl.col("r") / pl.col("c")).clip(upper_bound=0)
    lacking = pl.any_horizontal([pl.col(f"m{order}") == 0 for order in ORDERS])
    score = pl.when("unknown").then(None).when(lacking).then(0.0).otherwise((brevity + logarithms).exp())
    return summed.select(*BOARD, score.clip(0, 1).alias("bleu")).sort(BOARD)
