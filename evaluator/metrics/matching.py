"""How many answers are a reference's text again: full-command and template accuracy, and who repeats references.

A text that is no reference's may still do what was asked, so full-command accuracy is below execution accuracy by
what references do not show; it is what can be said without running anything. What makes two texts equal stands in
`texts`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evaluator.metrics.accuracy import CANDIDATES_AT
from evaluator.metrics.frames import BOARD, first_candidates


def matched_at(frame: pl.DataFrame, column: str, candidates: Sequence[int] = CANDIDATES_AT) -> pl.DataFrame:
    """Share of the tasks asked of which one of the first k candidates matches: columns suite, submission, `column`.

    `column` is `full_command` (accuracy of the full command, Acc_F of Lin et al. 2018) or `template` (Acc_T) of a
    results frame. The result's is a list of {k, share}, shares in [0, 1] and growing with k; it is null where the
    texts of some task were not compared.

        accuracy at k = tasks with a match among the first k candidates / tasks asked

    Two tasks, one matched by the second of its candidates, one by none: 0 at k = 1, 1/2 at 3 and at 5.
    """
    first = pl.col("rank").filter(pl.col(column)).min()
    tasks = frame.group_by(*BOARD, "task").agg(
        first.fill_null(max(candidates, default=0) + 1).alias("first"), pl.col(column).is_null().any().alias("unknown")
    )
    shares = [
        pl.struct(pl.lit(k, pl.Int32).alias("k"), (pl.col("first") <= k).mean().alias("share")) for k in candidates
    ]
    known = pl.when(~pl.col("unknown").any()).then(pl.concat_list(shares)).alias(column)
    return tasks.group_by(BOARD).agg(known).sort(BOARD)


def verbatim_rate(frame: pl.DataFrame) -> pl.DataFrame:
    """Share of the tasks asked whose first candidate is a reference, byte for byte: columns suite, submission,
    verbatim.

    In [0, 1]; null where the texts of some task were not compared. White space round a command does not count.
    References are public, so a board shows who repeats them; that alone proves nothing, as short commands have
    one natural spelling.

        verbatim = first candidates that are a reference / tasks asked

    `ls -l` and `ls -la` for two tasks whose only references are `ls -l`: 1/2.
    """
    whole = pl.when(~pl.col("verbatim").is_null().any()).then(pl.col("verbatim").mean())
    return first_candidates(frame).group_by(BOARD).agg(whole.alias("verbatim")).sort(BOARD)
