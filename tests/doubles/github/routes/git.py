"""Git's own objects and branches: read, made and moved."""

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
"""How many entries of a tree GitHub answers with at most."""


def _tree(asked: ApiRequest) -> ApiResponse:
    name = asked.words[0]
    try:
        entries = asked.hosted.git.tree(name, recursive=bool(asked.query.get("recursive")))
    except subprocess.CalledProcessError as error:
        raise Refused(404, "Not Found") from error
    sha = asked.hosted.git.resolve(f"{name}^{{tree}}")
    most = asked.github.tree_entries
    cut = len(entries) > most
    return ApiResponse(200, responses.tree_document(*asked.place, sha, entries[:most], cut))


def _blob(asked: ApiRequest) -> ApiResponse:
    try:
        content = asked.hosted.git.blob(asked.words[0])
    except subprocess.CalledProcessError as error:
        raise Refused(404, "Not Found") from error
    return ApiResponse(200, responses.blob_document(*asked.place, asked.words[0], content))


def _commits(asked: ApiRequest) -> ApiResponse:
    git = asked.hosted.git
    tip = asked.query.get("sha", "main")
    sha = found(git.find(f"refs/heads/{tip}") or git.find(f"{tip}^{{commit}}"))
    rows = history(git, sha, asked.query.get("path", ""))
    return listed([responses.commit_document(*asked.place, each) for each in rows])


def _commit(asked: ApiRequest) -> ApiResponse:
    sha = found(asked.hosted.git.find(f"{asked.word}^{{commit}}"))
    return ApiResponse(200, responses.git_commit_document(*asked.place, read_commit(asked.hosted.git, sha)))


def _make_blob(asked: ApiRequest) -> ApiResponse:
    said = asked.body["content"]
    content = base64.b64decode(said) if asked.body.get("encoding") == "base64" else said.encode()
    return ApiResponse(201, responses.short_blob_document(*asked.place, asked.hosted.git.store("blob", content)))


def _make_tree(asked: ApiRequest) -> ApiResponse:
    """As GitHub does it: `content` is made a file, a `sha` of null removes what must be there."""
    git, base = asked.hosted.git, asked.body.get("base_tree")
    present = {each.path for each in git.tree(base, recursive=True)} if base else set()
    rows = [(each["mode"], _blob_of(asked, each), each["path"]) for each in asked.body["tree"]]
    if not rows or any(sha == ABSENT and path not in present for _, sha, path in rows):
        raise Refused(422, "GitRPC::BadObjectState")
    sha = write_tree(git, base, rows)
    return ApiResponse(201, responses.tree_document(*asked.place, sha, git.tree(sha, recursive=False), False))


def _blob_of(asked: ApiRequest, entry: dict[str, Any]) -> str:
    if "content" in entry:
        return asked.hosted.git.store("blob", entry["content"].encode())
    sha = entry["sha"]
    if sha is not None and asked.hosted.git.find(f"{sha}^{{blob}}") is None:
        raise Refused(422, "tree.sha is not a valid blob")
    return sha or ABSENT


def _make_commit(asked: ApiRequest) -> ApiResponse:
    git, user, body = asked.hosted.git, asked.token.user, asked.body
    if any(git.find(f"{each}^{{commit}}") is None for each in body.get("parents", ())):
        raise Refused(422, "Parent SHA does not exist")
    author = Author(user.login, f"{user.id}+{user.login}@users.noreply.github.com", asked.github.now)
    made = write_commit(git, body["tree"], body.get("parents", ()), body["message"], author)
    return ApiResponse(201, responses.git_commit_document(*asked.place, read_commit(git, made)))


def _ref(asked: ApiRequest) -> ApiResponse:
    ref = f"refs/{asked.word}"
    return ApiResponse(200, responses.ref_document(*asked.place, ref, found(asked.hosted.git.find(ref))))


def _make_ref(asked: ApiRequest) -> ApiResponse:
    ref = text(asked, "ref")
    if asked.hosted.git.find(ref):
        raise Refused(422, "Reference already exists")
    return ApiResponse(201, _moved(asked, ref))


def _move_ref(asked: ApiRequest) -> ApiResponse:
    ref = f"refs/{asked.word}"
    present = asked.hosted.git.find(ref)
    if present is None:
        raise Refused(422, "Reference does not exist")
    if not asked.body.get("force") and not is_ancestor(asked.hosted.git, present, asked.body["sha"]):
        raise Refused(422, "Update is not a fast forward")
    return ApiResponse(200, _moved(asked, ref))


def _moved(asked: ApiRequest, ref: str) -> responses.Document:
    git, sha = asked.hosted.git, asked.body["sha"]
    allowed = asked.hosted.protected.get(ref.removeprefix("refs/heads/"))
    if allowed is not None and asked.token.user.id not in allowed:
        raise Refused(422, "Repository rule violations found\n\nChanges must be made through a pull request.\n\n")
    if git.find(f"{sha}^{{commit}}") is None:
        raise Refused(422, "Object does not exist")
    git.run("update-ref", ref, sha)
    asked.github.follow()
    return responses.ref_document(*asked.place, ref, sha)


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
