"""Functions that create trees and commits through GitHub's API. Content that a tree already holds is not sent again.

No branch points to the new objects yet. If a response is lost, a second attempt can create an identical object, which
does no harm. Call these functions inside `map_errors`.
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
"""The maximum size of a file in bytes. GitHub refuses 100 MB. Base64 adds a third, and all has to arrive in one
request.
"""

_INLINE: Final = 256 * 1024
"""The maximum size in bytes of a text that is sent with its tree. Many small files then take one request and not
hundreds.
"""
_INLINE_ALL: Final = 4 * 1024 * 1024
_FILE: Final = "100644"

Files = Mapping[str, bytes | None]
"""The content for each path. None removes the file."""


class TreeEntry(NamedTuple):
    """The mode and the Git blob name of a file in a tree."""

    mode: str
    sha: str


def file_entries(connection: Connection, tree: str, paths: Iterable[str]) -> dict[str, TreeEntry | None]:
    """Map each path to its file's entry in a tree or commit, or to None if the file is missing."""
    wanted = tuple(paths)
    listing = connection.hosted.get_git_tree(tree, recursive=True)
    files = {entry.path: TreeEntry(entry.mode, entry.sha) for entry in listing.tree if entry.type == "blob"}
    if listing.raw_data["truncated"]:
        # GitHub cuts the list at some 100,000 names: read folder by folder then
        files = dict(_entries_by_folder(connection, tree, wanted))
    return {path: files.get(path) for path in wanted}


def _entries_by_folder(connection: Connection, tree: str, paths: Iterable[str]) -> Iterator[tuple[str, TreeEntry]]:
    folders: dict[PurePosixPath, list[str]] = {}
    for path in paths:
        folders.setdefault(PurePosixPath(path).parent, []).append(path)
    opened: dict[PurePosixPath, dict[str, GitTreeElement]] = {PurePosixPath(): _folder(connection, tree)}
    for folder, paths_in_folder in folders.items():
        entries = _open_folder(connection, opened, folder)
        for path in paths_in_folder:
            entry = entries.get(PurePosixPath(path).name)
            if entry is not None and entry.type == "blob":
                yield path, TreeEntry(entry.mode, entry.sha)


def _open_folder(
    connection: Connection, opened: dict[PurePosixPath, dict[str, GitTreeElement]], folder: PurePosixPath
) -> dict[str, GitTreeElement]:
    """Return the entries of a folder in a Git tree as a mapping from name to entry.

    `opened` caches the entries, so that each folder is requested only once.
    """
    if folder not in opened:
        entry = _open_folder(connection, opened, folder.parent).get(folder.name)
        opened[folder] = _folder(connection, entry.sha) if entry is not None and entry.type == "tree" else {}
    return opened[folder]


def _folder(connection: Connection, tree: str) -> dict[str, GitTreeElement]:
    listing = connection.hosted.get_git_tree(tree)
    if listing.raw_data["truncated"]:
        raise GitHubError(f"{connection.name}: tree {tree}: the folder has more names than GitHub lists")
    return {entry.path: entry for entry in listing.tree}


def make_commit(connection: Connection, tree: GitTree, parents: list[GitCommit], message: str) -> str:
    """Create a commit without moving a branch, and return its hash."""
    create = connection.hosted.create_git_commit
    return post(connection, lambda: create(message, tree, parents), lambda: None).sha


def make_tree(connection: Connection, onto: GitCommit | None, files: Files) -> GitTree:
    """Create a Git tree by writing and removing `files` in the tree of the commit `onto`.

    If `onto` is None, begin with an empty tree. Raises UsageError for a file larger than `LARGEST`, before anything is
    sent.
    """
    for path, content in files.items():
        if content is not None and len(content) > LARGEST:
            raise UsageError(f"{connection.name}: {printable(path)}: {len(content)} bytes: expected at most {LARGEST}")
    present = file_entries(connection, onto.tree.sha, files) if onto else dict.fromkeys(files)
    elements = list(_elements(connection, dict(differing_files(files, present))))
    if onto and not elements:
        return onto.tree
    base, create = onto.tree if onto else NotSet, connection.hosted.create_git_tree
    return post(connection, lambda: create(elements, base), lambda: None)


def differing_files(files: Files, present: Mapping[str, TreeEntry | None]) -> Iterator[tuple[str, bytes | None]]:
    """Yield the path and content of each entry of `files` that differs from `present`, sorted by path.

    `present` maps each path to its entry in a tree. The content None means that the file is to be removed. A removal is
    left out if the tree does not have the file, because GitHub would refuse it.
    """
    for path, content in sorted(files.items()):
        if present[path] != (None if content is None else TreeEntry(_FILE, _blob_name(content))):
            yield path, content


def _blob_name(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _elements(connection: Connection, files: Files) -> Iterator[InputGitTreeElement]:
    remaining = _INLINE_ALL
    for path, content in files.items():
        text = _text(content) if content is not None and len(content) <= min(_INLINE, remaining) else None
        if text is not None and content is not None:
            remaining -= len(content)
            yield InputGitTreeElement(path, _FILE, "blob", content=text)
        else:
            sha = None if content is None else _send(connection, path, content)
            yield InputGitTreeElement(path, _FILE, "blob", sha=sha)


def _text(content: bytes) -> str | None:
    """Return a file's content as text, or None if it is not UTF-8 or contains NUL. GitHub cannot store such a text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if "\0" not in text else None


def _send(connection: Connection, path: str, content: bytes) -> str:
    encoded, create = base64.b64encode(content).decode("ascii"), connection.hosted.create_git_blob
    sha = post(connection, lambda: create(encoded, "base64"), lambda: None).sha
    if sha != _blob_name(content):
        raise GitHubError(f"{connection.name}: GitHub stored other bytes than {printable(path)} has; run this again")
    return sha
