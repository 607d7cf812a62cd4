"""The only package that joins the stages: suites and submissions in, evidence and verdicts between, boards out."""
