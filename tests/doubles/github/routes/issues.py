"""Issues, comments and labels, which pull requests have too."""

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


def _issue(asked: ApiRequest) -> ApiResponse:
    return ApiResponse(200, responses.issue_document(*asked.place, asked.issue()))


def _change(asked: ApiRequest) -> ApiResponse:
    issue = asked.issue("write")
    for name in ("title", "body", "state"):
        if name in asked.body:
            setattr(issue, name, asked.body[name])
    issue.reason = asked.body.get("state_reason") if issue.state == "closed" else None
    issue.updated = asked.github.now
    return ApiResponse(200, responses.issue_document(*asked.place, issue))


def _comments(asked: ApiRequest) -> ApiResponse:
    issue = asked.issue()
    rows = [responses.comment_document(*asked.place, issue, each) for each in issue.comments]
    return listed(rows)


def _comment(asked: ApiRequest) -> ApiResponse:
    issue = asked.issue("write")
    made = asked.github.comment(issue, asked.token.user, text(asked, "body"))
    return ApiResponse(201, responses.comment_document(*asked.place, issue, made))


def _edit(asked: ApiRequest) -> ApiResponse:
    places = ((issue, each) for issue in asked.hosted.issues.values() for each in issue.comments)
    issue, comment = found(next((pair for pair in places if pair[1].id == asked.number), None))
    comment.body, comment.updated = text(asked, "body"), asked.github.now
    return ApiResponse(200, responses.comment_document(*asked.place, issue, comment))


def _issue_labels(asked: ApiRequest) -> ApiResponse:
    return listed(_labels_of(asked, asked.issue()))


def _labels_of(asked: ApiRequest, issue: Pull) -> list[responses.Document]:
    labels = asked.hosted.labels
    return [responses.label_document(*asked.place, labels[name.casefold()]) for name in issue.labels]


def _add_labels(asked: ApiRequest) -> ApiResponse:
    issue = asked.issue("write")
    for name in asked.body["labels"] if isinstance(asked.body, dict) else asked.body:
        label = asked.github.label(asked.hosted, name, "ededed")
        if label.name not in issue.labels:
            issue.labels.append(label.name)
    return ApiResponse(200, _labels_of(asked, issue))


def _remove_label(asked: ApiRequest) -> ApiResponse:
    issue, name = asked.issue("write"), unquote(asked.words[1])
    if name not in issue.labels:
        raise Refused(404, "Label does not exist")
    issue.labels.remove(name)
    return ApiResponse(200, _labels_of(asked, issue))


def _label(asked: ApiRequest) -> ApiResponse:
    label: Label = found(asked.hosted.labels.get(asked.word.casefold()))
    return ApiResponse(200, responses.label_document(*asked.place, label))


def _make_label(asked: ApiRequest) -> ApiResponse:
    name = text(asked, "name")
    if name.casefold() in asked.hosted.labels:
        raise Refused(422, "Validation Failed")
    made = asked.github.label(asked.hosted, name, asked.body["color"], asked.body.get("description"))
    return ApiResponse(201, responses.label_document(*asked.place, made))


ROUTES: Final = (
    operation("GET", r"/issues/(\d+)", _READ, _issue),
    operation("PATCH", r"/issues/(\d+)", _WRITE, _change),
    operation("GET", r"/issues/(\d+)/comments", _READ, _comments),
    operation("POST", r"/issues/(\d+)/comments", _WRITE, _comment),
    operation("PATCH", r"/issues/comments/(\d+)", _WRITE, _edit),
    operation("GET", r"/issues/(\d+)/labels", _READ, _issue_labels),
    operation("POST", r"/issues/(\d+)/labels", _WRITE, _add_labels),
    operation("DELETE", r"/issues/(\d+)/labels/([^/]+)", _WRITE, _remove_label),
    operation("GET", r"/labels/([^/]+)", _READ, _label),
    operation("POST", r"/labels", _WRITE, _make_label),
)
