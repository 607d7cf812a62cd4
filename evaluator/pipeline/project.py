"""A checkout of the repository: the paths of its parts, and its settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from evaluator.errors import MissingError, UsageError
from evaluator.judges.panel.settings import PanelSettings
from evaluator.pipeline.checkout import checkout_root
from evaluator.records import AuditSettings, ExternalSuite, Record, Slug
from evaluator.submissions.limits import FinalPhase, PullLimits, SubmissionLimits
from evaluator.submissions.parsing.toml_lines import setting_line
from evaluator.suites.declarations import is_current, read_external_suites
from evaluator.suites.load import Suite, find_suites, load_suite
from evaluator.wording import name_hint


class DemoRows(Record):
    """The rows that `make demo` scores: some submissions of one suite, so that the first board is there soon."""

    suite: Slug
    submissions: Annotated[tuple[Slug, ...], Field(min_length=1, max_length=5)]


class Settings(Record):
    """The project's settings: the table `[tool.bashboard]` of pyproject.toml."""

    judge: str = "consensus"
    panel: PanelSettings | None = None
    audit: AuditSettings | None = None
    limits: SubmissionLimits = Field(default_factory=SubmissionLimits)
    pulls: PullLimits = Field(default_factory=PullLimits)
    final: FinalPhase | None = None
    demo: DemoRows | None = None


@dataclass(frozen=True)
class Project:
    """A checkout of the repository: its root folder, with `fixtures`, `submissions` and `pyproject.toml`."""

    root: Path

    @staticmethod
    def find(start: Path) -> Project:
        """Return the checkout that contains the path `start`. Raises UsageError if there is no checkout."""
        root = checkout_root(start)
        if root is None:
            raise UsageError(f"{start} is in no Bashboard checkout: cd to the folder with fixtures/<suite>/suite.toml")
        return Project(root)

    @cached_property
    def settings(self) -> Settings:
        """Return the project's settings. Raises UsageError if pyproject.toml is invalid."""
        path = self.root / "pyproject.toml"
        try:
            text = path.read_text("utf-8") if path.is_file() else ""
            return Settings.model_validate(tomllib.loads(text).get("tool", {}).get("bashboard", {}))
        except ValidationError as error:
            details = error.errors(include_url=False)
            problems = "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
            line = setting_line(text, ("tool", "bashboard", *details[0]["loc"]))
            raise UsageError(f"{path}:{line}: [tool.bashboard] {problems}") from error
        except ValueError as error:
            raise UsageError(f"{path}: expected valid TOML: {error}") from error

    @property
    def store_path(self) -> Path:
        """Return the path of the local store."""
        return self.root / ".bashboard" / "store.sqlite"

    @property
    def fixtures(self) -> Path:
        """Return the path of the folder that holds the suites."""
        return self.root / "fixtures"

    def external_suites(self) -> Mapping[str, ExternalSuite]:
        """Return the external suites that the checkout declares, by name, fetched or not.

        Raises FormatError with every invalid declaration.
        """
        return read_external_suites(self.fixtures)

    def is_fetched(self, name: str) -> bool:
        """Return whether a suite is on this machine, and an external suite as the checkout declares the suite."""
        return name in self._present_suites()

    def _present_suites(self) -> dict[str, Path]:
        """Return the folders of the suites on this machine, without outdated imports of external suites."""
        declared = self.external_suites()
        folders = sorted(find_suites(self.fixtures).items())
        return {
            name: folder
            for name, folder in folders
            if name not in declared or is_current(self.fixtures, declared[name])
        }

    def suite(self, name: str) -> Suite:
        """Load a suite. Raises UsageError with similar names for an unknown name, FormatError for an invalid suite.

        Raises MissingError for an external suite that is not on this machine.
        """
        folders = self._present_suites()
        declared = self.external_suites()
        if name in folders:
            return load_suite(folders[name])
        if name in declared:
            outdated = (self.fixtures / name).is_dir()
            state = "was imported by an earlier declaration" if outdated else "is not fetched"
            raise MissingError(f"the external suite {name} {state}; type: bashboard suite add {name}")
        raise UsageError(
            f"no suite is named {name!r}{name_hint(name, {**folders, **declared}, 'bashboard suite list')}"
        )

    def answerable_suites(self) -> tuple[str, ...]:
        """Return the names of the suites that a submission may answer, sorted: all suites, fetched or not."""
        return tuple(sorted({*self._present_suites(), *self.external_suites()}))

    def suites(self) -> tuple[Suite, ...]:
        """Load every suite on this machine, sorted by name. External suites that are not fetched are left out."""
        return tuple(load_suite(folder) for folder in self._present_suites().values())

    def submission_folder(self, slug: Slug) -> Path:
        """Return the folder of a submission, whose path is a slug too. Raises UsageError if it does not exist."""
        slug = slug.rstrip("/").removeprefix("submissions/")
        folders = {path.name: path for path in self.submission_folders()}
        if slug not in folders:
            raise UsageError(f"no submission is named {slug!r}{name_hint(slug, folders, 'bashboard standings')}")
        return folders[slug]

    def submission_folders(self) -> list[Path]:
        """Return the folders of all submissions, sorted by slug."""
        folder = self.root / "submissions"
        return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
