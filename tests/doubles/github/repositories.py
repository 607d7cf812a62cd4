"""Bare Git repositories, read and written by Git itself. Single objects are written without a Git process."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_STATUSES: Final = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}
_FIXED_NAME: Final = re.compile(r"[0-9a-f]{40}(?:\^\{\w+\}|:.*)?", re.DOTALL)
"""A name that always resolves to the same object: a full object name, or an expression that begins with one."""

_ENVIRONMENT: Final = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    # every repository is deleted after its test, so Git need not flush files to the disk
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsync",
    "GIT_CONFIG_VALUE_0": "none",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A person"), ("EMAIL", "person@example.org"), ("DATE", "1767225600 +0000"))
    },
}


class Link(NamedTuple):
    """A symbolic link in a tree."""

    target: str


class Submodule(NamedTuple):
    """A submodule in a tree: a commit of another repository."""

    commit: str


Content = bytes | Link | Submodule | None
"""The content of a path after a commit. None removes the path."""


class TreeEntry(NamedTuple):
    """An entry of a tree, as `git ls-tree -l` prints it. `size` is None for an entry that is not a blob."""

    mode: str
    kind: str
    sha: str
    size: int | None
    path: str


class FileChange(NamedTuple):
    """A changed file between a merge base and a head. `earlier` is its path before a rename."""

    status: str
    path: str
    sha: str
    additions: int
    deletions: int
    earlier: str | None = None


class BareRepository:
    """A bare repository in a folder."""

    def __init__(self, folder: Path, origin: BareRepository | None = None) -> None:
        self.folder = folder
        self._changes: dict[tuple[str, str], list[FileChange]] = {}
        self._read: dict[tuple[str, ...], bytes] = {}
        _initialize(folder)
        if origin is not None:
            self._borrow(origin)
            shutil.copytree(origin.folder / "refs" / "heads", folder / "refs" / "heads", dirs_exist_ok=True)

    def _borrow(self, other: BareRepository) -> None:
        """Share the other repository's objects, as GitHub does for forks."""
        file, place = self.folder / "objects" / "info" / "alternates", f"{other.folder / 'objects'}\n"
        known = file.read_text() if file.is_file() else ""
        if place not in known:
            file.write_text(known + place)

    def commit(
        self, branch: str, files: Mapping[str, Content], message: str = "A change", *, root: bool = False
    ) -> str:
        """Add a commit to a branch and return the commit. A new branch starts at `main`.

        With `root` the commit has no parent and holds only these files, as after a forced push.
        """
        ref = f"refs/heads/{branch}"
        parent = None if root else self.find(ref) or self.find("refs/heads/main")
        data = message.encode()
        stream = [f"commit {ref}\ncommitter A person <person@example.org> 1767225600 +0000\n".encode()]
        stream += [b"data %d\n%s\n" % (len(data), data), f"from {parent}\n".encode() if parent else b""]
        if root:
            self.run("update-ref", "-d", ref)
        stream += [_command(path, content) for path, content in files.items()]
        self._import(b"".join(stream), empty=parent is None and not root)
        return self.resolve(ref)

    def _import(self, stream: bytes, empty: bool) -> None:
        """Run `git fast-import`. In an empty repository, reuse the files of an earlier run with the same stream."""
        if empty and stream in _FIRST_COMMITS:
            for name, content in _FIRST_COMMITS[stream].items():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(content)
            return
        before = _files_of(self.folder) if empty else {}
        self.run("fast-import", "--quiet", "--force", given=stream)
        if before == _INITIAL:
            after = _files_of(self.folder)
            _FIRST_COMMITS[stream] = {name: after[name] for name in after if name not in before}

    def commit_entries(self, branch: str, path: Sequence[str], entries: Sequence[tuple[str, str, bytes]]) -> str:
        """Return a new commit whose entries (mode, name, blob) below `path` Git itself would refuse."""
        rows = [(mode, name, self.store("blob", content)) for mode, name, content in entries]
        tree = self._tree(rows)
        for name in reversed(path):
            tree = self._tree([("40000", name, tree)])
        made = self.run("commit-tree", tree, "-m", "A change").decode().strip()
        self.run("update-ref", f"refs/heads/{branch}", made)
        return made

    def _tree(self, rows: Sequence[tuple[str, str, str]]) -> str:
        raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(sha) for mode, name, sha in rows)
        return self.store("tree", raw)

    def store(self, kind: str, content: bytes) -> str:
        """Write an object unchanged, as `git hash-object --literally -w` does, and return its name."""
        data = f"{kind} {len(content)}\0".encode() + content
        sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        place = self.folder / "objects" / sha[:2] / sha[2:]
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            place.write_bytes(zlib.compress(data, 1))
        return sha

    def fetch(self, other: BareRepository, ref: str, into: str) -> str:
        """Set the ref `into` to the commit of a ref of another repository, and return that commit."""
        self._borrow(other)
        sha, kept = other.resolve(ref), self.folder / into
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{sha}\n")
        return sha

    def find(self, name: str) -> str | None:
        """Return the object that a name resolves to, or None."""
        if name.startswith("refs/"):
            return self._ref(name)
        try:
            found = self._object("rev-parse", "--quiet", "--verify", "--end-of-options", name)
        except subprocess.CalledProcessError:
            return None
        return found.decode().strip() or None

    def _ref(self, name: str) -> str | None:
        """Read a ref from its own file or from `packed-refs`, because a Git process for each read would be slow."""
        if (self.folder / name).is_file():
            return (self.folder / name).read_text().strip()
        packed = self.folder / "packed-refs"
        rows = packed.read_text().splitlines() if packed.is_file() else []
        return next((row.split()[0] for row in rows if row.partition(" ")[2] == name), None)

    def resolve(self, name: str) -> str:
        """Return the object that a name resolves to. Raises KeyError if there is none."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def tree(self, name: str, recursive: bool) -> list[TreeEntry]:
        """Return a tree's entries. Raises CalledProcessError if the name is not a tree."""
        output = self._object("ls-tree", "-z", "-l", *(["-r", "-t"] if recursive else []), name)
        return [_entry(line) for line in output.decode(errors="replace").split("\0") if line]

    def blob(self, sha: str) -> bytes:
        """Return a blob's bytes. Raises CalledProcessError if the name is not a blob."""
        return self._object("cat-file", "blob", sha)

    def _object(self, *words: str) -> bytes:
        """Run Git to read the object that the last word names. The output for a fixed name is cached."""
        if not _FIXED_NAME.fullmatch(words[-1]):
            return self.run(*words)
        if words not in self._read:
            self._read[words] = self.run(*words)
        return self._read[words]

    def changes(self, base: str, head: str) -> list[FileChange]:
        """Return the files that changed between a merge base and a head, by path.

        The result is cached, because it is always the same for two commits.
        """
        if (base, head) not in self._changes:
            self._changes[base, head] = self._compare(base, head)
        return self._changes[base, head]

    def _compare(self, base: str, head: str) -> list[FileChange]:
        between = f"{base}...{head}"
        words = ("--raw", "--numstat", "-z", "-M", "--abbrev=40", between)
        fields = self.run("diff", *words).decode(errors="replace").split("\0")
        rows, at = [], 0
        while fields[at].startswith(":"):
            *_, sha, status = fields[at].split()
            paths = fields[at + 1 : at + (3 if status[0] in "RC" else 2)]
            at += 1 + len(paths)
            rows.append((_STATUSES[status[0]], paths[-1], sha, paths[0] if len(paths) == 2 else None))
        counts = _line_counts("\0".join(fields[at:]))
        return [FileChange(status, path, sha, *counts[path], earlier) for status, path, sha, earlier in rows]

    def run(self, *words: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run Git on this repository and return its output. Raises CalledProcessError."""
        command = ["git", "-C", str(self.folder), *words]
        env = {**_ENVIRONMENT, **(environment or {})}
        return subprocess.run(command, env=env, input=given, capture_output=True, check=True).stdout


_INITIAL: Final = {
    "HEAD": b"ref: refs/heads/main\n",
    "config": b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
}
"""The files that `git init --bare` writes."""

_FIRST_COMMITS: Final[dict[bytes, dict[str, bytes]]] = {}
"""The files that a first commit adds, by its stream. Most tests begin with the same commit, and Git is slow."""


def _initialize(folder: Path) -> None:
    """Create a bare repository as `git init` does, without a Git process."""
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (folder / name).mkdir(parents=True)
    for name, content in _INITIAL.items():
        (folder / name).write_bytes(content)


def _files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _command(path: str, content: Content) -> bytes:
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if content is None:
        return f"D {quoted}\n".encode()
    if isinstance(content, Submodule):
        return f"M 160000 {content.commit} {quoted}\n".encode()
    mode, data = ("120000", content.target.encode()) if isinstance(content, Link) else ("100644", content)
    return f"M {mode} inline {quoted}\ndata {len(data)}\n".encode() + data + b"\n"


def _entry(line: str) -> TreeEntry:
    about, path = line.split("\t", 1)
    mode, kind, sha, size = about.split()
    return TreeEntry(mode, kind, sha, int(size) if size != "-" else None, path)


def _line_counts(output: str) -> dict[str, tuple[int, int]]:
    """Return the numbers of added and removed lines, by path. Both are 0 for a binary file."""
    fields = iter(output.split("\0"))
    counts = {}
    for about in fields:
        if not about:
            break
        added, removed, path = about.split("\t")
        if not path:
            _, path = next(fields), next(fields)
        counts[path] = (int(added) if added != "-" else 0, int(removed) if removed != "-" else 0)
    return counts
