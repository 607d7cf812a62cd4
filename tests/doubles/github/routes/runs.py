"""Operations on runs, their jobs, annotations and artifacts."""

from __future__ import annotations

from typing import Final

from tests.doubles.github import responses
from tests.doubles.github.routes.api_request import ApiRequest, ApiResponse, Needs, Refused, found, listed, operation

_ACTIONS: Final[Needs] = (("actions", "read"),)
_CHECKS: Final[Needs] = (("checks", "read"),)


def _run(request: ApiRequest) -> ApiResponse:
    return ApiResponse(200, responses.run_document(*request.place, found(request.hosted.runs.get(request.number))))


def _artifacts(request: ApiRequest) -> ApiResponse:
    run = found(request.hosted.runs.get(request.number))
    rows = [responses.artifact_document(*request.place, artifact) for artifact in run.artifacts]
    return listed(rows, under="artifacts")


def _download(request: ApiRequest) -> ApiResponse:
    artifacts = (artifact for run in request.hosted.runs.values() for artifact in run.artifacts)
    artifact = found(next((artifact for artifact in artifacts if artifact.id == request.number), None))
    if artifact.expired:
        raise Refused(410, "Artifact has expired")
    return ApiResponse(302, None, {"Location": request.github.signed(artifact)})


def _jobs(request: ApiRequest) -> ApiResponse:
    run = found(request.hosted.runs.get(request.number))
    latest = request.query.get("filter", "latest") == "latest"
    jobs = [job for job in run.jobs if not latest or job.attempt == run.attempt]
    return listed([responses.job_document(*request.place, run, job) for job in jobs], under="jobs")


def _annotations(request: ApiRequest) -> ApiResponse:
    pairs = ((run, job) for run in request.hosted.runs.values() for job in run.jobs)
    run, job = found(next((pair for pair in pairs if pair[1].check_run == request.number), None))
    return listed([responses.annotation_document(*request.place, run, annotation) for annotation in job.annotations])


ROUTES: Final = (
    operation("GET", r"/actions/runs/(\d+)", _ACTIONS, _run),
    operation("GET", r"/actions/runs/(\d+)/artifacts", _ACTIONS, _artifacts),
    operation("GET", r"/actions/runs/(\d+)/jobs", _ACTIONS, _jobs),
    operation("GET", r"/actions/artifacts/(\d+)/zip", _ACTIONS, _download),
    operation("GET", r"/check-runs/(\d+)/annotations", _CHECKS, _annotations),
)
