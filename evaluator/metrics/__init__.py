"""Scores, one family a file: pure functions over texts or Polars frames.

A metric never drops a task: the denominator is every task asked, whatever became of it.
"""
