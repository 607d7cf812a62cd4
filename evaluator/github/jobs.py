"""A run's jobs, and what each said by annotations.

Only a job's own runner, by what its steps print, and a token with `checks: write` can add to its annotations. So a
job that says there what it made is believed for itself and for no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from github.WorkflowJob import WorkflowJob

from evaluator.github.connection import Connection, map_errors

NOTICES: Final = 10
"""Notices of one step that GitHub keeps; further ones are lost without a word. Of a job it keeps 50 annotations."""


@dataclass(frozen=True, slots=True)
class GithubJob:
    """A job of a run: `conclusion` is None while it runs, `check_run` the number under which its annotations are."""

    name: str
    conclusion: str | None
    check_run: int


@dataclass(frozen=True, slots=True)
class Notice:
    """What a step printed as `::notice title=…::…`; anything may stand in both, and both may be empty."""

    title: str
    message: str


def jobs_of_run(connection: Connection, run: int) -> tuple[GithubJob, ...]:
    """The jobs of a run's latest attempt, in GitHub's order; several of a name are all told.

    Raises PermissionMissingError; UsageError where there is no such run; GitHubError.
    """
    with map_errors(connection, f"listing the jobs of run {run}", "actions: read"):
        return tuple(_job(each) for each in connection.hosted.get_workflow_run(run).jobs("latest"))


def _job(found: WorkflowJob) -> GithubJob:
    return GithubJob(found.name, found.conclusion, int(found.check_run_url.rpartition("/")[2]))


def notices(connection: Connection, check_run: int) -> tuple[Notice, ...]:
    """The notices of one job, in GitHub's order; warnings and errors are left out.

    GitHub leaves titles out for a personal token. Raises PermissionMissingError, UsageError, GitHubError.
    """
    with map_errors(connection, f"reading what check run {check_run} said", "checks: read"):
        listed = connection.hosted.get_check_run(check_run).get_annotations()
        return tuple(
            Notice(each.title or "", each.message or "") for each in listed if each.annotation_level == "notice"
        )
