"""This module writes the output of a command for its GitHub job: the job's summary, the step's outputs, and a safe log.

Environment variables name the files for summary and outputs. If a variable is not set, for example outside a job, the
function that writes the file raises MissingError.
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
    """Mask the values of the variables `names` in the job's log, because GitHub does not know that they are secret."""
    for name in names if environ.get("GITHUB_ACTIONS") else ():
        for line in environ.get(name, "").splitlines():
            if line.strip():
                print(mask(line), file=stream, flush=True)


def stop_commands(environ: Mapping[str, str], stream: TextIO) -> contextlib.AbstractContextManager[None]:
    """Return a context manager that makes GitHub ignore workflow commands in the output of its `with` block.

    Outside a GitHub job, the context manager has no effect.
    """
    return commands_stopped(stream) if environ.get("GITHUB_ACTIONS") else contextlib.nullcontext()
