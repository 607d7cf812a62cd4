"""`nl2cmd`: the NLC2CMD score of a command and a reference, taken for a verdict.

The metric of the NLC2CMD competition (Agarwal et al. 2021) as one of the heuristics that Westenfelder et al.
2025 compare. It looks at utilities and flags alone, so whatever differs in arguments passes.
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.threshold import judge_texts
from evaluator.records import Finding


class Nl2cmd:
    """Passes a command whose utilities and flags are nearly a reference's."""

    name: Final = "nl2cmd"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """By the nearest reference."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """The pair's NLC2CMD score, in [-1, 1]."""
        from evaluator.shell.nlc2cmd.score import score_pair

        return score_pair(command, reference)
