"""Issues, labels and comments in GitHub's responses."""

from __future__ import annotations

from urllib.parse import quote

from tests.doubles.github.responses.repositories import Document, addresses, maybe_user, node, repository_url, stamp
from tests.doubles.github.state import Comment, HostedRepo, Label, Pull


def label_document(url: str, hosted: HostedRepo, label: Label) -> Document:
    """Return a `label`."""
    about = {"name": label.name, "color": label.color, "description": label.description, "default": False}
    where = f"{repository_url(url, hosted)}/labels/{quote(label.name)}"
    return {"id": label.id, "node_id": node("L", label.id), "url": where, **about}


def comment_document(url: str, hosted: HostedRepo, issue: Pull, comment: Comment) -> Document:
    """Return an `issue-comment`."""
    here = f"{repository_url(url, hosted)}/issues"
    return {
        "id": comment.id,
        "node_id": node("C", comment.id),
        "url": f"{here}/comments/{comment.id}",
        "html_url": f"{page(url, hosted, issue)}#issuecomment-{comment.id}",
        "issue_url": f"{here}/{issue.number}",
        "user": maybe_user(url, comment.user),
        "body": comment.body,
        "created_at": stamp(comment.created),
        "updated_at": stamp(comment.updated),
        "author_association": "NONE",
    }


def shared(url: str, hosted: HostedRepo, issue: Pull) -> Document:
    """Return the fields that issues and pull requests share."""
    return {
        "id": issue.id,
        "node_id": node("I", issue.id),
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


def page(url: str, hosted: HostedRepo, issue: Pull) -> str:
    """Return the web address of an issue or a pull request."""
    return f"{url}/{hosted.full_name}/{'pull' if issue.head else 'issues'}/{issue.number}"


def issue_document(url: str, hosted: HostedRepo, issue: Pull) -> Document:
    """Return an `issue`. A pull request is an issue too."""
    here = f"{repository_url(url, hosted)}/issues/{issue.number}"
    read = page(url, hosted, issue)
    pull = {"url": here.replace("/issues/", "/pulls/"), "html_url": read, "diff_url": f"{read}.diff"}
    return {
        **shared(url, hosted, issue),
        **addresses(here, "comments events labels:labels{/name}"),
        "url": here,
        "html_url": read,
        "repository_url": repository_url(url, hosted),
        "comments": len(issue.comments),
        "closed_at": stamp(issue.updated) if issue.state == "closed" else None,
        "state_reason": None,
        **({"pull_request": {**pull, "patch_url": f"{read}.patch"}} if issue.head else {}),
    }
