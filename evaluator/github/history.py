"""This module finds the first author of a path. It asks GitHub for the pull request that added the path.

It never uses the author and the address in a commit, because they are free text. GitHub verifies the account that
opened a pull request.
"""

from __future__ import annotations

from typing import Final

from github.Commit import Commit
from github.PullRequest import PullRequest as HostedPull

from evaluator.escaping import printable
from evaluator.github.connection import Connection, account_id, map_errors

_READ: Final = "contents: read` and `pull-requests: read"


def first_author(connection: Connection, path: str, branch: str = "main") -> int | None:
    """Return the numeric id of the account whose merged pull request first added the path to the branch.

    Returns None if the path never existed, if it was pushed without a pull request, or if the account is gone. If a
    path is removed and another account adds it again, the first account stays the author.

    Git may omit commits from the history of a path, and orders commits by dates that authors choose. So the oldest
    commit that GitHub lists may not be the first. The function finds the pull request of this commit, and searches
    again in the history before it. The search ends when the path does not exist there. A renamed folder is a new path,
    and its first author is the account that renamed the folder. To keep the old owner, the project records owners in a
    file of its own.

    Raises UsageError if there is no such branch, PermissionMissingError if the token lacks a permission, or
    GitHubError.
    """
    with map_errors(connection, f"looking up the first author of {printable(path)}", _READ):
        pull: HostedPull | None = None
        previous: str | None = None
        tip = branch
        while (oldest := _oldest(connection, path, tip)) is not None and oldest.sha != previous:
            previous, pull = oldest.sha, _merged_pull(connection, oldest, branch)
            if pull is None:
                return None
            merge = pull.merge_commit_sha
            parents = connection.hosted.get_git_commit(merge).parents if merge else []
            if not parents:
                break
            tip = parents[0].sha
        return account_id(pull.user) if pull is not None else None


def _oldest(connection: Connection, path: str, tip: str) -> Commit | None:
    """Return the oldest commit that changed the path, or None if there is none. GitHub lists this commit last."""
    oldest = None
    for oldest in connection.hosted.get_commits(sha=tip, path=path):  # noqa: B007 - the last is wanted
        pass
    return oldest


def _merged_pull(connection: Connection, commit: Commit, branch: str) -> HostedPull | None:
    """Return the first pull request that merged a commit into `branch` of this repository, or None if there is none."""
    # GitHub also lists open pull requests, and those merged elsewhere, with this commit
    merged = [
        (pull.merged_at, pull.number, pull)
        for pull in commit.get_pulls()
        if pull.merged_at is not None
        and pull.base.ref == branch
        and pull.base.repo is not None
        and pull.base.repo.full_name.casefold() == connection.name.casefold()
    ]
    return min(merged)[2] if merged else None
