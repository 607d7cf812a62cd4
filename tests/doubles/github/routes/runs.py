"""Runs, their jobs, what those said, and artifacts."""

from __future__ import annotations

from typing import Final

from tests.doubles.github import responses
from tests.doubles.github.routes.api_request import ApiRequest, ApiResponse, Needs, Refused, found, listed, operation

_ACTIONS: Final[Needs] = (("actions", "read"),)
_CHECKS: Final[Needs] = (("checks", "read"),)


def _run(asked: ApiRequest) -> ApiResponse:
    return ApiResponse(200, responses.run_document(*asked.place, found(asked.hosted.runs.get(asked.number))))


def _artifacts(asked: ApiRequest) -> ApiResponse:
    run = found(asked.hosted.runs.get(asked.number))
    rows = [responses.artifact_document(*asked.place, each) for each in run.artifacts]
    return listed(rows, under="artifacts")


def _download(asked: ApiRequest) -> ApiResponse:
    every = (each for run in asked.hosted.runs.values() for each in run.artifacts)
    artifact = found(next((each for each in every if each.id == asked.number), None))
    if artifact.expired:
        raise Refused(410, "Artifact has expired")
    return ApiResponse(302, None, {"Location": asked.github.signed(artifact)})


def _jobs(asked: ApiRequest) -> ApiResponse:
    run = found(asked.hosted.runs.get(asked.number))
    latest = asked.query.get("filter", "latest") == "latest"
    jobs = [each for each in run.jobs if not latest or each.attempt == run.attempt]
    return listed([responses.job_document(*asked.place, run, each) for each in jobs], under="jobs")


def _annotations(asked: ApiRequest) -> ApiResponse:
    every = ((run, job) for run in asked.hosted.runs.values() for job in run.jobs)
    run, job = found(next((pair for pair in every if pair[1].check_run == asked.number), None))
    return listed([responses.annotation_document(*asked.place, run, each) for each in job.annotations])


ROUTES: Final = (
    operation("GET", r"/actions/runs/(\d+)", _ACTIONS, _run),
    operation("GET", r"/actions/runs/(\d+)/artifacts", _ACTIONS, _artifacts),
    operation("GET", r"/actions/runs/(\d+)/jobs", _ACTIONS, _jobs),
    operation("GET", r"/actions/artifacts/(\d+)/zip", _ACTIONS, _download),
    operation("GET", r"/check-runs/(\d+)/annotations", _CHECKS, _annotations),
)
