"""Provide the judge `nl2cmd`, which decides by the similarity of a command to a reference: the NLC2CMD score.

This score is the metric of the NLC2CMD competition (Agarwal et al. 2021). Westenfelder et al. 2025 compare this score
with other heuristics. The score depends only on utilities and flags, so the judge accepts any difference in arguments.
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.threshold import judge_texts
from evaluator.records import Finding


class Nl2cmd:
    """Passes a command if its utilities and flags are nearly those of some reference."""

    name: Final = "nl2cmd"
    version: Final = 2
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """Pass the command if its score against at least one reference is above the threshold of 0.75."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """Return the NLC2CMD score of the command against the reference, in [-1, 1]."""
        from evaluator.shell.nlc2cmd.score import score_pair

        return score_pair(command, reference)
