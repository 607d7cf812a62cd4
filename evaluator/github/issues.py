"""Issues of the repository, read from GitHub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from evaluator.github.connection import Connection, account, map_errors

_READ: Final = "issues: read"
_WRITE: Final = "issues: write"


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue, or a pull request if `is_pull`. Title, body and login are untrusted text.

    `author` is the numeric id of the account that opened it. If the account is gone, it is None and the login is empty.
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
    """Return an issue in its present state. Raises PermissionMissingError, UsageError if there is none, GitHubError."""
    with map_errors(connection, f"reading issue {number}", _READ):
        found = connection.hosted.get_issue(number)
        found.update()
        return Issue(
            number=found.number,
            author=account(found.user),
            login=found.user.login if account(found.user) is not None else "",
            title=found.title,
            body=found.body or "",
            labels=frozenset(label.name for label in found.labels),
            state=found.state,
            is_pull=found.pull_request is not None,
            url=found.html_url,
        )


def close_issue(connection: Connection, number: int, reason: Literal["completed", "not_planned"] = "completed") -> None:
    """Close an issue; one that is closed stays so. Raises PermissionMissingError, UsageError, GitHubError."""
    with map_errors(connection, f"closing issue {number}", _WRITE):
        connection.hosted.get_issue(number).edit(state="closed", state_reason=reason)
