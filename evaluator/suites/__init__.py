"""This package loads suites from disk, checks them, and reports defects."""
