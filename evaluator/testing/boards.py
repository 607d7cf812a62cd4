"""Boards for tests: of any size from a seed, whose outcomes are drawn, or of results at hand."""

from __future__ import annotations

from evaluator.pipeline.benchmarks.synthetic_boards import METHODS, board_of, drawn_board, result_of

__all__ = ["METHODS", "board_of", "drawn_board", "result_of"]
