"""This module reads the jobs of a workflow run, and the notices that each job printed.

Only two programs can add annotations to a job: the job's own runner, from the output of the job's steps, and a program
with a `checks: write` token. So without such a token, no other job can add a notice, and a notice is trusted for its
own job.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.github.connection import Connection, map_errors


@dataclass(frozen=True, slots=True)
class GithubJob:
    """A job of a workflow run. `conclusion` is None while the job runs. `check_run` is the id of the check run with the
    job's annotations.
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

    Raises UsageError if the run does not exist. Also raises PermissionMissingError if the token lacks a permission, and
    GitHubError if GitHub fails.
    """
    with map_errors(connection, f"listing the jobs of run {run}", "actions: read"):
        return tuple(
            GithubJob(job.name, job.conclusion, int(job.check_run_url.rpartition("/")[2]))
            for job in connection.hosted.get_workflow_run(run).jobs("latest")
        )


def notices(connection: Connection, check_run: int) -> tuple[Notice, ...]:
    """Return the notices of one job in GitHub's order, without warnings and errors.

    GitHub keeps at most 10 notices of a step and 50 annotations of a job, and silently drops the rest. GitHub omits the
    titles if the token is a personal token. Raises UsageError if the check run does not exist. Also raises
    PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    with map_errors(connection, f"reading the annotations of check run {check_run}", "checks: read"):
        annotations = connection.hosted.get_check_run(check_run).get_annotations()
        return tuple(
            Notice(annotation.title or "", annotation.message or "")
            for annotation in annotations
            if annotation.annotation_level == "notice"
        )
