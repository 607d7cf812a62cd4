"""Commits through GitHub's API: no clone and no key, and GitHub's own bot is their author.

The last step moves the branch to the new commit. Any failure before it changes nothing visible, and the call can be
repeated. Content that the branch already holds is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn

from github import GithubException, UnknownObjectException
from github.GitRef import GitRef

from evaluator.errors import MovedError
from evaluator.escaping import printable
from evaluator.github.connection import Connection, map_errors, post
from evaluator.github.trees import LARGEST, Files, changed, file_entries, make_commit, make_tree

__all__ = ["LARGEST", "Files", "MovedError", "blob_names", "branch_head", "commit_files", "replace_branch"]

_READ: Final = "contents: read"
_WRITE: Final = "contents: write"


def branch_head(connection: Connection, branch: str) -> str | None:
    """Return the commit at the head of a branch, or None if there is no such branch.

    Raises PermissionMissingError, GitHubError.
    """
    with map_errors(connection, f"reading branch {printable(branch)}", _READ):
        found = find_ref(connection, branch)
        return found.object.sha if found else None


def find_ref(connection: Connection, branch: str) -> GitRef | None:
    """Return a branch as GitHub has it now, or None. Call it inside `map_errors`."""
    found = connection.hosted.get_git_ref(f"heads/{branch}")
    try:
        found.update()
    except UnknownObjectException:
        return None
    return found


def blob_names(connection: Connection, commit: str, paths: Iterable[str]) -> dict[str, str | None]:
    """Return the Git blob name of each path at a commit, or None for a path without a file. Raises as `branch_head`."""
    with map_errors(connection, f"listing the files of {commit}", _READ):
        entries = file_entries(connection, commit, paths)
        return {path: entry.sha if entry else None for path, entry in entries.items()}


def commit_files(connection: Connection, branch: str, onto: str, files: Files, message: str) -> str:
    """Commit `files` on top of `onto` and return the new commit, or return `onto` if nothing changes.

    The push is never forced. Raises MovedError and changes nothing if the branch is not at `onto` or moves during the
    call. If the same call was done before and its response was lost, its commit is recognised and returned.

    Raises UsageError for a file larger than `LARGEST`. Raises PermissionMissingError. Raises GitHubError also if the
    branch is protected and rejects the token.
    """
    with map_errors(connection, f"committing to {printable(branch)}", _WRITE):
        ref = find_ref(connection, branch)
        if ref is None or ref.object.sha != onto:
            done = ref and _done(connection, ref.object.sha, onto, files, message)
            if not done:
                _moved(connection, branch, onto, ref)
            return done
        parent = connection.hosted.get_git_commit(onto)
        tree = make_tree(connection, parent, files)
        if tree.sha == parent.tree.sha:
            return onto
        made = make_commit(connection, tree, [parent], message)
        return _advance(connection, branch, ref, onto, made)


def _done(connection: Connection, head: str, onto: str, files: Files, message: str) -> str | None:
    """Return the head if it already is the commit to be made, otherwise None."""
    found = connection.hosted.get_git_commit(head)
    if [each.sha for each in found.parents] != [onto] or found.message.rstrip() != message.rstrip():
        return None
    return None if list(changed(files, file_entries(connection, head, files))) else head


def _moved(connection: Connection, branch: str, onto: str, ref: GitRef | None) -> NoReturn:
    place = f"at {ref.object.sha}" if ref else "nowhere"
    raise MovedError(
        f"{connection.name}: branch {printable(branch)!r} is {place}: expected {onto}; somebody pushed meanwhile, run "
        "this again from where it is now"
    )


def _advance(connection: Connection, branch: str, ref: GitRef, onto: str, made: str) -> str:
    try:
        ref.edit(made, force=False)
    except GithubException as error:
        if error.status not in (409, 422):
            raise
        # GitHub refuses a moved and a protected branch alike: its message does not reliably say which
        now = find_ref(connection, branch)
        if now is None or now.object.sha not in (onto, made):
            _moved(connection, branch, onto, now)
        if now is not None and now.object.sha == onto:
            raise
    return made


def replace_branch(connection: Connection, branch: str, files: Files, message: str) -> str:
    """Make the branch a single commit without parents that holds its present files, with `files` put or removed.

    Creates the branch or forces it. Returns the commit, which is the present one if nothing changes. A push at the same
    time would be lost, so only one job at a time may call this. Raises as `commit_files`, and ValueError if no file
    would remain.
    """
    with map_errors(connection, f"replacing {printable(branch)}", _WRITE):
        ref = find_ref(connection, branch)
        present = connection.hosted.get_git_commit(ref.object.sha) if ref else None
        if present is None and not any(content is not None for content in files.values()):
            raise ValueError(f"there is no branch {branch!r}, and no file to make it of")
        tree = make_tree(connection, present, files)
        if present is not None and not present.parents and present.tree.sha == tree.sha:
            return present.sha
        made = make_commit(connection, tree, [], message)
        return point(connection, branch, ref, made)


def point(connection: Connection, branch: str, ref: GitRef | None, commit: str) -> str:
    """Create the branch at a commit, or force it there. Call it inside `map_errors`."""
    if ref is not None:
        ref.edit(commit, force=True)
    else:
        make = connection.hosted.create_git_ref
        post(connection, lambda: make(f"refs/heads/{branch}", commit), lambda: find_ref(connection, branch))
    return commit
