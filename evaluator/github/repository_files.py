"""This module reads the files of a commit as data through GitHub's API. It checks out nothing and executes nothing.

The content of a commit cannot change, so a later push has no effect. The size of each file is known from the tree
before the file is fetched.
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
_MAX_NAME_BYTES: Final = 255

FILE_BYTES: Final = 16 * 1024 * 1024
"""The size limit of a file of this project itself. No such file comes near it."""


@dataclass(frozen=True, slots=True)
class SubmissionFiles:
    """The regular files of a submission's folder as a mapping from name to content, and the folder's problems.

    An entry that is no regular file is a problem, and so is an unsafe name.
    """

    files: Mapping[str, bytes]
    problems: tuple[Problem, ...]

    def write(self, folder: Path) -> None:
        """Write the files to a new folder, so that the check can read them like a local submission."""
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


def read_submission(connection: Connection, commit: str, folder: str, limits: SubmissionLimits) -> SubmissionFiles:
    """Return the files of a submission's folder, such as `submissions/mine`, at a commit.

    A missing folder is a problem. An entry is a problem if it exceeds a limit, or if it is a link, a submodule or a
    folder. Such an entry is not fetched. Raises GitHubError if GitHub sends other bytes than the commit holds.
    """
    root = Path(folder)
    with map_errors(connection, f"reading {printable(folder)} at {commit}", _READ):
        tree = _descend(connection, commit, PurePosixPath(folder).parts)
        if tree is None:
            return SubmissionFiles({}, (Problem(root, 0, "there is no such folder in this commit"),))
        problems: list[Problem] = []
        if len(tree.tree) > limits.entries or tree.raw_data["truncated"]:
            fault = f"more than {limits.entries} names in this folder: the rest is not checked"
            problems.append(Problem(root, 0, fault))
        entries = tree.tree[: limits.entries]
        faults = {entry.path: fault for entry in entries if (fault := _fault(entry, limits))}
        problems += [_problem(root, name, fault) for name, fault in faults.items()]
        files = {entry.path: _blob(connection, entry) for entry in entries if entry.path not in faults}
    return SubmissionFiles(files, tuple(problems))


def read_file(connection: Connection, commit: str, path: str, most: int = FILE_BYTES) -> bytes | None:
    """Return the content of one regular file at a commit, or None if there is no such file.

    Raises GitHubError if the file has more than `most` bytes, or if GitHub sends other bytes than the commit holds.
    """
    file = PurePosixPath(path)
    with map_errors(connection, f"reading {printable(path)} at {commit}", _READ):
        tree = _descend(connection, commit, file.parent.parts)
        entry = next((entry for entry in tree.tree if entry.path == file.name), None) if tree else None
        if entry is None or _kind(entry) != "a file":
            return None
        if (entry.size or 0) > most:
            raise GitHubError(f"{connection.name}: {printable(path)} has {entry.size} bytes: expected at most {most}")
        return _blob(connection, entry)


def _descend(connection: Connection, commit: str, parts: Iterable[str]) -> GitTree | None:
    tree = connection.hosted.get_git_tree(commit)
    for part in parts:
        folder = next((entry for entry in tree.tree if (entry.path, entry.type) == (part, "tree")), None)
        if folder is None:
            return None
        tree = connection.hosted.get_git_tree(folder.sha)
    return tree


def _problem(root: Path, name: str, fault: str) -> Problem:
    is_plain = name == printable(name) and not _name_fault(name) and len(name) <= 100
    return Problem(root / name, 0, fault) if is_plain else Problem(root, 0, f"{quoted(name)}: {fault}")


def _fault(entry: GitTreeElement, limits: SubmissionLimits) -> str:
    """Return the reason why an entry of a submission's folder must not be read, or "" for a valid entry."""
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
    """Return the reason why a file name is invalid, or an empty string for a valid name.

    A commit that was not made by Git itself can contain any name.
    """
    if name in ("", ".", "..") or "/" in name or "\\" in name or name.casefold() == ".git" or not name.isprintable():
        return "not a plain file name; rename it"
    return "" if len(name.encode()) <= _MAX_NAME_BYTES else f"a name of more than {_MAX_NAME_BYTES} bytes; rename it"


def _blob(connection: Connection, entry: GitTreeElement) -> bytes:
    blob = connection.hosted.get_git_blob(entry.sha)
    try:
        content = base64.b64decode(blob.content)
    except (binascii.Error, ValueError) as error:
        raise GitHubError(f"{connection.name}: blob {entry.sha} is not valid base64") from error
    name = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if name != entry.sha:
        raise GitHubError(f"{connection.name}: GitHub sent other bytes than blob {entry.sha} holds; run this again")
    return content
