"""Register all judges by name. A judge is a pure function that takes evidence and returns a finding.

A finding states the outcome and the reason. To add a judge, write one module in this folder and one `register` line
below.
"""

from __future__ import annotations

from evaluator.judges.bleu import Bleu
from evaluator.judges.case import JUDGES, Case, EvidenceNeed, Executed, Judge, decide, find_judge, register
from evaluator.judges.consensus.judge import Consensus, alignment_problem
from evaluator.judges.consensus.views import volatile_fields
from evaluator.judges.exact import Exact
from evaluator.judges.intercode_reward import Intercode
from evaluator.judges.nl2cmd import Nl2cmd
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.judges.tfidf import ExecTfidf, Tfidf
from evaluator.judges.threshold import TextScorer

register(Exact())
register(Bleu())
register(Nl2cmd())
register(Tfidf())
register(ExecTfidf())
register(Intercode())
for judge in BY_MODEL:
    register(judge)
register(Consensus())

__all__ = [
    "JUDGES",
    "Case",
    "EvidenceNeed",
    "Executed",
    "Judge",
    "TextScorer",
    "alignment_problem",
    "decide",
    "find_judge",
    "register",
    "volatile_fields",
]
