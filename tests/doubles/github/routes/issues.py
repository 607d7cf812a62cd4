"""Operations on issues, comments and labels, for pull requests too."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from tests.doubles.github import responses
from tests.doubles.github.routes.api_request import (
    ApiRequest,
    ApiResponse,
    Needs,
    Refused,
    found,
    listed,
    operation,
    text,
)
from tests.doubles.github.state import Label, Pull

_READ: Final[Needs] = (("issues", "read"), ("pull_requests", "read"))
_WRITE: Final[Needs] = (("issues", "write"), ("pull_requests", "write"))


def _issue(request: ApiRequest) -> ApiResponse:
    return ApiResponse(200, responses.issue_document(*request.place, request.issue()))


def _comments(request: ApiRequest) -> ApiResponse:
    issue = request.issue()
    rows = [responses.comment_document(*request.place, issue, comment) for comment in issue.comments]
    return listed(rows)


def _comment(request: ApiRequest) -> ApiResponse:
    issue = request.issue("write")
    comment = request.github.comment(issue, request.token.user, text(request, "body"))
    return ApiResponse(201, responses.comment_document(*request.place, issue, comment))


def _edit(request: ApiRequest) -> ApiResponse:
    pairs = ((issue, comment) for issue in request.hosted.issues.values() for comment in issue.comments)
    issue, comment = found(next((pair for pair in pairs if pair[1].id == request.number), None))
    comment.body, comment.updated = text(request, "body"), request.github.now
    return ApiResponse(200, responses.comment_document(*request.place, issue, comment))


def _issue_labels(request: ApiRequest) -> ApiResponse:
    return listed(_labels_of(request, request.issue()))


def _labels_of(request: ApiRequest, issue: Pull) -> list[responses.Document]:
    labels = request.hosted.labels
    return [responses.label_document(*request.place, labels[name.casefold()]) for name in issue.labels]


def _add_labels(request: ApiRequest) -> ApiResponse:
    issue = request.issue("write")
    for name in request.body["labels"] if isinstance(request.body, dict) else request.body:
        label = request.github.label(request.hosted, name, "ededed")
        if label.name not in issue.labels:
            issue.labels.append(label.name)
    return ApiResponse(200, _labels_of(request, issue))


def _remove_label(request: ApiRequest) -> ApiResponse:
    issue, name = request.issue("write"), unquote(request.words[1])
    if name not in issue.labels:
        raise Refused(404, "Label does not exist")
    issue.labels.remove(name)
    return ApiResponse(200, _labels_of(request, issue))


def _label(request: ApiRequest) -> ApiResponse:
    label: Label = found(request.hosted.labels.get(request.word.casefold()))
    return ApiResponse(200, responses.label_document(*request.place, label))


def _make_label(request: ApiRequest) -> ApiResponse:
    name = text(request, "name")
    if name.casefold() in request.hosted.labels:
        raise Refused(422, "Validation Failed")
    label = request.github.label(request.hosted, name, request.body["color"], request.body.get("description"))
    return ApiResponse(201, responses.label_document(*request.place, label))


ROUTES: Final = (
    operation("GET", r"/issues/(\d+)", _READ, _issue),
    operation("GET", r"/issues/(\d+)/comments", _READ, _comments),
    operation("POST", r"/issues/(\d+)/comments", _WRITE, _comment),
    operation("PATCH", r"/issues/comments/(\d+)", _WRITE, _edit),
    operation("GET", r"/issues/(\d+)/labels", _READ, _issue_labels),
    operation("POST", r"/issues/(\d+)/labels", _WRITE, _add_labels),
    operation("DELETE", r"/issues/(\d+)/labels/([^/]+)", _WRITE, _remove_label),
    operation("GET", r"/labels/([^/]+)", _READ, _label),
    operation("POST", r"/labels", _WRITE, _make_label),
)
