"""One comment of ours on a pull request or an issue, written anew in place.

It is ours when it begins with the marker *and* the bot wrote it: anybody may write the marker.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from github.Issue import Issue
from github.IssueComment import IssueComment

from evaluator.github.connection import Connection, account, map_errors, post

ACTIONS_BOT: Final = 41_898_282
"""The numeric id of `github-actions[bot]`, as whom a workflow's own token speaks; it cannot ask who it is."""

LONGEST: Final = 65_536
"""Characters of a comment that GitHub takes."""

_CUT: Final = "\n\n*This text was cut: GitHub takes no longer ones.*\n"


class WriteResult(StrEnum):
    """What was done about the comment."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class StickyComment:
    """The comment's number and address, and what was done."""

    id: int
    url: str
    written: WriteResult


def marker(name: str) -> str:
    """The line, not shown to readers, by which a comment is found again."""
    return f"<!-- bashboard:{name} -->"


def upsert_comment(
    connection: Connection, number: int, name: str, text: str, author: int = ACTIONS_BOT, *, issue: bool = False
) -> StickyComment:
    """Let the pull request, or the `issue`, have this one comment of that name: made, changed, or left as it is.

    A text may begin with the marker already; one that is too long is cut, and says so.
    Raises PermissionMissingError, GitHubError.
    """
    said = text.removeprefix(marker(name)).strip()
    body = cut_to_limit(f"{marker(name)}\n{said}\n")
    kind, permission = ("issue", "issues: write") if issue else ("pull request", "pull-requests: write")
    with map_errors(connection, f"commenting on {kind} {number}", permission):
        pull = connection.hosted.get_issue(number)
        found = _own(pull, name, author)
        if found is None:
            made = post(connection, lambda: pull.create_comment(body), lambda: _own(pull, name, author))
            return _said(made, WriteResult.CREATED)
        if same_text(found.body, body):
            return _said(found, WriteResult.UNCHANGED)
        found.edit(body)
        return _said(found, WriteResult.UPDATED)


def update_if_present(
    connection: Connection, number: int, name: str, text: str, author: int = ACTIONS_BOT
) -> StickyComment | None:
    """The same where the pull request has that comment already; None, and nothing written, where it has none."""
    with map_errors(connection, f"reading the comments of pull request {number}", "pull-requests: write"):
        found = _own(connection.hosted.get_issue(number), name, author)
    return upsert_comment(connection, number, name, text, author) if found is not None else None


def _own(pull: Issue, name: str, author: int) -> IssueComment | None:
    """The oldest comment of the bot that begins with the marker."""
    listed = pull.get_comments()
    ours = (each for each in listed if account(each.user) == author)
    return next((each for each in ours if each.body.startswith(marker(name))), None)


def cut_to_limit(body: str) -> str:
    """A text as long as GitHub takes it; one that is too long is cut, and says so."""
    return body if len(body) <= LONGEST else body[: LONGEST - len(_CUT)] + _CUT


def same_text(one: str, other: str) -> bool:
    """Whether two texts are one to readers, to whom ends of lines and blanks after the last are nothing."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()


def _said(comment: IssueComment, written: WriteResult) -> StickyComment:
    return StickyComment(comment.id, comment.html_url, written)
