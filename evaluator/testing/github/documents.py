"""The JSON documents that GitHub answers with, complete enough for its own description of them."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from evaluator.testing.github.repositories import Change, TreeEntry
from evaluator.testing.github.state import Artifact, Comment, Hosted, Label, Pull, Run, User

Document = dict[str, Any]

_USER_PATHS: Final = "events followers following gists organizations:orgs received_events repos starred subscriptions"
_REPOSITORY_PATHS: Final = (
    "archive assignees blobs:git/blobs branches collaborators comments commits compare contents contributors "
    "deployments downloads events forks git_commits:git/commits git_refs:git/refs git_tags:git/tags hooks "
    "issue_comment:issues/comments issue_events:issues/events issues keys labels languages merges milestones "
    "notifications pulls releases stargazers statuses subscribers subscription tags teams trees:git/trees"
)
_FLAGS: Final = "downloads issues projects wiki pages"
_COUNTS: Final = "forks forks_count open_issues open_issues_count size stargazers_count watchers watchers_count"


def stamp(when: datetime) -> str:
    """A time as GitHub writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _node(kind: str, number: int) -> str:
    return base64.b64encode(f"{kind}{number}".encode()).decode()


def _addresses(url: str, paths: str) -> Document:
    pairs = (path.partition(":") for path in paths.split())
    return {f"{name}_url": f"{url}/{other or name}" for name, _, other in pairs}


def user_document(url: str, user: User) -> Document:
    """A `simple-user`."""
    here = f"{url}/users/{quote(user.login)}"
    return {
        **_addresses(here, _USER_PATHS),
        "login": user.login,
        "id": user.id,
        "node_id": _node("U", user.id),
        "type": user.kind,
        "url": here,
        "avatar_url": f"{here}/avatar",
        "html_url": f"{here}/page",
        "gravatar_id": "",
        "site_admin": False,
    }


def maybe_user(url: str, user: User | None) -> Document | None:
    """A `nullable-simple-user`: null where the account is gone."""
    return user_document(url, user) if user else None


def _repository_url(url: str, hosted: Hosted) -> str:
    return f"{url}/repos/{hosted.full_name}"


def repository_document(url: str, hosted: Hosted) -> Document:
    """A `repository`, which is a `minimal-repository` too."""
    here = _repository_url(url, hosted)
    page, made = f"{url}/{hosted.full_name}", stamp(hosted.created)
    return {
        **_addresses(here, _REPOSITORY_PATHS),
        **{f"has_{name}": name == "issues" for name in _FLAGS.split()},
        **dict.fromkeys(_COUNTS.split(), 0),
        **dict.fromkeys(("description", "homepage", "language", "license", "mirror_url"), None),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), made),
        **{f"{name}_url": page for name in ("html", "clone", "git", "ssh", "svn")},
        "id": hosted.id,
        "node_id": _node("R", hosted.id),
        "name": hosted.name,
        "full_name": hosted.full_name,
        "owner": user_document(url, hosted.owner),
        "private": False,
        "fork": hosted.parent is not None,
        "url": here,
        "default_branch": "main",
        "archived": False,
        "disabled": False,
    }


def label_document(url: str, hosted: Hosted, label: Label) -> Document:
    """A `label`."""
    about = {"name": label.name, "color": label.color, "description": label.description, "default": False}
    where = f"{_repository_url(url, hosted)}/labels/{quote(label.name)}"
    return {"id": label.id, "node_id": _node("L", label.id), "url": where, **about}


def comment_document(url: str, hosted: Hosted, issue: Pull, comment: Comment) -> Document:
    """An `issue-comment`."""
    here = f"{_repository_url(url, hosted)}/issues"
    return {
        "id": comment.id,
        "node_id": _node("C", comment.id),
        "url": f"{here}/comments/{comment.id}",
        "html_url": f"{url}/{hosted.full_name}/pull/{issue.number}#issuecomment-{comment.id}",
        "issue_url": f"{here}/{issue.number}",
        "user": maybe_user(url, comment.user),
        "body": comment.body,
        "created_at": stamp(comment.created),
        "updated_at": stamp(comment.updated),
        "author_association": "NONE",
    }


def _shared(url: str, hosted: Hosted, issue: Pull) -> Document:
    return {
        "id": issue.id,
        "node_id": _node("I", issue.id),
        "number": issue.number,
        "state": issue.state,
        "title": issue.title,
        "body": issue.body,
        "user": maybe_user(url, issue.user),
        "locked": False,
        "created_at": stamp(issue.created),
        "updated_at": stamp(issue.updated),
        "assignee": None,
        "milestone": None,
        "author_association": issue.association,
        "labels": [label_document(url, hosted, hosted.labels[name.casefold()]) for name in issue.labels],
    }


