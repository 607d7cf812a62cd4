"""A pull request of ours: a branch with one commit on its base, and one open pull request from it.

The branch is this module's: what it held is replaced, so that it always shows what is proposed now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from github.PullRequest import PullRequest as HostedPull

from evaluator.errors import UsageError
from evaluator.escaping import printable
from evaluator.github.comments import WriteResult, cut_to_limit, same_text
from evaluator.github.commits import find_ref, point
from evaluator.github.connection import Connection, map_errors, post
from evaluator.github.trees import Files, make_commit, make_tree

_WRITE: Final = "contents: write` and `pull-requests: write"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The pull request's number and address, its branch's commit, and what was done about it."""

    number: int
    url: str
    head: str
    written: WriteResult


def propose(
    connection: Connection, *, branch: str, base: str, title: str, body: str, files: Files, message: str
) -> Proposal:
    """Let one open pull request offer these files (None: removed) to `base`, in one commit on its head.

    Called again with the same it changes nothing; with other files, title or body it changes the same pull request.
    A body that GitHub would not take is cut and says so. Raises UsageError where there is no such base, or where it
    holds the files already; else as `commits.commit_files` does.
    """
    with map_errors(connection, f"proposing {printable(branch)}", _WRITE):
        head, moved = _branch(connection, branch, base, files, message)
        said = cut_to_limit(body)
        found = _open(connection, branch, base)
        if found is None:
            make = connection.hosted.create_pull
            found = post(
                connection,
                lambda: make(base, branch, title=title, body=said),
                lambda: _open(connection, branch, base),
            )
            return Proposal(found.number, found.html_url, head, WriteResult.CREATED)
        edited = found.title != title or not same_text(found.body or "", said)
        if edited:
            found.edit(title=title, body=said)
        written = WriteResult.UPDATED if moved or edited else WriteResult.UNCHANGED
        return Proposal(found.number, found.html_url, head, written)


def _branch(connection: Connection, branch: str, base: str, files: Files, message: str) -> tuple[str, bool]:
    """The commit that the branch is at in the end, and whether it was moved there."""
    origin = find_ref(connection, base)
    if origin is None:
        raise UsageError(f"{connection.name}: there is no branch {printable(base)!r} to propose to")
    parent = connection.hosted.get_git_commit(origin.object.sha)
    tree = make_tree(connection, parent, files)
    if tree.sha == parent.tree.sha:
        raise UsageError(f"{connection.name}: nothing to propose: {printable(base)!r} holds these files already")
    ref = find_ref(connection, branch)
    if ref is not None:
        present = connection.hosted.get_git_commit(ref.object.sha)
        if present.tree.sha == tree.sha and [each.sha for each in present.parents] == [parent.sha]:
            return present.sha, False
    return point(connection, branch, ref, make_commit(connection, tree, [parent], message)), True


def _open(connection: Connection, branch: str, base: str) -> HostedPull | None:
    """The open pull request from that branch of this repository; a fork may have a branch of the same name."""
    owner = connection.name.partition("/")[0]
    listed = connection.hosted.get_pulls(state="open", base=base, head=f"{owner}:{branch}")
    name = connection.name.casefold()
    ours = (each for each in listed if each.head.repo is not None)
    return next((each for each in ours if each.head.repo.full_name.casefold() == name), None)
