"""What a job tells GitHub's runner: annotations, step outputs, the job's summary, masks.

The runner reads commands out of the log: any line that begins with `::`, on either stream, blanks before it or
not. So whatever was written by a stranger is escaped here before it is part of one (`_data`, `_property`, after
the runner's own reading of them), and text that is printed for people goes between `commands_stopped` lines, where the
runner takes nothing for a command.

Outputs are a file of `name<<delimiter` blocks; the delimiter is drawn anew for each, so that no value can end its
own block and begin another.
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
    """The line that makes a problem stand at its place on a pull request's diff.

    >>> print(annotation(Problem(Path("submissions/a/core.jsonl"), 3, "100% wrong")))
    ::error file=submissions/a/core.jsonl,line=3::100%25 wrong
    """
    place = {"file": problem.path.as_posix()}
    if problem.line:
        place["line"] = str(problem.line)
    properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::{_COMMANDS[problem.severity]} {properties}::{_data(problem.message)}"


def notice(title: str, message: str) -> str:
    """The line that makes a notice of the job's own check run: only the job's runner can write there.

    >>> print(notice("evidence", "my-system core 61c4"))
    ::notice title=evidence::my-system core 61c4
    """
    return f"::notice title={_property(title)}::{_data(message)}"


def mask(secret: str) -> str:
    """The line from which on the runner shows `***` for this text. Raises ValueError for an empty one."""
    if not secret.strip():
        raise ValueError("an empty text cannot be masked: every line of the log would be")
    return f"::add-mask::{_data(secret)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


@contextlib.contextmanager
def commands_stopped(stream: TextIO, token: Callable[[], str] = secrets.token_hex) -> Iterator[None]:
    """While the block runs the runner takes nothing in the log for a command.

    Only the line with the same token ends it, and nobody can know a token before it is drawn.
    """
    drawn = token()
    print(f"::stop-commands::{drawn}", file=stream, flush=True)
    try:
        yield
    finally:
        print(f"\n::{drawn}::", file=stream, flush=True)


def write_output(file: Path, name: str, value: str, token: Callable[[], str] = secrets.token_hex) -> None:
    """Append a step's output to the file that `GITHUB_OUTPUT` names.

    Raises ValueError for a name that is none, or a value that holds the delimiter drawn for it.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no output's name: expected letters, digits, '_' and '-'")
    delimiter = f"end-{token()}"
    if delimiter in value:
        raise ValueError(f"the value of {name!r} holds its own delimiter")
    with file.open("a", encoding="utf-8", newline="\n") as out:
        out.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def write_summary(file: Path, markdown: str) -> None:
    """Append to the job's summary, the file that `GITHUB_STEP_SUMMARY` names."""
    with file.open("a", encoding="utf-8", newline="\n") as out:
        out.write(f"{markdown.rstrip()}\n\n")
