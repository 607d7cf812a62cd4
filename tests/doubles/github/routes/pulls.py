"""Pull requests: listed, read, opened and changed."""

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
"""How many changed files of a pull request GitHub lists at most."""


def _pulls(asked: ApiRequest) -> ApiResponse:
    pulls = [each for each in asked.hosted.issues.values() if _wanted(asked, each)]
    if asked.query.get("sort") == "updated":
        pulls.sort(key=lambda pull: pull.updated)
    if asked.query.get("direction", "desc") == "desc":
        pulls.reverse()
    return listed([responses.pull_document(*asked.place, pull) for pull in pulls])


def _wanted(asked: ApiRequest, pull: Pull) -> bool:
    states, base, head = asked.query.get("state", "open"), asked.query.get("base"), asked.query.get("head")
    return (
        bool(pull.head)
        and states in (pull.state, "all")
        and base in (None, pull.base_ref)
        and head in (None, _label(pull))
    )


def _label(pull: Pull) -> str:
    """A pull request's branch as GitHub names it: with its owner."""
    return f"{pull.head_repository.owner.login}:{pull.head_ref}" if pull.head_repository else ""


def _pull(asked: ApiRequest) -> ApiResponse:
    pull = asked.pull()
    changes = asked.hosted.git.changes(pull.base, pull.head)
    return ApiResponse(200, responses.whole_pull_document(*asked.place, pull, changes))


def _changed(asked: ApiRequest) -> ApiResponse:
    pull = asked.pull()
    changes = asked.hosted.git.changes(pull.base, pull.head)[:CHANGED_FILES]
    return listed([responses.change_document(*asked.place, pull, change) for change in changes])


def _open(asked: ApiRequest) -> ApiResponse:
    """A pull request from a branch of this repository: our client opens no others."""
    into, branch = text(asked, "base"), text(asked, "head").removeprefix(f"{asked.hosted.owner.login}:")
    if asked.token.user == ACTIONS_BOT and not asked.hosted.actions_propose:
        raise Refused(403, "GitHub Actions is not permitted to create or approve pull requests.")
    head, base = (asked.hosted.git.find(f"refs/heads/{each}") for each in (branch, into))
    if head is None or base is None or not introduced(asked.hosted.git, base, head):
        raise Refused(422, "Validation Failed")
    same = (each for each in asked.hosted.issues.values() if each.state == "open" and each.base_ref == into)
    if any(_label(each) == f"{asked.hosted.owner.login}:{branch}" for each in same):
        raise Refused(422, "Validation Failed")
    made = asked.github.open_pull(asked.hosted, asked.hosted, branch, text(asked, "title"), into, asked.token.user)
    made.body = asked.body.get("body")
    return ApiResponse(
        201, responses.whole_pull_document(*asked.place, made, asked.hosted.git.changes(made.base, made.head))
    )


def _change(asked: ApiRequest) -> ApiResponse:
    pull = asked.pull()
    for name in ("title", "body", "state"):
        if name in asked.body:
            setattr(pull, name, asked.body[name])
    pull.updated = asked.github.now
    return _pull(asked)


def _brought(asked: ApiRequest) -> ApiResponse:
    """The merged pull requests that brought a commit; where it is on no branch they were merged into, all with it."""
    sha = found(asked.hosted.git.find(f"{asked.word}^{{commit}}"))
    pulls = [each for each in asked.hosted.issues.values() if each.head]
    merged = [each for each in pulls if sha in each.introduced]
    git = asked.hosted.git
    holding = merged or [
        each for each in pulls if each.state == "open" and sha in introduced(git, each.base, each.head)
    ]
    return listed([responses.pull_document(*asked.place, each) for each in holding])


ROUTES: Final = (
    operation("GET", r"/pulls", PULLS, _pulls),
    operation("POST", r"/pulls", PULLS_WRITE, _open),
    operation("GET", r"/pulls/(\d+)", PULLS, _pull),
    operation("PATCH", r"/pulls/(\d+)", PULLS_WRITE, _change),
    operation("GET", r"/pulls/(\d+)/files", PULLS, _changed),
    operation("GET", r"/commits/([^/]+)/pulls", PULLS, _brought),
)
