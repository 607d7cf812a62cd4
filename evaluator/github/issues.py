"""Issues as our own values: read whole, answered by `comments.upsert_comment`, and closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from evaluator.github.connection import Connection, account, map_errors

_READ: Final = "issues: read"
_WRITE: Final = "issues: write"


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue, or a pull request where `is_pull`; title, body and login are a stranger's text.

    `author` is the numeric id of who opened it; None, and no login, when they are gone.
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
    """An issue as it is now. Raises PermissionMissingError; UsageError where there is none; GitHubError."""
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
