"""Commits made through GitHub's interface: no clone, no key, and GitHub's own bot as their author.

A commit's tree and files have no name until a branch is moved to it, and that is the last thing done: whatever fails
before changes nothing that anybody sees, and may be done again. What a branch holds already is not sent.
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
    """The commit that a branch is at; None where there is none. Raises PermissionMissingError, GitHubError."""
    with map_errors(connection, f"reading branch {printable(branch)}", _READ):
        found = find_ref(connection, branch)
        return found.object.sha if found else None


def find_ref(connection: Connection, branch: str) -> GitRef | None:
    """A branch as GitHub has it now, or None; to be called while `map_errors`."""
    found = connection.hosted.get_git_ref(f"heads/{branch}")
    try:
        found.update()
    except UnknownObjectException:
        return None
    return found


def blob_names(connection: Connection, commit: str, paths: Iterable[str]) -> dict[str, str | None]:
    """Git's name for the content of each path at a commit; None where no file is. Raises as `branch_head` does."""
    with map_errors(connection, f"listing the files of {commit}", _READ):
        entries = file_entries(connection, commit, paths)
        return {path: entry.sha if entry else None for path, entry in entries.items()}


def commit_files(connection: Connection, branch: str, onto: str, files: Files, message: str) -> str:
    """Commit files to a branch that is at `onto`; the commit, or `onto` itself where the files stand so already.

    Nothing is forced: MovedError where the branch is elsewhere, before or after; then nothing was changed. What was
    done before by the same call, whose answer was lost, is found and not done again.
    Raises UsageError for a file larger than `LARGEST`; PermissionMissingError; GitHubError, also where the branch is
    protected and does not let the token push.
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
    """The head, where it is the very commit that is to be made."""
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
        # refused because the branch moved, or because it is protected: GitHub's words do not tell reliably
        now = find_ref(connection, branch)
        if now is None or now.object.sha not in (onto, made):
            _moved(connection, branch, onto, now)
        if now is not None and now.object.sha == onto:
            raise
    return made


def replace_branch(connection: Connection, branch: str, files: Files, message: str) -> str:
    """Let a branch be one commit without parents, made or forced: these files, and what else it holds now.

    The commit's name; the present one where it holds the same already. What is pushed to the branch at the same time
    is lost, so one job at a time does this. Raises as `commit_files` does, and ValueError where no file would remain.
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
    """Let a branch be at a commit, whatever it was at; to be called while `map_errors`."""
    if ref is not None:
        ref.edit(commit, force=True)
    else:
        make = connection.hosted.create_git_ref
        post(connection, lambda: make(f"refs/heads/{branch}", commit), lambda: find_ref(connection, branch))
    return commit
