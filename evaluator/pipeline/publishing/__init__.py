"""This package publishes verdicts. It collects and judges evidence, commits or proposes verdicts, and verifies them."""
