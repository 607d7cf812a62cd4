"""This module makes boards for tests. The results on a board are random, or the test specifies them."""

from __future__ import annotations

from evaluator.pipeline.benchmarks.synthetic_boards import METHODS, board_of, drawn_board, result_of

__all__ = ["METHODS", "board_of", "drawn_board", "result_of"]
