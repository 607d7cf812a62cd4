"""`nl2cmd`: a verdict from the NLC2CMD score of a command and a reference.

The score is the metric of the NLC2CMD competition (Agarwal et al. 2021). Westenfelder et al. 2025 compare it with other
heuristics. It compares only utilities and flags, so it accepts any difference in arguments.
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.threshold import judge_texts
from evaluator.records import Finding


class Nl2cmd:
    """Passes a command if its utilities and flags are nearly those of some reference."""

    name: Final = "nl2cmd"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """Pass the command if its score with some reference is above the threshold."""
        return judge_texts(case, self.similarity)

    def similarity(self, command: str, reference: str) -> float:
        """Return the NLC2CMD score of the pair, in [-1, 1]."""
        from evaluator.shell.nlc2cmd.score import score_pair

        return score_pair(command, reference)
