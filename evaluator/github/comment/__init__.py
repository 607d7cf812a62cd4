"""Render the Markdown that workflows publish: pull-request comments, rescore tables, lists of undecided verdicts."""
