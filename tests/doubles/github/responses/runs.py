"""Runs, their jobs, annotations and artifacts in GitHub's responses."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from tests.doubles.github.responses.repositories import (
    Document,
    addresses,
    node,
    repository_document,
    repository_url,
    stamp,
)
from tests.doubles.github.state import Annotation, Artifact, HostedRepo, JobState, WorkflowRun


def run_document(url: str, hosted: HostedRepo, run: WorkflowRun) -> Document:
    """Return a `workflow-run`. `pull_requests` is empty, because GitHub lists no pull request from a fork there."""
    here = f"{repository_url(url, hosted)}/actions/runs/{run.id}"
    person = {"name": "A person", "email": "person@example.org"}
    commit = {"id": run.head, "tree_id": run.head, "message": "A change", "timestamp": stamp(run.created)}
    return {
        **addresses(here, "jobs logs cancel rerun artifacts"),
        "check_suite_url": f"{here}/suite",
        "workflow_url": f"{here}/workflow",
        "url": here,
        "html_url": here,
        "id": run.id,
        "node_id": node("W", run.id),
        "name": run.workflow,
        "head_branch": run.head_ref,
        "head_sha": run.head,
        "path": f".github/workflows/{run.workflow}.yml",
        "run_number": 1,
        "run_attempt": run.attempt,
        "event": run.event,
        "status": "completed" if run.conclusion else "in_progress",
        "conclusion": run.conclusion,
        "workflow_id": 1,
        "display_title": "A change",
        "created_at": stamp(run.created),
        "updated_at": stamp(run.created),
        "pull_requests": [],
        "head_commit": {**commit, "author": person, "committer": person},
        "repository": repository_document(url, hosted),
        "head_repository": repository_document(url, run.head_repository),
    }


def artifact_document(url: str, hosted: HostedRepo, artifact: Artifact) -> Document:
    """Return an `artifact`."""
    here = f"{repository_url(url, hosted)}/actions/artifacts/{artifact.id}"
    made, gone = stamp(artifact.created), stamp(artifact.created + timedelta(days=90))
    return {
        "id": artifact.id,
        "node_id": node("A", artifact.id),
        "name": artifact.name,
        "url": here,
        "size_in_bytes": artifact.size,
        "archive_download_url": f"{here}/zip",
        "expired": artifact.expired,
        "created_at": made,
        "updated_at": made,
        "expires_at": gone,
        "digest": "sha256:" + hashlib.sha256(artifact.content).hexdigest(),
    }


def job_document(url: str, hosted: HostedRepo, run: WorkflowRun, job: JobState) -> Document:
    """Return a `job`."""
    here = f"{repository_url(url, hosted)}/actions"
    when = stamp(job.created)
    return {
        "id": job.id,
        "node_id": node("J", job.id),
        "run_id": run.id,
        "run_attempt": job.attempt,
        "run_url": f"{here}/runs/{run.id}",
        "url": f"{here}/jobs/{job.id}",
        "html_url": f"{url}/{hosted.full_name}/actions/runs/{run.id}/job/{job.id}",
        "check_run_url": f"{repository_url(url, hosted)}/check-runs/{job.check_run}",
        "head_sha": run.head,
        "head_branch": run.head_ref,
        "workflow_name": run.workflow,
        "name": job.name,
        "status": "completed" if job.conclusion else "in_progress",
        "conclusion": job.conclusion,
        "created_at": when,
        "started_at": when,
        "completed_at": when if job.conclusion else None,
        "labels": ["ubuntu-24.04"],
        **dict.fromkeys(("runner_id", "runner_name", "runner_group_id", "runner_group_name"), None),
    }


def annotation_document(url: str, hosted: HostedRepo, run: WorkflowRun, annotation: Annotation) -> Document:
    """Return a `check-annotation`. The path of an annotation without a file is `.github`."""
    return {
        "path": annotation.path,
        "blob_href": f"{url}/{hosted.full_name}/blob/{run.head}/{annotation.path}",
        "start_line": annotation.line,
        "end_line": annotation.line,
        "start_column": None,
        "end_column": None,
        "annotation_level": annotation.level,
        "title": annotation.title,
        "message": annotation.message,
        "raw_details": "",
    }
