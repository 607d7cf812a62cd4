"""Functions that read the history of a bare repository, and make commits as GitHub does, without a working tree."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from tests.doubles.github.repositories import BareRepository

ABSENT: Final = "0" * 40
"""The object name that means that a file does not exist."""

_FORMAT: Final = "%x00".join(("%H", "%T", "%P", "%an", "%ae", "%aI", "%B", ""))
_FIELDS: Final = 7


class Method(StrEnum):
    """The merge methods of GitHub's button."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


class Author(NamedTuple):
    """The name, the email address and the time that a commit records for its author."""

    name: str
    email: str
    when: datetime


class CommitEntry(NamedTuple):
    """A commit as `git log` prints it. `date` is in ISO 8601."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    name: str
    email: str
    date: str
    message: str


def history(git: BareRepository, tip: str, path: str = "", most: int = -1) -> list[CommitEntry]:
    """Return the commits that changed a path, in the order of `git log`. An empty path means all commits."""
    said = git.run("log", f"--max-count={most}", f"--format=tformat:{_FORMAT}", tip, "--", *([path] if path else []))
    fields = said.decode(errors="replace").split("\0")[:-1]
    rows = [fields[at : at + _FIELDS] for at in range(0, len(fields), _FIELDS)]
    return [CommitEntry(row[0].strip(), row[1], tuple(row[2].split()), *row[3:]) for row in rows]


def read_commit(git: BareRepository, sha: str) -> CommitEntry:
    """Return one commit."""
    return history(git, sha, most=1)[0]


def introduced(git: BareRepository, base: str, head: str) -> frozenset[str]:
    """Return the commits that are in the head and not in the base."""
    return frozenset(git.run("rev-list", f"{base}..{head}").decode().split())


def is_ancestor(git: BareRepository, one: str, other: str) -> bool:
    """Return whether a branch at `one` can move to `other` without losing a commit."""
    try:
        git.run("merge-base", "--is-ancestor", one, other)
    except subprocess.CalledProcessError:
        return False
    return True


def write_tree(git: BareRepository, base: str | None, rows: Iterable[tuple[str, str, str]]) -> str:
    """Write a new tree and return its name.

    The new tree is `base`, or an empty tree, after each file of `rows` (mode, blob, path) was added or removed.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.run("read-tree", *([base] if base else ["--empty"]), environment=index)
        said = "".join(f"{'0' if sha == ABSENT else mode} {sha}\t{path}\0" for mode, sha, path in rows)
        git.run("update-index", "-z", "--index-info", given=said.encode(), environment=index)
        return git.run("write-tree", environment=index).decode().strip()


def write_commit(
    git: BareRepository, tree: str, parents: Iterable[str], message: str, author: Author | None = None
) -> str:
    """Write a commit and return its name. No branch is changed."""
    words = [word for parent in parents for word in ("-p", parent)]
    about = {}
    if author is not None:
        fields = {"NAME": author.name, "EMAIL": author.email, "DATE": author.when.isoformat()}
        about = {f"GIT_{who}_{what}": said for who in ("AUTHOR", "COMMITTER") for what, said in fields.items()}
    return git.run("commit-tree", tree, *words, given=message.encode(), environment=about).decode().strip()


def merge(git: BareRepository, branch: str, head: str, message: str, method: Method = Method.MERGE) -> str:
    """Merge a commit into a branch as GitHub's button does. Raises CalledProcessError for a conflict."""
    ref = f"refs/heads/{branch}"
    before = git.resolve(ref)
    if method is Method.REBASE:
        made = _rebased(git, before, head)
    else:
        parents = [before, head] if method is Method.MERGE else [before]
        made = write_commit(git, _merged(git, before, head), parents, message)
    git.run("update-ref", ref, made)
    return made


def _merged(git: BareRepository, one: str, other: str) -> str:
    return git.run("merge-tree", "--write-tree", one, other).decode().split()[0]


def _rebased(git: BareRepository, onto: str, head: str) -> str:
    """Repeat each commit of the head on top of `onto`, and return the last."""
    for sha in git.run("rev-list", "--reverse", f"{onto}..{head}").decode().split():
        said = read_commit(git, sha)
        # a commit with the tree of `onto` and the parents of `sha`, because older versions of Git lack `--merge-base`
        beside = write_commit(git, f"{onto}^{{tree}}", said.parents, "Beside")
        onto = write_commit(git, _merged(git, beside, sha), [onto], said.message)
    return onto
