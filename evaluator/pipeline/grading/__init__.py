"""Grading of commands: their keys, the missing evidence, judges, the panel and maintainers' rulings."""
