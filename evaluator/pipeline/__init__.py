"""The package that connects the other packages. It turns suites and submissions into evidence, verdicts and boards."""
