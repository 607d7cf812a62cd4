"""Provide the judge `consensus`, which compares a candidate's evidence with the evidence of every reference."""

from evaluator.judges.consensus.judge import Consensus, alignment_problem

__all__ = ["Consensus", "alignment_problem"]
