"""Trees and commits as GitHub makes them out of files: what a tree holds already is not sent again.

Nothing here has a name that anybody sees, so what is made twice, because an answer was lost, is nobody's trouble.
All of it is to be called while `speaking`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from github import InputGitTreeElement
from github.GitCommit import GitCommit
from github.GithubObject import NotSet
from github.GitTree import GitTree
from github.GitTreeElement import GitTreeElement

from evaluator.errors import GitHubError, UsageError
from evaluator.escaping import printable
from evaluator.github.connection import Connection, post

LARGEST: Final = 32 * 1024 * 1024
"""Bytes of one file. GitHub refuses 100 MB; what is sent is a third longer, and must arrive within a request."""

_INLINE: Final = 256 * 1024
"""Bytes of a text that goes with its tree, which saves a request; so many small files are one write, not hundreds."""
_INLINE_ALL: Final = 4 * 1024 * 1024
_FILE: Final = "100644"

Files = Mapping[str, bytes | None]
"""What shall stand at each path; None: nothing."""


class TreeEntry(NamedTuple):
    """A file in a tree: its mode, and git's name for its content."""

    mode: str
    sha: str


def file_entries(connection: Connection, tree: str, paths: Iterable[str]) -> dict[str, TreeEntry | None]:
    """The files of a tree, or of a commit's, by path; None where there is none, or something else."""
    wanted = tuple(paths)
    whole = connection.hosted.get_git_tree(tree, recursive=True)
    files = {each.path: TreeEntry(each.mode, each.sha) for each in whole.tree if each.type == "blob"}
    if whole.raw_data["truncated"]:
        # beyond some 100,000 names GitHub cuts the list: then folder by folder
        files = dict(_descended(connection, tree, wanted))
    return {path: files.get(path) for path in wanted}


def _descended(connection: Connection, tree: str, paths: Iterable[str]) -> Iterator[tuple[str, TreeEntry]]:
    folders: dict[PurePosixPath, list[str]] = {}
    for path in paths:
        folders.setdefault(PurePosixPath(path).parent, []).append(path)
    opened: dict[PurePosixPath, dict[str, GitTreeElement]] = {PurePosixPath(): _folder(connection, tree)}
    for folder, below in folders.items():
        names = _open(connection, opened, folder)
        for path in below:
            found = names.get(PurePosixPath(path).name)
            if found is not None and found.type == "blob":
                yield path, TreeEntry(found.mode, found.sha)


def _open(
    connection: Connection, opened: dict[PurePosixPath, dict[str, GitTreeElement]], folder: PurePosixPath
) -> dict[str, GitTreeElement]:
    """What is in a folder, by name; each folder is asked for once."""
    if folder not in opened:
        found = _open(connection, opened, folder.parent).get(folder.name)
        opened[folder] = _folder(connection, found.sha) if found is not None and found.type == "tree" else {}
    return opened[folder]


def _folder(connection: Connection, tree: str) -> dict[str, GitTreeElement]:
    listed = connection.hosted.get_git_tree(tree)
    if listed.raw_data["truncated"]:
        raise GitHubError(f"{connection.name}: tree {tree}: GitHub does not list a folder of so many names whole")
    return {each.path: each for each in listed.tree}


def make_commit(connection: Connection, tree: GitTree, parents: list[GitCommit], message: str) -> str:
    """A commit that no branch has yet."""
    make = connection.hosted.create_git_commit
    return post(connection, lambda: make(message, tree, parents), lambda: None).sha


def make_tree(connection: Connection, onto: GitCommit | None, files: Files) -> GitTree:
    """The tree of a commit, or an empty one, with these files put or removed.

    Raises UsageError for a file larger than `LARGEST`, before anything is sent.
    """
    _check_sizes(connection, files)
    present = file_entries(connection, onto.tree.sha, files) if onto else dict.fromkeys(files)
    elements = list(_elements(connection, dict(changed(files, present))))
    if onto and not elements:
        return onto.tree
    base, make = onto.tree if onto else NotSet, connection.hosted.create_git_tree
    return post(connection, lambda: make(elements, base), lambda: None)


def _check_sizes(connection: Connection, files: Files) -> None:
    for path, content in files.items():
        if content is not None and len(content) > LARGEST:
            raise UsageError(f"{connection.name}: {printable(path)}: {len(content)} bytes: expected at most {LARGEST}")


def changed(files: Files, present: Mapping[str, TreeEntry | None]) -> Iterator[tuple[str, bytes | None]]:
    """What is not so already, in the order of paths. GitHub refuses to remove what is not there."""
    for path, content in sorted(files.items()):
        if present[path] != (None if content is None else TreeEntry(_FILE, _name(content))):
            yield path, content


def _name(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _elements(connection: Connection, files: Files) -> Iterator[InputGitTreeElement]:
    room = _INLINE_ALL
    for path, content in files.items():
        text = _text(content) if content is not None and len(content) <= min(_INLINE, room) else None
        if text is not None and content is not None:
            room -= len(content)
            yield InputGitTreeElement(path, _FILE, "blob", content=text)
        else:
            sha = None if content is None else _send(connection, path, content)
            yield InputGitTreeElement(path, _FILE, "blob", sha=sha)


def _text(content: bytes) -> str | None:
    """Bytes as the text that GitHub writes back as these bytes; None for what is no plain text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if "\0" not in text else None


def _send(connection: Connection, path: str, content: bytes) -> str:
    said, make = base64.b64encode(content).decode("ascii"), connection.hosted.create_git_blob
    made = post(connection, lambda: make(said, "base64"), lambda: None).sha
    if made != _name(content):
        raise GitHubError(f"{connection.name}: GitHub keeps other bytes than {printable(path)} has; run this again")
    return made
