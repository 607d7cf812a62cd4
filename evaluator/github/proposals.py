"""Pull requests that this project opens: a branch with one commit on its base, and one open pull request from it.

Only this module writes to that branch. Each call replaces its content, so it always shows the latest proposal.
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
    """The pull request's number and address, the head commit of its branch, and what was done."""

    number: int
    url: str
    head: str
    written: WriteResult


def propose(
    connection: Connection, *, branch: str, base: str, title: str, body: str, files: Files, message: str
) -> Proposal:
    """Open or update the one pull request that proposes `files` to `base` in one commit (None removes a file).

    Repeating a call changes nothing. A call with other files, title or body updates the same pull request. A body
    that is too long for GitHub is cut, with a notice at its end. Raises UsageError if there is no such base or if it
    already holds the files. All other errors are those of `commits.commit_files`.
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
    """Make the branch one commit on the base. Return the commit, and whether the branch was moved."""
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
    """Return the open pull request from that branch of this repository. A fork may have a branch of the same name."""
    owner = connection.name.partition("/")[0]
    name = connection.name.casefold()
    for pull in connection.hosted.get_pulls(state="open", base=base, head=f"{owner}:{branch}"):
        if pull.head.repo is not None and pull.head.repo.full_name.casefold() == name:
            return pull
    return None
