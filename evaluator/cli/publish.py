"""`bashboard publish`: what the workflows do between a merge and the site, each step also by hand."""

from __future__ import annotations

import typer

from evaluator.cli.app import Group

publish = typer.Typer(cls=Group, no_args_is_help=True, help="Publish verdicts: plan, execute, judge, commit.")
