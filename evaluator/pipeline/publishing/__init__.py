"""This package collects and judges evidence, commits or proposes verdicts, and verifies published verdicts."""
