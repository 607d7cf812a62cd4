"""Provide the judge `bleu`, which computes a BLEU score from the characters of a command and a reference.

This is the heuristic of Westenfelder et al. 2025. They call NLTK's `sentence_bleu` with two raw strings, and NLTK then
treats each character as a word. Papers on translation report a different score: corpus BLEU over words.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.threshold import judge_texts
from evaluator.records import Finding


class Bleu:
    """Passes a command if its BLEU score with some reference is above the threshold."""

    name: Final = "bleu"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """Pass the command if its score against at least one reference is above `THRESHOLD`."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """Return the BLEU-4 score of the command against the reference, in [0, 1]. Each character counts as a word."""
        from nltk.translate.bleu_score import sentence_bleu

        return float(sentence_bleu([reference], command, smoothing_function=_unsmoothed))


def _unsmoothed(precisions: Sequence[Fraction], **_: Any) -> list[float]:
    """Replace each n-gram precision of 0 by the smallest positive float. NLTK does the same, but prints a warning."""
    return [float(precision) if precision.numerator else sys.float_info.min for precision in precisions]
