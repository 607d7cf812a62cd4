"""This module makes commits through GitHub's API, without a clone or a key. GitHub's own bot is the author.

The last step moves the branch to the new commit. A failure before this step has no visible effect, and the caller can
repeat the call. Content that the branch already holds is not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn

from github import GithubException, UnknownObjectException
from github.GitRef import GitRef

from evaluator.errors import MovedError
from evaluator.escaping import printable
from evaluator.github.connection import Connection, map_errors, post
from evaluator.github.trees import LARGEST, Files, differing_files, file_entries, make_commit, make_tree

__all__ = ["LARGEST", "Files", "MovedError", "blob_names", "branch_head", "commit_files", "replace_branch"]

_READ: Final = "contents: read"
_WRITE: Final = "contents: write"


def branch_head(connection: Connection, branch: str) -> str | None:
    """Return the newest commit of a branch, or None if the branch does not exist.

    Raises PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    with map_errors(connection, f"reading branch {printable(branch)}", _READ):
        ref = find_ref(connection, branch)
        return ref.object.sha if ref else None


def find_ref(connection: Connection, branch: str) -> GitRef | None:
    """Return the Git reference of a branch, or None if the branch does not exist. Call this inside `map_errors`."""
    ref = connection.hosted.get_git_ref(f"heads/{branch}")
    try:
        ref.update()
    except UnknownObjectException:
        return None
    return ref


def blob_names(connection: Connection, commit: str, paths: Iterable[str]) -> dict[str, str | None]:
    """Map each path to the Git blob name of its file at a commit, or to None if the commit has no such file."""
    with map_errors(connection, f"listing the files of {commit}", _READ):
        entries = file_entries(connection, commit, paths)
        return {path: entry.sha if entry else None for path, entry in entries.items()}


def commit_files(connection: Connection, branch: str, onto: str, files: Files, message: str) -> str:
    """Commit `files` to a branch on top of the commit `onto`. Return the new commit, or `onto` if nothing changes.

    The push is never forced. If the branch is not at `onto` or moves during the call, nothing is changed and MovedError
    is raised. If an earlier identical call succeeded but its response was lost, the commit of that call is returned.

    Raises UsageError for a file larger than `LARGEST`, PermissionMissingError if the token lacks a permission, and
    GitHubError in other cases, for example if a protected branch rejects the token.
    """
    with map_errors(connection, f"committing to {printable(branch)}", _WRITE):
        ref = find_ref(connection, branch)
        if ref is None or ref.object.sha != onto:
            if ref is None or not _is_done(connection, ref.object.sha, onto, files, message):
                _raise_moved(connection, branch, onto, ref)
            return ref.object.sha
        parent = connection.hosted.get_git_commit(onto)
        tree = make_tree(connection, parent, files)
        if tree.sha == parent.tree.sha:
            return onto
        commit = make_commit(connection, tree, [parent], message)
        _advance(connection, branch, ref, onto, commit)
        return commit


def _is_done(connection: Connection, head: str, onto: str, files: Files, message: str) -> bool:
    """Return whether an earlier call already made the commit: `head` has the requested parent, message and files."""
    commit = connection.hosted.get_git_commit(head)
    if [parent.sha for parent in commit.parents] != [onto] or commit.message.rstrip() != message.rstrip():
        return False
    return not list(differing_files(files, file_entries(connection, head, files)))


def _raise_moved(connection: Connection, branch: str, onto: str, ref: GitRef | None) -> NoReturn:
    head = f"at {ref.object.sha}" if ref else "missing"
    raise MovedError(
        f"{connection.name}: branch {printable(branch)!r} is {head}: expected {onto}; another push came in between, "
        "so run this again from the present head"
    )


def _advance(connection: Connection, branch: str, ref: GitRef, onto: str, commit: str) -> None:
    """Move the branch from `onto` to its new child `commit`. Raises MovedError if another push came first."""
    try:
        ref.edit(commit, force=False)
    except GithubException as error:
        if error.status not in (409, 422):
            raise
        # GitHub refuses a moved and a protected branch alike: its message does not reliably say which
        now = find_ref(connection, branch)
        if now is None or now.object.sha not in (onto, commit):
            _raise_moved(connection, branch, onto, now)
        if now.object.sha == onto:
            raise


def replace_branch(connection: Connection, branch: str, files: Files, message: str) -> str:
    """Replace a branch's history by one commit without parents. The commit writes or removes `files`.

    All other files of the branch stay. A missing branch is created, and the push to an existing branch is forced.
    Returns the new commit, or the present commit of the branch if nothing changes. A push at the same time would be
    lost, so only one job at a time may call this function. Raises ValueError if no file would remain, UsageError for a
    file larger than `LARGEST`, PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    with map_errors(connection, f"replacing {printable(branch)}", _WRITE):
        ref = find_ref(connection, branch)
        present = connection.hosted.get_git_commit(ref.object.sha) if ref else None
        if present is None and not any(content is not None for content in files.values()):
            raise ValueError(f"there is no branch {branch!r}, and no file to create it with")
        tree = make_tree(connection, present, files)
        if present is not None and not present.parents and present.tree.sha == tree.sha:
            return present.sha
        return set_branch(connection, branch, ref, make_commit(connection, tree, [], message))


def set_branch(connection: Connection, branch: str, ref: GitRef | None, commit: str) -> str:
    """Force a branch to a commit, or create the branch there. Return the commit. Call this inside `map_errors`."""
    if ref is not None:
        ref.edit(commit, force=True)
    else:
        make = connection.hosted.create_git_ref
        post(connection, lambda: make(f"refs/heads/{branch}", commit), lambda: find_ref(connection, branch))
    return commit
