"""Who first brought a path into the repository, as GitHub knows it: by pull requests, never by what a commit says.

A commit's author and address are whatever its author wrote. Who opened a pull request that was merged here is known.
"""

from __future__ import annotations

from typing import Final

from github.Commit import Commit
from github.PullRequest import PullRequest as HostedPull

from evaluator.escaping import printable
from evaluator.github.connection import Connection, account, map_errors

_READ: Final = "contents: read` and `pull-requests: read"


def first_author(connection: Connection, path: str, branch: str = "main") -> int | None:
    """The numeric id of who opened the merged pull request that first added the path to the branch.

    None where nothing was ever there, where it was pushed without a pull request, or where the account is gone.
    The very first counts: what was withdrawn and added again by another stays the first one's. So it is asked again
    of the branch before that pull request, until nothing was there: git leaves out of a path's history what a merge
    made no difference to, and orders it by dates that an author chooses. A folder under another name is another path,
    first added by whoever renamed it; a project that renames one says in its own records whose it is.

    Raises PermissionMissingError; UsageError where there is no such branch; GitHubError.
    """
    with map_errors(connection, f"asking who first added {printable(path)}", _READ):
        found: HostedPull | None = None
        known: str | None = None
        tip = branch
        while (oldest := _oldest(connection, path, tip)) is not None and oldest.sha != known:
            known, found = oldest.sha, _brought(connection, oldest, branch)
            if found is None:
                return None
            merge = found.merge_commit_sha
            before = connection.hosted.get_git_commit(merge).parents if merge else []
            if not before:
                break
            tip = before[0].sha
        return account(found.user) if found is not None else None


def _oldest(connection: Connection, path: str, tip: str) -> Commit | None:
    """The last of the path's commits, which GitHub lists from the newest."""
    oldest = None
    for oldest in connection.hosted.get_commits(sha=tip, path=path):  # noqa: B007 - the last is wanted
        pass
    return oldest


def _brought(connection: Connection, commit: Commit, branch: str) -> HostedPull | None:
    """The pull request by which a commit came into the branch of this repository: of several, the first merged."""
    # what others merged elsewhere, or nobody merged, holds the commit too
    merged = [
        (each.merged_at, each.number, each)
        for each in commit.get_pulls()
        if each.merged_at is not None and each.base.ref == branch and _here(connection, each)
    ]
    return min(merged)[2] if merged else None


def _here(connection: Connection, pull: HostedPull) -> bool:
    return pull.base.repo is not None and pull.base.repo.full_name.casefold() == connection.name.casefold()
