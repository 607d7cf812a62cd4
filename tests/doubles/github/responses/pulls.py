"""Pull requests in GitHub's responses."""

from __future__ import annotations

from urllib.parse import quote

from tests.doubles.github.repositories import FileChange
from tests.doubles.github.responses.issues import shared
from tests.doubles.github.responses.repositories import (
    Document,
    maybe_user,
    repository_document,
    repository_url,
    stamp,
    user_document,
)
from tests.doubles.github.state import HostedRepo, Pull, User


def _side(url: str, hosted: HostedRepo | None, owner: User | None, ref: str, sha: str) -> Document:
    """Return the head or base of a pull request.

    For a deleted fork, GitHub sends null as `repo`, which its own description does not allow.
    """
    repo = repository_document(url, hosted) if hosted else None
    label = f"{owner.login if owner else 'unknown'}:{ref}"
    return {"label": label, "ref": ref, "sha": sha, "repo": repo, "user": maybe_user(url, owner)}


def pull_document(url: str, hosted: HostedRepo, pull: Pull) -> Document:
    """Return a `pull-request-simple`, an entry in a list of pull requests."""
    here = f"{repository_url(url, hosted)}/pulls/{pull.number}"
    issue = f"{repository_url(url, hosted)}/issues/{pull.number}"
    page = f"{url}/{hosted.full_name}/pull/{pull.number}"
    addresses = {
        "url": here,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue,
        "commits_url": f"{here}/commits",
        "review_comments_url": f"{here}/comments",
        "review_comment_url": f"{here}/comments/1",
        "comments_url": f"{issue}/comments",
        "statuses_url": f"{repository_url(url, hosted)}/statuses/{pull.head}",
    }
    kinds = ("comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment")
    links = {kind: {"href": addresses[f"{kind}_url"]} for kind in kinds}
    fork = pull.head_repository
    return {
        **shared(url, hosted, pull),
        **addresses,
        "_links": {**links, "self": {"href": here}},
        "auto_merge": None,
        "draft": False,
        "head": _side(url, fork, fork.owner if fork else pull.user, pull.head_ref, pull.head),
        "base": _side(url, hosted, hosted.owner, pull.base_ref, pull.base),
        "merge_commit_sha": pull.merge_commit,
        "closed_at": stamp(pull.updated) if pull.state == "closed" else None,
        "merged_at": stamp(pull.merged) if pull.merged else None,
    }


def whole_pull_document(url: str, hosted: HostedRepo, pull: Pull, changes: list[FileChange]) -> Document:
    """Return a `pull-request`, the response for a single pull request."""
    counted = {"additions": sum(each.additions for each in changes), "deletions": sum(c.deletions for c in changes)}
    return {
        **pull_document(url, hosted, pull),
        **counted,
        "changed_files": len(changes),
        "comments": len(pull.comments),
        "commits": 1,
        "review_comments": 0,
        "mergeable": None,
        "mergeable_state": "unknown",
        "merged": pull.merged is not None,
        "rebaseable": None,
        "maintainer_can_modify": True,
        "merged_by": user_document(url, hosted.owner) if pull.merged else None,
    }


def change_document(url: str, hosted: HostedRepo, pull: Pull, change: FileChange) -> Document:
    """Return a `diff-entry` without its patch."""
    path = f"{pull.head}/{quote(change.path)}"
    earlier = {"previous_filename": change.earlier} if change.earlier else {}
    return {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        **earlier,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{url}/{hosted.full_name}/blob/{path}",
        "raw_url": f"{url}/{hosted.full_name}/raw/{path}",
        "contents_url": f"{repository_url(url, hosted)}/contents/{quote(change.path)}?ref={pull.head}",
    }
