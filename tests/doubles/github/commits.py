"""Commits of a bare repository: read as histories, and made as GitHub makes them, without a working tree."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from tests.doubles.github.repositories import BareRepository

ABSENT: Final = "0" * 40
"""In the place of a file's name: no file."""

_FORMAT: Final = "%x00".join(("%H", "%T", "%P", "%an", "%ae", "%aI", "%B", ""))
_FIELDS: Final = 7


class Method(StrEnum):
    """How GitHub's button merges."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


class Author(NamedTuple):
    """Who a commit says made it, and when."""

    name: str
    email: str
    when: datetime


class CommitEntry(NamedTuple):
    """A commit as git knows it; `date` is in ISO 8601."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    name: str
    email: str
    date: str
    message: str


def history(git: BareRepository, tip: str, path: str = "", most: int = -1) -> list[CommitEntry]:
    """The commits that changed a path, or all, from the newest, as `git log` leaves out and orders them."""
    said = git.run("log", f"--max-count={most}", f"--format=tformat:{_FORMAT}", tip, "--", *([path] if path else []))
    fields = said.decode(errors="replace").split("\0")[:-1]
    rows = [fields[at : at + _FIELDS] for at in range(0, len(fields), _FIELDS)]
    return [CommitEntry(row[0].strip(), row[1], tuple(row[2].split()), *row[3:]) for row in rows]


def read_commit(git: BareRepository, sha: str) -> CommitEntry:
    """One commit."""
    return history(git, sha, most=1)[0]


def introduced(git: BareRepository, base: str, head: str) -> frozenset[str]:
    """The commits that a head has and a base has not."""
    return frozenset(git.run("rev-list", f"{base}..{head}").decode().split())


def is_ancestor(git: BareRepository, one: str, other: str) -> bool:
    """Whether a branch at `one` can go to `other` without losing a commit."""
    try:
        git.run("merge-base", "--is-ancestor", one, other)
    except subprocess.CalledProcessError:
        return False
    return True


def write_tree(git: BareRepository, base: str | None, rows: Iterable[tuple[str, str, str]]) -> str:
    """A tree, or an empty one, with files (mode, blob, path) put or removed; its name."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.run("read-tree", *([base] if base else ["--empty"]), environment=index)
        said = "".join(f"{'0' if sha == ABSENT else mode} {sha}\t{path}\0" for mode, sha, path in rows)
        git.run("update-index", "-z", "--index-info", given=said.encode(), environment=index)
        return git.run("write-tree", environment=index).decode().strip()


def write_commit(
    git: BareRepository, tree: str, parents: Iterable[str], message: str, author: Author | None = None
) -> str:
    """A commit that no branch has yet; its name."""
    words = [word for parent in parents for word in ("-p", parent)]
    about = {}
    if author is not None:
        fields = {"NAME": author.name, "EMAIL": author.email, "DATE": author.when.isoformat()}
        about = {f"GIT_{who}_{what}": said for who in ("AUTHOR", "COMMITTER") for what, said in fields.items()}
    return git.run("commit-tree", tree, *words, given=message.encode(), environment=about).decode().strip()


def merge(git: BareRepository, branch: str, head: str, message: str, method: Method = Method.MERGE) -> str:
    """Merge a commit into a branch as a button of GitHub's does. Raises CalledProcessError at a conflict."""
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
    """Each commit of its own again, on top of another."""
    for sha in git.run("rev-list", "--reverse", f"{onto}..{head}").decode().split():
        said = read_commit(git, sha)
        # what is onto, as if it came of the same parent: older gits cannot be told where two sides parted
        beside = write_commit(git, f"{onto}^{{tree}}", said.parents, "Beside")
        onto = write_commit(git, _merged(git, beside, sha), [onto], said.message)
    return onto
