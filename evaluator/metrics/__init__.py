"""Metrics, one family per file: pure functions over texts or Polars frames.

A metric never drops a task. The denominator is always every task asked, whatever its outcome.
"""
