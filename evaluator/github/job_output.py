"""This module sends output of a command to its GitHub job: summary, step outputs, masked secrets and stopped commands.

Environment variables name the files for summary and outputs. Without these variables, for example outside a job,
functions that write the files raise MissingError.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from evaluator.errors import MissingError
from evaluator.github.actions import commands_stopped, mask, write_output, write_summary


def _file(environ: Mapping[str, str], name: str) -> Path:
    """Return the file that an environment variable names. Raises MissingError if the variable is not set."""
    if not environ.get(name):
        raise MissingError(f"{name} is not set: only a step of a GitHub job has it; omit the option outside a job")
    return Path(environ[name])


def append_summary(environ: Mapping[str, str], markdown: str) -> None:
    """Append Markdown to the summary of the GitHub job. Raises MissingError outside a job."""
    write_summary(_file(environ, "GITHUB_STEP_SUMMARY"), markdown)


def set_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Set the outputs of the workflow step. `outputs` maps their names to values. Raises MissingError outside a job."""
    file = _file(environ, "GITHUB_OUTPUT")
    for name, value in outputs.items():
        write_output(file, name, value)


def mask_secrets(environ: Mapping[str, str], stream: TextIO, names: Iterable[str]) -> None:
    """Mask the values of these environment variables in the job's log, because GitHub does not know them as secrets."""
    for name in names if environ.get("GITHUB_ACTIONS") else ():
        for line in environ.get(name, "").splitlines():
            if line.strip():
                print(mask(line), file=stream, flush=True)


def stop_commands(environ: Mapping[str, str], stream: TextIO) -> contextlib.AbstractContextManager[None]:
    """Return a context manager. In its block, a job's runner ignores commands. Outside a job, it has no effect."""
    return commands_stopped(stream) if environ.get("GITHUB_ACTIONS") else contextlib.nullcontext()
