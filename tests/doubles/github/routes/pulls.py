"""Operations on pull requests."""

from __future__ import annotations

from typing import Final

from tests.doubles.github import responses
from tests.doubles.github.commits import introduced
from tests.doubles.github.hosted_repository import ACTIONS_BOT
from tests.doubles.github.routes.api_request import (
    PULLS,
    PULLS_WRITE,
    ApiRequest,
    ApiResponse,
    Refused,
    found,
    listed,
    operation,
    text,
)
from tests.doubles.github.state import Pull

CHANGED_FILES: Final = 3_000
"""The maximum number of changed files that GitHub lists for a pull request."""


def _pulls(request: ApiRequest) -> ApiResponse:
    pulls = [pull for pull in request.hosted.issues.values() if _is_wanted(request, pull)]
    if request.query.get("sort") == "updated":
        pulls.sort(key=lambda pull: pull.updated)
    if request.query.get("direction", "desc") == "desc":
        pulls.reverse()
    return listed([responses.pull_document(*request.place, pull) for pull in pulls])


def _is_wanted(request: ApiRequest, pull: Pull) -> bool:
    states, base, head = request.query.get("state", "open"), request.query.get("base"), request.query.get("head")
    return (
        bool(pull.head)
        and states in (pull.state, "all")
        and base in (None, pull.base_ref)
        and head in (None, _label(pull))
    )


def _label(pull: Pull) -> str:
    """Return the branch of a pull request in GitHub's form, `owner:branch`."""
    return f"{pull.head_repository.owner.login}:{pull.head_ref}" if pull.head_repository else ""


def _pull(request: ApiRequest) -> ApiResponse:
    pull = request.pull()
    changes = request.hosted.git.changes(pull.base, pull.head)
    return ApiResponse(200, responses.whole_pull_document(*request.place, pull, changes))


def _changed(request: ApiRequest) -> ApiResponse:
    pull = request.pull()
    changes = request.hosted.git.changes(pull.base, pull.head)[:CHANGED_FILES]
    return listed([responses.change_document(*request.place, pull, change) for change in changes])


def _open(request: ApiRequest) -> ApiResponse:
    """Open a pull request from a branch of this repository. The client opens no pull request from a fork."""
    into, branch = text(request, "base"), text(request, "head").removeprefix(f"{request.hosted.owner.login}:")
    if request.token.user == ACTIONS_BOT and not request.hosted.actions_propose:
        raise Refused(403, "GitHub Actions is not permitted to create or approve pull requests.")
    head, base = (request.hosted.git.find(f"refs/heads/{name}") for name in (branch, into))
    if head is None or base is None or not introduced(request.hosted.git, base, head):
        raise Refused(422, "Validation Failed")
    same_base = (pull for pull in request.hosted.issues.values() if pull.state == "open" and pull.base_ref == into)
    if any(_label(pull) == f"{request.hosted.owner.login}:{branch}" for pull in same_base):
        raise Refused(422, "Validation Failed")
    pull = request.github.open_pull(
        request.hosted, request.hosted, branch, text(request, "title"), into, request.token.user
    )
    pull.body = request.body.get("body")
    return ApiResponse(
        201, responses.whole_pull_document(*request.place, pull, request.hosted.git.changes(pull.base, pull.head))
    )


def _change(request: ApiRequest) -> ApiResponse:
    pull = request.pull()
    for name in ("title", "body", "state"):
        if name in request.body:
            setattr(pull, name, request.body[name])
    pull.updated = request.github.now
    return _pull(request)


def _pulls_of_commit(request: ApiRequest) -> ApiResponse:
    """Return the merged pull requests that added a commit. If there are none, return the open ones that contain it."""
    sha = found(request.hosted.git.find(f"{request.word}^{{commit}}"))
    pulls = [issue for issue in request.hosted.issues.values() if issue.head]
    merged = [pull for pull in pulls if sha in pull.introduced]
    git = request.hosted.git
    matching = merged or [
        pull for pull in pulls if pull.state == "open" and sha in introduced(git, pull.base, pull.head)
    ]
    return listed([responses.pull_document(*request.place, pull) for pull in matching])


ROUTES: Final = (
    operation("GET", r"/pulls", PULLS, _pulls),
    operation("POST", r"/pulls", PULLS_WRITE, _open),
    operation("GET", r"/pulls/(\d+)", PULLS, _pull),
    operation("PATCH", r"/pulls/(\d+)", PULLS_WRITE, _change),
    operation("GET", r"/pulls/(\d+)/files", PULLS, _changed),
    operation("GET", r"/commits/([^/]+)/pulls", PULLS, _pulls_of_commit),
)
