"""A checkout of the repository: where its parts are, and its settings, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from pydantic import Field, ValidationError

from evaluator.errors import UsageError
from evaluator.judges.panel.settings import PanelSettings
from evaluator.records import Record, Slug
from evaluator.submissions.limits import PullLimits, SubmissionLimits
from evaluator.suites.load import Suite, find_suites, load_suite

LISTED: Final = 10
"""Names that a message lists at most."""


class Settings(Record):
    """`[tool.bashboard]` of pyproject.toml."""

    judge: str = "consensus"
    panel: PanelSettings | None = None
    limits: SubmissionLimits = Field(default_factory=SubmissionLimits)
    pulls: PullLimits = Field(default_factory=PullLimits)


def _hint(name: str, names: Collection[str]) -> str:
    """The names most like `name`, or else the first of them."""
    import difflib

    near = difflib.get_close_matches(name, names, 3)
    if near:
        return f"; did you mean {', '.join(near)}?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"; there are: {', '.join(list(names)[:LISTED]) or 'none'}{more}"


@dataclass(frozen=True)
class Project:
    """The folder that holds `fixtures`, `submissions` and `pyproject.toml`."""

    root: Path

    @staticmethod
    def find(start: Path) -> Project:
        """The checkout that `start` is in. Raises UsageError where it is in none."""
        for folder in (start, *start.parents):
            if find_suites(folder / "fixtures"):
                return Project(folder)
        raise UsageError(f"{start} is in no Bashboard checkout: cd to the folder with fixtures/<suite>/suite.toml")

    @cached_property
    def settings(self) -> Settings:
        """The project's settings. Raises UsageError where they do not read."""
        path = self.root / "pyproject.toml"
        try:
            text = path.read_text("utf-8") if path.is_file() else ""
            return Settings.model_validate(tomllib.loads(text).get("tool", {}).get("bashboard", {}))
        except ValidationError as error:
            details = error.errors(include_url=False)
            faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in details)
            raise UsageError(f"{path}: [tool.bashboard] {faults}") from error
        except ValueError as error:
            raise UsageError(f"{path}: does not read as TOML: {error}") from error

    @property
    def store_path(self) -> Path:
        """The local store's file."""
        return self.root / ".bashboard" / "store.sqlite"

    def suite(self, name: str) -> Suite:
        """The suite of that name. Raises UsageError with the names that may be meant, FormatError for a broken one."""
        folders = find_suites(self.root / "fixtures")
        if name not in folders:
            raise UsageError(f"no suite is named {name!r}{_hint(name, folders)}")
        return load_suite(folders[name])

    def suites(self) -> tuple[Suite, ...]:
        """Every suite here, by name."""
        return tuple(load_suite(folder) for _, folder in sorted(find_suites(self.root / "fixtures").items()))

    def submission_folder(self, slug: Slug) -> Path:
        """The folder of a submission. Raises UsageError with the names that may be meant."""
        folders = {path.name: path for path in self.submission_folders()}
        if slug not in folders:
            raise UsageError(f"no submission is named {slug!r}{_hint(slug, folders)}")
        return folders[slug]

    def submission_folders(self) -> list[Path]:
        """The folders of all submissions, by slug."""
        folder = self.root / "submissions"
        return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
