"""The jobs of a run, and the notices that each job printed.

Only two parties can add annotations to a job: its own runner, through what its steps print, and a token with `checks:
write`. So a notice is trusted for its own job and for no other.
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
    """A job of a run. `conclusion` is None while it runs. `check_run` is the id of the check run that holds its
    annotations.
    """

    name: str
    conclusion: str | None
    check_run: int


@dataclass(frozen=True, slots=True)
class Notice:
    """The title and message of a `::notice title=…::…` that a step printed. Both are untrusted and can be empty."""

    title: str
    message: str


def jobs_of_run(connection: Connection, run: int) -> tuple[GithubJob, ...]:
    """Return all jobs of a run's latest attempt, in GitHub's order. Several jobs may have the same name.

    Raises PermissionMissingError, UsageError if there is no such run, GitHubError.
    """
    with map_errors(connection, f"listing the jobs of run {run}", "actions: read"):
        return tuple(_job(each) for each in connection.hosted.get_workflow_run(run).jobs("latest"))


def _job(found: WorkflowJob) -> GithubJob:
    return GithubJob(found.name, found.conclusion, int(found.check_run_url.rpartition("/")[2]))


def notices(connection: Connection, check_run: int) -> tuple[Notice, ...]:
    """Return the notices of one job in GitHub's order, without warnings and errors.

    GitHub leaves the titles out for a personal token. Raises PermissionMissingError, UsageError, GitHubError.
    """
    with map_errors(connection, f"reading what check run {check_run} said", "checks: read"):
        listed = connection.hosted.get_check_run(check_run).get_annotations()
        return tuple(
            Notice(each.title or "", each.message or "") for each in listed if each.annotation_level == "notice"
        )
