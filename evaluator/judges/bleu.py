"""`bleu`: BLEU between a command and a reference, on their characters.

The heuristic of Westenfelder et al. 2025, whose figures are those of NLTK's `sentence_bleu` given two raw
strings: it takes a string's characters for its words. It is not the corpus BLEU over words that is quoted
for translations.
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
    """Passes a command whose text has BLEU above the threshold with a reference's."""

    name: Final = "bleu"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """By the nearest reference."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """BLEU-4 of the command's characters against the reference's, in [0, 1]."""
        from nltk.translate.bleu_score import sentence_bleu

        return float(sentence_bleu([reference], command, smoothing_function=_unsmoothed))


def _unsmoothed(precisions: Sequence[Fraction], **_: Any) -> list[float]:
    """What NLTK does without smoothing, which it also says in a warning: a precision of 0 becomes the least number."""
    return [float(each) if each.numerator else sys.float_info.min for each in precisions]
