"""The only room that joins the stages: suites and submissions in, evidence and verdicts between, boards out."""
