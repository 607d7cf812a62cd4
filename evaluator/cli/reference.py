"""The command-line reference. `python -m evaluator.cli.reference > site/cli.md` generates it."""

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

The board's own workflows run the same commands that you run by hand. The exit code is 0 for success, 1 if a check
failed, 2 for a usage error and 3 for a missing prerequisite. Standard output contains only the result, so it can be
piped. Progress and errors go to standard error. With `--json` too, an error is one line of text there, and standard
output may be empty: look at the exit code first.

`bashboard --install-completion` makes the Tab key complete commands, options, submissions, suites, tasks, worlds and
judges in bash, zsh, fish and PowerShell. This page is generated from the help of the commands.
"""


def _helps(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, str]]:
    """Yield the full name and the help text of a command, and then of all its subcommands, in depth-first order."""
    context = command.context_class(
        command,
        info_name=path.rsplit(" ", 1)[-1],
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **command.context_settings,
    )
    yield path, command.get_help(context)
    for name, child in getattr(command, "commands", {}).items():
        yield from _helps(child, f"{path} {name}", context)


def reference() -> str:
    """Return the reference of all `bashboard` commands as Markdown."""
    sections = (
        f"## {path}\n\n```text\n{text.strip()}\n```\n"
        for path, text in _helps(typer.main.get_command(app), "bashboard")
    )
    return "\n".join([HEAD, *sections])


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
