"""The judge `consensus`: execution evidence compared with that of every reference, step by step."""

from evaluator.judges.consensus.judge import Consensus, alignment_problem

__all__ = ["Consensus", "alignment_problem"]
