"""This module writes the sticky comment: one comment on a pull request or an issue, which later runs update in place.

The first line of the comment is a hidden marker. Any user could write the marker, so this module also checks that the
author of the comment is the bot of GitHub Actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from github.Issue import Issue
from github.IssueComment import IssueComment

from evaluator.github.connection import Connection, account_id, map_errors, post

ACTIONS_BOT: Final = 41_898_282
"""The numeric id of `github-actions[bot]`, the author of comments by a workflow's token. That token cannot look it up.
"""

LONGEST: Final = 65_536
"""The maximum length of a comment on GitHub, in characters."""

_CUT: Final = "\n\n*This text was cut, because GitHub accepts no longer text.*\n"


class WriteResult(StrEnum):
    """The result of `upsert_comment` or `propose`: the object on GitHub was created, updated or left unchanged."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class StickyComment:
    """The id and address of a sticky comment, and `written`: whether it was created, updated or left unchanged."""

    id: int
    url: str
    written: WriteResult


def marker(name: str) -> str:
    """Return the marker of the comment `name`: a hidden first line, by which later runs find the comment."""
    return f"<!-- bashboard:{name} -->"


def upsert_comment(
    connection: Connection, number: int, name: str, text: str, author: int = ACTIONS_BOT, *, issue: bool = False
) -> StickyComment:
    """Create or update the comment `name` on a pull request, or on an issue if `issue` is true.

    If the comment already has this text, nothing is written. A text that is too long is cut, with a notice at its end.
    Raises PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    body = cut_to_limit(f"{marker(name)}\n{text.removeprefix(marker(name)).strip()}\n")
    kind, permission = ("issue", "issues: write") if issue else ("pull request", "pull-requests: write")
    with map_errors(connection, f"commenting on {kind} {number}", permission):
        thread = connection.hosted.get_issue(number)
        written = WriteResult.UNCHANGED
        comment = _find_own(thread, name, author)
        if comment is None:
            comment = post(connection, lambda: thread.create_comment(body), lambda: _find_own(thread, name, author))
            written = WriteResult.CREATED
        elif not same_text(comment.body, body):
            comment.edit(body)
            written = WriteResult.UPDATED
        return StickyComment(comment.id, comment.html_url, written)


def update_if_present(
    connection: Connection, number: int, name: str, text: str, author: int = ACTIONS_BOT
) -> StickyComment | None:
    """Update the comment `name` of a pull request. If there is no such comment, write nothing and return None."""
    with map_errors(connection, f"reading the comments of pull request {number}", "pull-requests: write"):
        comment = _find_own(connection.hosted.get_issue(number), name, author)
    return upsert_comment(connection, number, name, text, author) if comment is not None else None


def _find_own(thread: Issue, name: str, author: int) -> IssueComment | None:
    """Return the oldest comment by `author` that begins with the hidden marker of the comment `name`, or None."""
    own = (comment for comment in thread.get_comments() if account_id(comment.user) == author)
    return next((comment for comment in own if comment.body.startswith(marker(name))), None)


def cut_to_limit(body: str) -> str:
    """Return the body of a comment or pull request. A body too long for GitHub is cut and ends with a notice."""
    return body if len(body) <= LONGEST else body[: LONGEST - len(_CUT)] + _CUT


def same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal. Ignore the kind of line endings, and blanks at the end of a text."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()
