"""List the suites that a submission may answer, with their sizes: those on this machine and those to be fetched."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import suite_info


@dataclass(frozen=True, slots=True)
class ListedSuite:
    """One suite in the list. `worlds` is None for an external suite that is not fetched."""

    name: str
    version: str
    title: str
    tasks: int
    worlds: int | None
    foreign: bool
    fetched: bool


def list_suites_of(project: Project) -> list[ListedSuite]:
    """Return all suites of a checkout, sorted by name."""
    rows = [
        ListedSuite(
            name=suite.manifest.name,
            version=suite.manifest.version,
            title=suite.manifest.title,
            tasks=len(suite.tasks),
            worlds=len(suite.worlds),
            foreign=suite.manifest.foreign,
            fetched=True,
        )
        for suite in project.suites()
    ]
    missing = {name: declared for name, declared in project.external_suites().items() if not project.is_fetched(name)}
    for name, declared in missing.items():
        info = suite_info(project, name)
        rows.append(ListedSuite(name, info.version, declared.title, len(info.tasks), None, foreign=True, fetched=False))
    return sorted(rows, key=lambda row: row.name)
