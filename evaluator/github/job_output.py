"""What a command tells the GitHub job that it runs in: summary, outputs, secrets to hide, and text that is no command.

The first two are files that the runner names in the environment; elsewhere there are none, and whoever asked is told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from evaluator.errors import MissingError
from evaluator.github.actions import commands_stopped, mask, write_output, write_summary


def _file(environ: Mapping[str, str], name: str) -> Path:
    """The file that a variable names. Raises MissingError where it is not set: this is no job's step."""
    if not environ.get(name):
        raise MissingError(f"{name} is not set: only a step of a GitHub job has one; leave the option out elsewhere")
    return Path(environ[name])


def append_summary(environ: Mapping[str, str], markdown: str) -> None:
    """Append to the job's summary."""
    write_summary(_file(environ, "GITHUB_STEP_SUMMARY"), markdown)


def set_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Set the step's outputs, by name."""
    file = _file(environ, "GITHUB_OUTPUT")
    for name, value in outputs.items():
        write_output(file, name, value)


def mask_secrets(environ: Mapping[str, str], stream: TextIO, names: Iterable[str]) -> None:
    """Have a job's runner show `***` for what these variables hold, whoever set them: it knows its own secrets only."""
    for name in names if environ.get("GITHUB_ACTIONS") else ():
        for line in environ.get(name, "").splitlines():
            if line.strip():
                print(mask(line), file=stream, flush=True)


def stop_commands(environ: Mapping[str, str], stream: TextIO) -> contextlib.AbstractContextManager[None]:
    """A block in which a job's runner takes nothing that is printed for a command; elsewhere it is any other."""
    return commands_stopped(stream) if environ.get("GITHUB_ACTIONS") else contextlib.nullcontext()
