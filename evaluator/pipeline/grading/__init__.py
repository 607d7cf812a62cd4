"""Commands to verdicts: their keys, the evidence that is missing, judges, the panel, maintainers' rulings."""
