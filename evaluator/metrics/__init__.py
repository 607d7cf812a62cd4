"""Metrics: pure functions over texts or Polars frames. Each file holds one family of metrics.

A metric never drops a task. The denominator always counts every task asked, whatever its outcome.
"""
