"""The only package that joins the stages. It turns suites and submissions into evidence, verdicts and boards."""
