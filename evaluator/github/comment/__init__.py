"""The Markdown that workflows publish: pull-request comments, rescore tables and lists of undecided verdicts."""
