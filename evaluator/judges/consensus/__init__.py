"""The judge `consensus`. It compares a candidate's evidence with the evidence of every reference, step by step."""

from evaluator.judges.consensus.judge import Consensus, alignment_problem

__all__ = ["Consensus", "alignment_problem"]
