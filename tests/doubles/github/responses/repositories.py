"""Addresses, users and repositories in GitHub's responses."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from tests.doubles.github.state import HostedRepo, User

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
    """Return a time in GitHub's format."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def node(kind: str, number: int) -> str:
    """Return the `node_id` of an object, which every object has in addition to its id."""
    return base64.b64encode(f"{kind}{number}".encode()).decode()


def addresses(url: str, paths: str) -> Document:
    """Return the `…_url` fields for paths below an address. `name:path` is for a field whose name is not the path."""
    pairs = (path.partition(":") for path in paths.split())
    return {f"{name}_url": f"{url}/{other or name}" for name, _, other in pairs}


def user_document(url: str, user: User) -> Document:
    """Return a `simple-user`."""
    here = f"{url}/users/{quote(user.login)}"
    return {
        **addresses(here, _USER_PATHS),
        "login": user.login,
        "id": user.id,
        "node_id": node("U", user.id),
        "type": user.kind,
        "url": here,
        "avatar_url": f"{here}/avatar",
        "html_url": f"{here}/page",
        "gravatar_id": "",
        "site_admin": False,
    }


def maybe_user(url: str, user: User | None) -> Document | None:
    """Return a `nullable-simple-user`, which is null if the account was deleted."""
    return user_document(url, user) if user else None


def repository_url(url: str, hosted: HostedRepo) -> str:
    """Return a repository's address in the API."""
    return f"{url}/repos/{hosted.full_name}"


def repository_document(url: str, hosted: HostedRepo) -> Document:
    """Return a `repository`. The document is also valid as a `minimal-repository`."""
    here = repository_url(url, hosted)
    page, made = f"{url}/{hosted.full_name}", stamp(hosted.created)
    return {
        **addresses(here, _REPOSITORY_PATHS),
        **{f"has_{name}": name == "issues" for name in _FLAGS.split()},
        **dict.fromkeys(_COUNTS.split(), 0),
        **dict.fromkeys(("description", "homepage", "language", "license", "mirror_url"), None),
        **dict.fromkeys(("created_at", "updated_at", "pushed_at"), made),
        **{f"{name}_url": page for name in ("html", "clone", "git", "ssh", "svn")},
        "id": hosted.id,
        "node_id": node("R", hosted.id),
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
