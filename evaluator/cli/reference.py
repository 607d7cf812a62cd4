"""The command line's reference, made from the commands: `python -m evaluator.cli.reference > site/cli.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from evaluator.cli import app

WIDTH = 96
HEAD = """\
---
title: Command line
hide: [navigation]
---

# Command line

Every command runs by hand what the board's own workflows run. Exit codes: 0 fine, 1 found wanting, 2 wrong use,
3 something missing. Standard output holds the result alone, so it can be piped; progress and errors go to standard
error. This page is made from the commands' own help.
"""


def _helps(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, str]]:
    """Every command's full name and help, depth first."""
    context = command.context_class(
        command, info_name=path.rsplit(" ", 1)[-1], parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield path, command.get_help(context)
    for name, child in getattr(command, "commands", {}).items():
        yield from _helps(child, f"{path} {name}", context)


def reference() -> str:
    """The page, as Markdown."""
    sections = (
        f"## {path}\n\n```text\n{text.strip()}\n```\n"
        for path, text in _helps(typer.main.get_command(app), "bashboard")
    )
    return "\n".join([HEAD, *sections])


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
