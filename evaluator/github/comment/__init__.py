"""The Markdown that the workflows write: pull-request comments, rescore tables, lists of open verdicts."""
