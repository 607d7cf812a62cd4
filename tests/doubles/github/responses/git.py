"""Git's objects in GitHub's responses."""

from __future__ import annotations

import base64

from tests.doubles.github.commits import CommitEntry
from tests.doubles.github.repositories import TreeEntry
from tests.doubles.github.responses.repositories import Document, node, repository_url
from tests.doubles.github.state import HostedRepo


def tree_document(url: str, hosted: HostedRepo, sha: str, entries: list[TreeEntry], truncated: bool) -> Document:
    """Return a `git-tree`."""
    here = f"{repository_url(url, hosted)}/git"
    rows = []
    for entry in entries:
        mode = entry.mode.rjust(6, "0")
        row: Document = {"path": entry.path, "mode": mode, "type": entry.kind, "sha": entry.sha}
        rows.append({**row, **({"size": entry.size} if entry.size is not None else {})})
    return {"sha": sha, "url": f"{here}/trees/{sha}", "tree": rows, "truncated": truncated}


def blob_document(url: str, hosted: HostedRepo, sha: str, content: bytes) -> Document:
    """Return a `blob`. As on GitHub, its base64 text has line breaks."""
    where = f"{repository_url(url, hosted)}/git/blobs/{sha}"
    said = base64.encodebytes(content).decode()
    about = {"sha": sha, "node_id": node("B", int(sha[:8], 16)), "url": where}
    return {**about, "size": len(content), "content": said, "encoding": "base64"}


def short_blob_document(url: str, hosted: HostedRepo, sha: str) -> Document:
    """Return a `short-blob`, the response to a new blob."""
    return {"sha": sha, "url": f"{repository_url(url, hosted)}/git/blobs/{sha}"}


def ref_document(url: str, hosted: HostedRepo, ref: str, sha: str) -> Document:
    """Return a `git-ref`."""
    here = f"{repository_url(url, hosted)}/git"
    target = {"type": "commit", "sha": sha, "url": f"{here}/commits/{sha}"}
    return {"ref": ref, "node_id": node("F", 1), "url": f"{here}/{ref}", "object": target}


_UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def git_commit_document(url: str, hosted: HostedRepo, commit: CommitEntry) -> Document:
    """Return a `git-commit`, which has only the data that Git itself stores."""
    here = f"{repository_url(url, hosted)}/git"
    about = {"name": commit.name, "email": commit.email, "date": commit.date}
    return {
        "sha": commit.sha,
        "node_id": node("G", int(commit.sha[:8], 16)),
        "url": f"{here}/commits/{commit.sha}",
        "html_url": f"{url}/{hosted.full_name}/commit/{commit.sha}",
        "author": about,
        "committer": about,
        "message": commit.message,
        "tree": {"sha": commit.tree, "url": f"{here}/trees/{commit.tree}"},
        "parents": [_parent(url, hosted, each) for each in commit.parents],
        "verification": _UNSIGNED,
    }


def _parent(url: str, hosted: HostedRepo, sha: str) -> Document:
    where = f"{repository_url(url, hosted)}/commits/{sha}"
    return {"sha": sha, "url": where, "html_url": f"{url}/{hosted.full_name}/commit/{sha}"}


def commit_document(url: str, hosted: HostedRepo, commit: CommitEntry) -> Document:
    """Return a `commit`, as in histories. No account has its email address, so `author` and `committer` are null."""
    where = f"{repository_url(url, hosted)}/commits/{commit.sha}"
    said = git_commit_document(url, hosted, commit)
    kept = ("author", "committer", "message", "tree", "url", "verification")
    return {
        **{name: said[name] for name in ("sha", "node_id", "html_url", "parents")},
        "url": where,
        "comments_url": f"{where}/comments",
        "commit": {**{name: said[name] for name in kept}, "comment_count": 0},
        "author": None,
        "committer": None,
    }