def _side(url: str, hosted: Hosted | None, owner: User | None, ref: str, sha: str) -> Document:
    """A pull request's head or base. GitHub answers null for a fork that is gone, though its description forbids it."""
    repo = repository_document(url, hosted) if hosted else None
    label = f"{owner.login if owner else 'unknown'}:{ref}"
    return {"label": label, "ref": ref, "sha": sha, "repo": repo, "user": maybe_user(url, owner)}


def pull_document(url: str, hosted: Hosted, pull: Pull) -> Document:
    """A `pull-request-simple`: as it stands in lists."""
    here = f"{_repository_url(url, hosted)}/pulls/{pull.number}"
    issue = f"{_repository_url(url, hosted)}/issues/{pull.number}"
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
        "statuses_url": f"{_repository_url(url, hosted)}/statuses/{pull.head}",
    }
    kinds = ("comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment")
    links = {kind: {"href": addresses[f"{kind}_url"]} for kind in kinds}
    fork = pull.head_repository
    return {
        **_shared(url, hosted, pull),
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


def whole_pull_document(url: str, hosted: Hosted, pull: Pull, changes: list[Change]) -> Document:
    """A `pull-request`: as it stands by itself."""
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


def change_document(url: str, hosted: Hosted, pull: Pull, change: Change) -> Document:
    """A `diff-entry`, without its patch."""
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
        "contents_url": f"{_repository_url(url, hosted)}/contents/{quote(change.path)}?ref={pull.head}",
    }


def tree_document(url: str, hosted: Hosted, sha: str, entries: list[TreeEntry], truncated: bool) -> Document:
    """A `git-tree`."""
    here = f"{_repository_url(url, hosted)}/git"
    rows = []
    for entry in entries:
        mode = entry.mode.rjust(6, "0")
        row: Document = {"path": entry.path, "mode": mode, "type": entry.kind, "sha": entry.sha}
        rows.append({**row, **({"size": entry.size} if entry.size is not None else {})})
    return {"sha": sha, "url": f"{here}/trees/{sha}", "tree": rows, "truncated": truncated}


def blob_document(url: str, hosted: Hosted, sha: str, content: bytes) -> Document:
    """A `blob`, its base64 broken into lines as GitHub does."""
    where = f"{_repository_url(url, hosted)}/git/blobs/{sha}"
    said = base64.encodebytes(content).decode()
    about = {"sha": sha, "node_id": _node("B", int(sha[:8], 16)), "url": where}
    return {**about, "size": len(content), "content": said, "encoding": "base64"}


def run_document(url: str, hosted: Hosted, run: Run) -> Document:
    """A `workflow-run`. Of a fork's pull request GitHub names none, so `pull_requests` is empty."""
    here = f"{_repository_url(url, hosted)}/actions/runs/{run.id}"
    person = {"name": "A person", "email": "person@example.org"}
    commit = {"id": run.head, "tree_id": run.head, "message": "A change", "timestamp": stamp(run.created)}
    return {
        **_addresses(here, "jobs logs cancel rerun artifacts"),
        "check_suite_url": f"{here}/suite",
        "workflow_url": f"{here}/workflow",
        "url": here,
        "html_url": here,
        "id": run.id,
        "node_id": _node("W", run.id),
        "name": "submission",
        "head_branch": run.head_ref,
        "head_sha": run.head,
        "path": ".github/workflows/submission.yml",
        "run_number": 1,
        "event": run.event,
        "status": "completed",
        "conclusion": run.conclusion,
        "workflow_id": 1,
        "display_title": "A change",
        "created_at": stamp(run.created),
        "updated_at": stamp(run.created),
        "pull_requests": [],
        "head_commit": {**commit, "author": person, "committer": person},
        "repository": repository_document(url, hosted),
        "head_repository": repository_document(url, run.head_repository),
    }


def artifact_document(url: str, hosted: Hosted, artifact: Artifact) -> Document:
    """An `artifact`."""
    here = f"{_repository_url(url, hosted)}/actions/artifacts/{artifact.id}"
    made, gone = stamp(artifact.created), stamp(artifact.created + timedelta(days=90))
    return {
        "id": artifact.id,
        "node_id": _node("A", artifact.id),
        "name": artifact.name,
        "url": here,
        "size_in_bytes": artifact.size,
        "archive_download_url": f"{here}/zip",
        "expired": artifact.expired,
        "created_at": made,
        "updated_at": made,
        "expires_at": gone,
        "digest": "sha256:" + hashlib.sha256(artifact.content).hexdigest(),
    }
