"""Operations on Git objects and branches."""

from __future__ import annotations

import base64
import subprocess
from typing import Any, Final

from tests.doubles.github import responses
from tests.doubles.github.commits import ABSENT, Author, history, is_ancestor, read_commit, write_commit, write_tree
from tests.doubles.github.routes.api_request import (
    CONTENTS,
    CONTENTS_WRITE,
    ApiRequest,
    ApiResponse,
    Refused,
    found,
    listed,
    operation,
    text,
)

TREE_ENTRIES: Final = 100_000
"""The maximum number of tree entries in a response of GitHub."""


def _tree(request: ApiRequest) -> ApiResponse:
    name = request.words[0]
    try:
        entries = request.hosted.git.tree(name, recursive=bool(request.query.get("recursive")))
    except subprocess.CalledProcessError as error:
        raise Refused(404, "Not Found") from error
    sha = request.hosted.git.resolve(f"{name}^{{tree}}")
    most = request.github.tree_entries
    cut = len(entries) > most
    return ApiResponse(200, responses.tree_document(*request.place, sha, entries[:most], cut))


def _blob(request: ApiRequest) -> ApiResponse:
    try:
        content = request.hosted.git.blob(request.words[0])
    except subprocess.CalledProcessError as error:
        raise Refused(404, "Not Found") from error
    return ApiResponse(200, responses.blob_document(*request.place, request.words[0], content))


def _commits(request: ApiRequest) -> ApiResponse:
    git = request.hosted.git
    tip = request.query.get("sha", "main")
    sha = found(git.find(f"refs/heads/{tip}") or git.find(f"{tip}^{{commit}}"))
    rows = history(git, sha, request.query.get("path", ""))
    return listed([responses.commit_document(*request.place, row) for row in rows])


def _commit(request: ApiRequest) -> ApiResponse:
    sha = found(request.hosted.git.find(f"{request.word}^{{commit}}"))
    return ApiResponse(200, responses.git_commit_document(*request.place, read_commit(request.hosted.git, sha)))


def _make_blob(request: ApiRequest) -> ApiResponse:
    encoded = request.body["content"]
    content = base64.b64decode(encoded) if request.body.get("encoding") == "base64" else encoded.encode()
    return ApiResponse(201, responses.short_blob_document(*request.place, request.hosted.git.store("blob", content)))


def _make_tree(request: ApiRequest) -> ApiResponse:
    """Create a tree. As on GitHub, `content` becomes a file, and a `sha` of null removes a file that must exist."""
    git, base = request.hosted.git, request.body.get("base_tree")
    present = {entry.path for entry in git.tree(base, recursive=True)} if base else set()
    rows = [(entry["mode"], _blob_of(request, entry), entry["path"]) for entry in request.body["tree"]]
    if not rows or any(sha == ABSENT and path not in present for _, sha, path in rows):
        raise Refused(422, "GitRPC::BadObjectState")
    sha = write_tree(git, base, rows)
    return ApiResponse(201, responses.tree_document(*request.place, sha, git.tree(sha, recursive=False), False))


def _blob_of(request: ApiRequest, entry: dict[str, Any]) -> str:
    if "content" in entry:
        return request.hosted.git.store("blob", entry["content"].encode())
    sha = entry["sha"]
    if sha is not None and request.hosted.git.find(f"{sha}^{{blob}}") is None:
        raise Refused(422, "tree.sha is not a valid blob")
    return sha or ABSENT


def _make_commit(request: ApiRequest) -> ApiResponse:
    git, user, body = request.hosted.git, request.token.user, request.body
    if any(git.find(f"{parent}^{{commit}}") is None for parent in body.get("parents", ())):
        raise Refused(422, "Parent SHA does not exist")
    author = Author(user.login, f"{user.id}+{user.login}@users.noreply.github.com", request.github.now)
    sha = write_commit(git, body["tree"], body.get("parents", ()), body["message"], author)
    return ApiResponse(201, responses.git_commit_document(*request.place, read_commit(git, sha)))


def _ref(request: ApiRequest) -> ApiResponse:
    ref = f"refs/{request.word}"
    return ApiResponse(200, responses.ref_document(*request.place, ref, found(request.hosted.git.find(ref))))


def _make_ref(request: ApiRequest) -> ApiResponse:
    ref = text(request, "ref")
    if request.hosted.git.find(ref):
        raise Refused(422, "Reference already exists")
    return ApiResponse(201, _moved(request, ref))


def _move_ref(request: ApiRequest) -> ApiResponse:
    ref = f"refs/{request.word}"
    present = request.hosted.git.find(ref)
    if present is None:
        raise Refused(422, "Reference does not exist")
    if not request.body.get("force") and not is_ancestor(request.hosted.git, present, request.body["sha"]):
        raise Refused(422, "Update is not a fast forward")
    return ApiResponse(200, _moved(request, ref))


def _moved(request: ApiRequest, ref: str) -> responses.Document:
    git, sha = request.hosted.git, request.body["sha"]
    allowed = request.hosted.protected.get(ref.removeprefix("refs/heads/"))
    if allowed is not None and request.token.user.id not in allowed:
        raise Refused(422, "Repository rule violations found\n\nChanges must be made through a pull request.\n\n")
    if git.find(f"{sha}^{{commit}}") is None:
        raise Refused(422, "Object does not exist")
    git.run("update-ref", ref, sha)
    request.github.follow()
    return responses.ref_document(*request.place, ref, sha)


ROUTES: Final = (
    operation("GET", r"/commits", CONTENTS, _commits),
    operation("GET", r"/git/trees/([^/]+)", CONTENTS, _tree),
    operation("POST", r"/git/trees", CONTENTS_WRITE, _make_tree),
    operation("GET", r"/git/blobs/([0-9a-f]{40})", CONTENTS, _blob),
    operation("POST", r"/git/blobs", CONTENTS_WRITE, _make_blob),
    operation("GET", r"/git/commits/([0-9a-f]{40})", CONTENTS, _commit),
    operation("POST", r"/git/commits", CONTENTS_WRITE, _make_commit),
    operation("GET", r"/git/ref/(.+)", CONTENTS, _ref),
    operation("POST", r"/git/refs", CONTENTS_WRITE, _make_ref),
    operation("PATCH", r"/git/refs/(.+)", CONTENTS_WRITE, _move_ref),
)
