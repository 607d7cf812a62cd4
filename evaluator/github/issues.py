"""This module reads issues of the repository on GitHub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evaluator.github.connection import Connection, account_id, map_errors

_READ: Final = "issues: read"


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue on GitHub, or a pull request if `is_pull` is true. Title, body and login are untrusted text.

    `author` is the numeric id of the issue's author. If the account is gone, `author` is None and the login is empty.
    """

    number: int
    author: int | None
    login: str
    title: str
    body: str
    labels: frozenset[str]
    state: str
    is_pull: bool
    url: str


def read_issue(connection: Connection, number: int) -> Issue:
    """Return an issue. Raises UsageError if there is no such issue.

    Also raises PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    with map_errors(connection, f"reading issue {number}", _READ):
        issue = connection.hosted.get_issue(number)
        issue.update()
        return Issue(
            number=issue.number,
            author=account_id(issue.user),
            login=issue.user.login if account_id(issue.user) is not None else "",
            title=issue.title,
            body=issue.body or "",
            labels=frozenset(label.name for label in issue.labels),
            state=issue.state,
            is_pull=issue.pull_request is not None,
            url=issue.html_url,
        )
