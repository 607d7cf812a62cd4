"""Corpus BLEU of first candidates against the references: how many n-grams of words they share.

BLEU-4 as in Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation" (ACL), without
smoothing, over words separated by white space. It is a score of a corpus: counts are added up over all tasks asked
before anything is divided, so the score of one command means nothing here (the judge `bleu` is another thing: it
compares characters).

What is counted is NLTK's (`modified_precision`, `closest_ref_length`), so that the score is that of its
`corpus_bleu`, which the field's papers used, with one term that others lack: a command with fewer than n words
still adds 1 to the number of n-grams. sacreBLEU, made for sentences of newspapers, would be one dependency more,
and the choice it makes well, how to split a sentence into words, is not ours. Counts are made once for each command
and kept, as a board adds them up again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import BleuCounts

ORDERS: Final = (1, 2, 3, 4)


def bleu_counts(words: Sequence[str], references: Sequence[Sequence[str]]) -> BleuCounts:
    """What one command adds to the score of a corpus; `references` are not empty.

    >>> bleu_counts("ls -l -a".split(), ["ls -l".split(), "ls -a -t -r".split()])
    BleuCounts(matches=(3, 1, 0, 0), tokens=3, reference_tokens=2)
    """
    from nltk.translate.bleu_score import closest_ref_length, modified_precision

    one, two, three, four = (modified_precision(references, words, order).numerator for order in ORDERS)
    return BleuCounts(
        matches=(one, two, three, four),
        tokens=len(words),
        reference_tokens=closest_ref_length(references, len(words)),
    )


def corpus_bleu(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns suite, submission, bleu in [0, 1]; null where the texts of some task were not compared.

    With m_n the n-grams of first candidates that a reference shares, N_n all of theirs, c their words and r those of
    the references nearest in length, summed over the tasks asked:

        BLEU = exp(min(0, 1 - r / c)) * (m_1/N_1 * m_2/N_2 * m_3/N_3 * m_4/N_4) ** (1/4)

    and 0 where one of the m_n is. One command of five words that is its reference but for the last:
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
