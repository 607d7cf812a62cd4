"""This package turns suites and submissions into evidence, verdicts and boards. It connects the other packages."""
