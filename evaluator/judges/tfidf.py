"""Provide the judges `tfidf` and `exec-tfidf`, which compare the TF-IDF vectors of two commands or two outputs.

`exec-tfidf` is InterCode's measure (Yang et al. 2023, "InterCode: Standardizing and Benchmarking Interactive Coding
with Execution Feedback"). The score is the cosine of the two vectors. Word frequencies are counted in the two outputs
alone. Equal outputs score 1. Two different outputs without any word score 0. `tfidf` does the same with the commands
(Westenfelder et al. 2025).
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.threshold import judge_outputs, judge_texts
from evaluator.records import Finding


class Tfidf:
    """Passes a command if its text is similar to some reference's text."""

    name: Final = "tfidf"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """Pass the command if its similarity to at least one reference is above the threshold."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """Return the cosine of the two commands' TF-IDF vectors, in [0, 1]."""
        return cosine(command, reference)


class ExecTfidf:
    """Passes a command if its output is similar to one reference's output in every variant."""

    name: Final = "exec-tfidf"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """Pass the command if, for one reference, the lowest similarity over all variants is above the threshold."""
        return judge_outputs(case, cosine)


def cosine(left: str, right: str) -> float:
    """Return the cosine of the TF-IDF vectors of two texts, in [0, 1]. The two texts are the whole corpus."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if left == right:
        return 1.0
    try:
        vectors = TfidfVectorizer().fit_transform([left, right])
    except ValueError:  # neither text contains a word
        return 0.0
    return float((vectors @ vectors.T)[0, 1])
