"""Files at a commit, above all a submission's, read through GitHub's API as data. Nothing is checked out or executed.

The content of a commit cannot change, so a later push has no effect here. The tree states the size of each file before
any byte is fetched.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from github.GitTree import GitTree
from github.GitTreeElement import GitTreeElement

from evaluator.errors import GitHubError, Problem
from evaluator.escaping import printable
from evaluator.github.connection import Connection, map_errors
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.messages import quoted
from evaluator.submissions.names import MANIFEST_NAME

_READ: Final = "contents: read"
_LONGEST_NAME: Final = 255

FILE_BYTES: Final = 16 * 1024 * 1024
"""The size limit of a file of this project itself. No such file comes near it."""


@dataclass(frozen=True, slots=True)
class SubmissionFiles:
    """The regular files of a folder by safe name, and the problems of all its other entries."""

    files: Mapping[str, bytes]
    problems: tuple[Problem, ...]

    def write(self, folder: Path) -> None:
        """Write the files to a new folder, so that the check reads them as on their author's machine."""
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


def read_submission(connection: Connection, commit: str, folder: str, limits: SubmissionLimits) -> SubmissionFiles:
    """Return the files of a folder at a commit, such as `submissions/mine`. A missing folder is a problem without
    files.

    An entry that exceeds a limit, or is a link, a submodule or a folder, is a problem and is not fetched. Raises
    GitHubError if GitHub sends other bytes than the commit holds.
    """
    place = Path(folder)
    with map_errors(connection, f"reading {printable(folder)} at {commit}", _READ):
        tree = _descend(connection, commit, PurePosixPath(folder).parts)
        if tree is None:
            return SubmissionFiles({}, (Problem(place, 0, "there is no such folder in this commit"),))
        entries = tree.tree[: limits.entries]
        overfull = len(tree.tree) > limits.entries or tree.raw_data["truncated"]
        faults = [(entry, fault) for entry in entries if (fault := _fault(entry, limits))]
        refused = {entry.path for entry, _ in faults}
        files = {entry.path: _blob(connection, entry) for entry in entries if entry.path not in refused}
    return SubmissionFiles(files, (*_overfull(place, overfull, limits), *_problems(place, faults)))


def read_file(connection: Connection, commit: str, path: str, most: int = FILE_BYTES) -> bytes | None:
    """Return the content of one regular file at a commit, or None if there is no such file.

    Raises GitHubError if the file has more than `most` bytes, or if GitHub sends other bytes than the commit holds.
    """
    place = PurePosixPath(path)
    with map_errors(connection, f"reading {printable(path)} at {commit}", _READ):
        tree = _descend(connection, commit, place.parent.parts)
        entry = next((each for each in tree.tree if each.path == place.name), None) if tree else None
        if entry is None or _kind(entry) != "a file":
            return None
        if (entry.size or 0) > most:
            raise GitHubError(f"{connection.name}: {printable(path)} has {entry.size} bytes: expected at most {most}")
        return _blob(connection, entry)


def _descend(connection: Connection, commit: str, parts: Iterable[str]) -> GitTree | None:
    tree = connection.hosted.get_git_tree(commit)
    for part in parts:
        below = next((each for each in tree.tree if (each.path, each.type) == (part, "tree")), None)
        if below is None:
            return None
        tree = connection.hosted.get_git_tree(below.sha)
    return tree


def _overfull(place: Path, overfull: bool, limits: SubmissionLimits) -> Iterable[Problem]:
    if overfull:
        yield Problem(place, 0, f"more than {limits.entries} names in this folder: the rest is not checked")


def _problems(place: Path, faults: Iterable[tuple[GitTreeElement, str]]) -> Iterable[Problem]:
    for entry, fault in faults:
        plain = entry.path == printable(entry.path) and not _name_fault(entry.path) and len(entry.path) <= 100
        yield Problem(place / entry.path, 0, fault) if plain else Problem(place, 0, f"{quoted(entry.path)}: {fault}")


def _fault(entry: GitTreeElement, limits: SubmissionLimits) -> str:
    """Return why an entry is not read, or an empty text if it is."""
    kind = _kind(entry)
    if kind != "a file":
        return f"{kind}: expected a regular file; put the file itself here, or remove it"
    most = limits.manifest_bytes if entry.path == MANIFEST_NAME else limits.file_bytes
    size = entry.size or 0
    return _name_fault(entry.path) or (f"{size} bytes: expected at most {most}" if size > most else "")


def _kind(entry: GitTreeElement) -> str:
    kinds = {"tree": "a folder", "commit": "a submodule"}
    if entry.type != "blob":
        return kinds.get(entry.type, "no file")
    return "a symbolic link" if stat.S_ISLNK(int(entry.mode, 8)) else "a file"


def _name_fault(name: str) -> str:
    """Return why a file name is refused. Git forbids most of these names, but a commit can be made without Git."""
    if name in ("", ".", "..") or "/" in name or "\\" in name or name.casefold() == ".git" or not name.isprintable():
        return "no plain name of a file; rename it"
    return "" if len(name.encode()) <= _LONGEST_NAME else f"a name of more than {_LONGEST_NAME} bytes; rename it"


def _blob(connection: Connection, entry: GitTreeElement) -> bytes:
    said = connection.hosted.get_git_blob(entry.sha)
    try:
        content = base64.b64decode(said.content)
    except (binascii.Error, ValueError) as error:
        raise GitHubError(f"{connection.name}: blob {entry.sha} does not read as base64") from error
    named = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if named != entry.sha:
        raise GitHubError(f"{connection.name}: GitHub sent other bytes than blob {entry.sha} holds; run this again")
    return content
