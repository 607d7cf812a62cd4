"""The repository's workflow files as plain data: every scalar a text, as YAML has it before GitHub reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").iterdir())
ACTIONS = sorted((FOLDER / "actions").glob("*/action.yml"))


def read(path: Path) -> Any:
    return yaml.load(path.read_text(), yaml.BaseLoader)  # noqa: S506 - it makes texts alone


class Job(NamedTuple):
    """A job, and where it stands."""

    workflow: str
    name: str
    held: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.workflow}.{self.name}"

    @property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.held["steps"])

    @property
    def commands(self) -> list[str]:
        """What its `run:` steps are, in order."""
        return [step["run"] for step in self.steps if "run" in step]

    def using(self, action: str) -> list[dict[str, Any]]:
        """Its steps that are an action of GitHub's."""
        return [step for step in self.steps if step.get("uses", "").startswith(f"actions/{action}@")]


JOBS = [Job(path.stem, name, held) for path in WORKFLOWS for name, held in read(path)["jobs"].items()]
BY_PLACE = {job.place: job for job in JOBS}


def texts(value: Any) -> Iterator[str]:
    """Every text in a piece of YAML, names as well."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    else:
        yield value
