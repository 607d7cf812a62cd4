"""What a command tells the GitHub job that it runs in: its summary and the step's outputs.

Both are files that the runner names in the environment; elsewhere there are none, and whoever asked is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evaluator.errors import MissingError
from evaluator.github.actions import write_output, write_summary


def _file(environ: Mapping[str, str], name: str) -> Path:
    """The file that a variable names. Raises MissingError where it is not set: this is no job's step."""
    if not environ.get(name):
        raise MissingError(f"{name} is not set: only a step of a GitHub job has one; leave the option out elsewhere")
    return Path(environ[name])


def summarise(environ: Mapping[str, str], markdown: str) -> None:
    """Append to the job's summary."""
    write_summary(_file(environ, "GITHUB_STEP_SUMMARY"), markdown)


def give_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Set the step's outputs, by name."""
    file = _file(environ, "GITHUB_OUTPUT")
    for name, value in outputs.items():
        write_output(file, name, value)
