"""This module writes workflow commands and files for GitHub Actions: annotations, step outputs and job summaries.

The job's runner reads workflow commands from the output of each step. A command is any line of standard output or error
that begins with `::`, also after leading blanks. So `_data` and `_property` escape untrusted text in commands by the
runner's own rules. All other text is printed inside a `commands_stopped` block, in which the runner ignores commands.

In the file with a step's outputs, each value stands between a line `name<<delimiter` and a line `delimiter`. Every
value has a new random delimiter, so untrusted text cannot end its value and begin another one.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

from evaluator.errors import Problem, Severity

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def annotation(problem: Problem) -> str:
    """Return the workflow command that shows a problem in a pull request's diff, at the problem's line.

    >>> print(annotation(Problem(Path("submissions/a/core.jsonl"), 3, "100% wrong")))
    ::error file=submissions/a/core.jsonl,line=3::100%25 wrong
    """
    location = {"file": problem.path.as_posix()}
    if problem.line:
        location["line"] = str(problem.line)
    properties = ",".join(f"{name}={_property(value)}" for name, value in location.items())
    return f"::{_COMMANDS[problem.severity]} {properties}::{_data(problem.message)}"


def notice(title: str, message: str) -> str:
    """Return the workflow command that adds a notice to a GitHub job's check run. A step of the job must print it.

    >>> print(notice("evidence", "my-system core 61c4"))
    ::notice title=evidence::my-system core 61c4
    """
    return f"::notice title={_property(title)}::{_data(message)}"


def mask(secret: str) -> str:
    """Return the workflow command that hides a text: GitHub then prints `***` in its place in the rest of the log.

    Raises ValueError for a blank text.
    """
    if not secret.strip():
        raise ValueError("an empty text cannot be masked: the runner would mask every line of the log")
    return f"::add-mask::{_data(secret)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


@contextlib.contextmanager
def commands_stopped(stream: TextIO, new_token: Callable[[], str] = secrets.token_hex) -> Iterator[None]:
    """Make GitHub ignore workflow commands in the text that the `with` block prints.

    The line that stops the commands contains a random token. Only a line with this token starts them again, and
    untrusted text cannot contain the token.
    """
    token = new_token()
    print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        print(f"\n::{token}::", file=stream, flush=True)


def write_output(file: Path, name: str, value: str, new_token: Callable[[], str] = secrets.token_hex) -> None:
    """Append one output of a workflow step to the file that the variable `GITHUB_OUTPUT` names.

    Raises ValueError if the output's name is invalid. Also raises ValueError if the value contains the random delimiter
    that ends a value in this file.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of an output: expected letters, digits, '_' and '-'")
    delimiter = f"end-{new_token()}"
    if delimiter in value:
        raise ValueError(f"the value of {name!r} contains its own delimiter")
    with file.open("a", encoding="utf-8", newline="\n") as out:
        out.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def write_summary(file: Path, markdown: str) -> None:
    """Append Markdown to the summary of a GitHub job: the file that the variable `GITHUB_STEP_SUMMARY` names."""
    with file.open("a", encoding="utf-8", newline="\n") as out:
        out.write(f"{markdown.rstrip()}\n\n")
