"""The workflow files of the repository as plain data, in which every scalar is a text."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").iterdir())
ACTIONS = sorted((FOLDER / "actions").glob("*/action.yml"))


@functools.cache
def read(path: Path) -> Any:
    """Return the content of a YAML file. The result is cached because parsing is slow, so no caller may change it."""
    return yaml.load(path.read_text(), yaml.BaseLoader)  # noqa: S506 - this loader makes only texts


class Job(NamedTuple):
    """A job with the name of its workflow. `definition` is the job's mapping in the file."""

    workflow: str
    name: str
    definition: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.workflow}.{self.name}"

    @property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.definition["steps"])

    @property
    def commands(self) -> list[str]:
        """The scripts of the job's steps, in order."""
        return [step["run"] for step in self.steps if "run" in step]

    def using(self, action: str) -> list[dict[str, Any]]:
        """Return the steps that use an action from GitHub's organisation `actions`."""
        return [step for step in self.steps if step.get("uses", "").startswith(f"actions/{action}@")]


_ALL = [Job(path.stem, name, definition) for path in WORKFLOWS for name, definition in read(path)["jobs"].items()]
JOBS = [job for job in _ALL if "uses" not in job.definition]
CALLS = [job for job in _ALL if "uses" in job.definition]
"""The jobs that call a reusable workflow, and have no steps."""

BY_PLACE = {job.place: job for job in JOBS}


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a value from YAML, including the keys of mappings."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    else:
        yield value
