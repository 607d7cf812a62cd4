"""Grading of commands: cache keys, execution for missing evidence, judges, the panel and maintainers' rulings."""
