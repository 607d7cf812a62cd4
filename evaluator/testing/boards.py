"""This module makes boards for tests. A board has random results of any size from a seed, or given results."""

from __future__ import annotations

from evaluator.pipeline.benchmarks.synthetic_boards import METHODS, board_of, drawn_board, result_of

__all__ = ["METHODS", "board_of", "drawn_board", "result_of"]
