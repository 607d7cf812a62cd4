"""Suites on disk: loading, checks, and reports of defects."""
