"""`tfidf` and `exec-tfidf`: cosine of two texts' TF-IDF vectors, of the commands or of what they print.

`exec-tfidf` is InterCode's measure (Yang et al. 2023, "InterCode: Standardizing and Benchmarking Interactive
Coding with Execution Feedback"): scikit-learn's vectorizer fitted on the two outputs alone. Equal outputs are
1, and where neither holds a word, anything else is 0. `tfidf` does the same with the commands (Westenfelder
et al. 2025).
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.threshold import judge_outputs, judge_texts
from evaluator.records import Finding


class Tfidf:
    """Passes a command whose text is near a reference's."""

    name: Final = "tfidf"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """By the nearest reference."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """Cosine of the two commands' vectors, in [0, 1]."""
        return cosine(command, reference)


class ExecTfidf:
    """Passes a command that prints what is near one reference's output in every variant."""

    name: Final = "exec-tfidf"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """By the nearest reference, in the variant where it is furthest."""
        return judge_outputs(case, cosine)


def cosine(left: str, right: str) -> float:
    """Cosine of the TF-IDF vectors of two texts that are all there is to count in, in [0, 1]."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if left == right:
        return 1.0
    try:
        vectors = TfidfVectorizer().fit_transform([left, right])
    except ValueError:  # neither holds a word
        return 0.0
    return float((vectors @ vectors.T)[0, 1])
