"""This module opens pull requests. Each of them has its own branch, with one commit on top of the base branch.

Only this module writes to such a branch. Each call of `propose` replaces the commit, so the branch contains only the
latest proposal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from github.PullRequest import PullRequest as HostedPull

from evaluator.errors import UsageError
from evaluator.escaping import printable
from evaluator.github.comments import WriteResult, cut_to_limit, same_text
from evaluator.github.commits import find_ref, set_branch
from evaluator.github.connection import Connection, map_errors, post
from evaluator.github.trees import Files, make_commit, make_tree

_WRITE: Final = "contents: write` and `pull-requests: write"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The number, address and head commit of a proposed pull request, and whether it was created or updated."""

    number: int
    url: str
    head: str
    written: WriteResult


def propose(
    connection: Connection, *, branch: str, base: str, title: str, body: str, files: Files, message: str
) -> Proposal:
    """Open or update a pull request. Its one commit on top of the branch `base` applies `files`.

    A file with the content None is removed. A second call with the same arguments changes nothing. A call with other
    files, title or body updates the same pull request. A body that is too long for GitHub is cut, with a notice at its
    end. Raises UsageError if the base does not exist or already holds the files. Also raises the errors of
    `commits.commit_files`.
    """
    with map_errors(connection, f"proposing {printable(branch)}", _WRITE):
        head, moved = _commit_to_branch(connection, branch, base, files, message)
        text = cut_to_limit(body)
        pull = _open_pull(connection, branch, base)
        if pull is None:
            create = connection.hosted.create_pull
            pull = post(
                connection,
                lambda: create(base, branch, title=title, body=text),
                lambda: _open_pull(connection, branch, base),
            )
            return Proposal(pull.number, pull.html_url, head, WriteResult.CREATED)
        is_edited = pull.title != title or not same_text(pull.body or "", text)
        if is_edited:
            pull.edit(title=title, body=text)
        written = WriteResult.UPDATED if moved or is_edited else WriteResult.UNCHANGED
        return Proposal(pull.number, pull.html_url, head, written)


def _commit_to_branch(connection: Connection, branch: str, base: str, files: Files, message: str) -> tuple[str, bool]:
    """Point `branch` to one commit on top of `base`. Return this commit, and whether `branch` had to be moved."""
    origin = find_ref(connection, base)
    if origin is None:
        raise UsageError(f"{connection.name}: there is no branch {printable(base)!r} to propose to")
    parent = connection.hosted.get_git_commit(origin.object.sha)
    tree = make_tree(connection, parent, files)
    if tree.sha == parent.tree.sha:
        raise UsageError(f"{connection.name}: nothing to propose: {printable(base)!r} already holds these files")
    ref = find_ref(connection, branch)
    if ref is not None:
        present = connection.hosted.get_git_commit(ref.object.sha)
        if present.tree.sha == tree.sha and [each.sha for each in present.parents] == [parent.sha]:
            return present.sha, False
    return set_branch(connection, branch, ref, make_commit(connection, tree, [parent], message)), True


def _open_pull(connection: Connection, branch: str, base: str) -> HostedPull | None:
    """Return the open pull request from `branch` of this repository, or None. Ignore branches of forks."""
    owner = connection.name.partition("/")[0]
    name = connection.name.casefold()
    for pull in connection.hosted.get_pulls(state="open", base=base, head=f"{owner}:{branch}"):
        if pull.head.repo is not None and pull.head.repo.full_name.casefold() == name:
            return pull
    return None
