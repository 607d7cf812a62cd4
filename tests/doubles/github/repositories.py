"""Bare Git repositories, written and read by git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_STATUSES: Final = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}
_ENVIRONMENT: Final = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
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
"""What a path shall be after a commit; None removes it."""


class TreeEntry(NamedTuple):
    """One name in a tree, as `git ls-tree -l` says it; `size` is None for what is no blob."""

    mode: str
    kind: str
    sha: str
    size: int | None
    path: str


class FileChange(NamedTuple):
    """One changed file between a merge base and a head; `earlier` is its path before it was renamed."""

    status: str
    path: str
    sha: str
    additions: int
    deletions: int
    earlier: str | None = None


class BareRepository:
    """One bare repository in a folder."""

    def __init__(self, folder: Path, origin: BareRepository | None = None) -> None:
        self.folder = folder
        self._changes: dict[tuple[str, str], list[FileChange]] = {}
        folder.mkdir(parents=True)
        self.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main")
        if origin is not None:
            self._borrow(origin)
            shutil.copytree(origin.folder / "refs" / "heads", folder / "refs" / "heads", dirs_exist_ok=True)

    def _borrow(self, other: BareRepository) -> None:
        """Read another's objects as one's own: a repository and its forks share theirs, as on GitHub."""
        file, place = self.folder / "objects" / "info" / "alternates", f"{other.folder / 'objects'}\n"
        known = file.read_text() if file.is_file() else ""
        if place not in known:
            file.write_text(known + place)

    def commit(
        self, branch: str, files: Mapping[str, Content], message: str = "A change", *, root: bool = False
    ) -> str:
        """Add a commit to a branch, begun at `main` where it is new; the commit's name.

        With `root` the commit has no parent and holds these files alone: what a force-push leaves.
        """
        ref = f"refs/heads/{branch}"
        parent = None if root else self.find(ref) or self.find("refs/heads/main")
        said = message.encode()
        stream = [f"commit {ref}\ncommitter A person <person@example.org> 1767225600 +0000\n".encode()]
        stream += [b"data %d\n%s\n" % (len(said), said), f"from {parent}\n".encode() if parent else b""]
        if root:
            self.run("update-ref", "-d", ref)
        stream += [_command(path, content) for path, content in files.items()]
        self.run("fast-import", "--quiet", "--force", given=b"".join(stream))
        return self.resolve(ref)

    def commit_entries(self, branch: str, path: Sequence[str], entries: Sequence[tuple[str, str, bytes]]) -> str:
        """A commit whose tree holds, below `path`, entries (mode, name, blob) that git itself would not write."""
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
        """Write an object as it is; its name."""
        return self.run("hash-object", "-t", kind, "--literally", "-w", "--stdin", given=content).decode().strip()

    def fetch(self, other: BareRepository, ref: str, into: str) -> str:
        """Bring a ref of another repository under another name here, whatever stood there; the commit's name."""
        self._borrow(other)
        sha, kept = other.resolve(ref), self.folder / into
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{sha}\n")
        return sha

    def find(self, name: str) -> str | None:
        """The object that a name means, or None."""
        if name.startswith("refs/"):
            return self._ref(name)
        asked = ["git", "-C", str(self.folder), "rev-parse", "--quiet", "--verify", "--end-of-options", name]
        run = subprocess.run(asked, env=_ENVIRONMENT, capture_output=True, check=False)
        return run.stdout.decode().strip() or None

    def _ref(self, name: str) -> str | None:
        """A ref as git keeps it: in a file of its own, or packed. Asking git would take a process each time."""
        if (self.folder / name).is_file():
            return (self.folder / name).read_text().strip()
        packed = self.folder / "packed-refs"
        rows = packed.read_text().splitlines() if packed.is_file() else []
        return next((row.split()[0] for row in rows if row.partition(" ")[2] == name), None)

    def resolve(self, name: str) -> str:
        """The object that a name means. Raises KeyError for none."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def tree(self, name: str, recursive: bool) -> list[TreeEntry]:
        """A tree's entries. Raises CalledProcessError where the name means no tree."""
        said = self.run("ls-tree", "-z", "-l", *(["-r", "-t"] if recursive else []), name)
        return [_entry(line) for line in said.decode(errors="replace").split("\0") if line]

    def blob(self, sha: str) -> bytes:
        """A blob's bytes. Raises CalledProcessError where the name means none."""
        return self.run("cat-file", "blob", sha)

    def changes(self, base: str, head: str) -> list[FileChange]:
        """What one commit changed since it left another, by path; it cannot become different."""
        if (base, head) not in self._changes:
            self._changes[base, head] = self._compare(base, head)
        return self._changes[base, head]

    def _compare(self, base: str, head: str) -> list[FileChange]:
        between = f"{base}...{head}"
        counts = _counted(self.run("diff", "--numstat", "-z", "-M", between).decode(errors="replace"))
        fields = iter(
            self.run("diff", "--raw", "-z", "-M", "--abbrev=40", between).decode(errors="replace").split("\0")
        )
        found = []
        for about in fields:
            if not about:
                break
            *_, sha, status = about.split()
            first = next(fields)
            path, earlier = (next(fields), first) if status[0] in "RC" else (first, None)
            found.append(FileChange(_STATUSES[status[0]], path, sha, *counts[path], earlier))
        return found

    def run(self, *words: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run git on this repository; what it says. Raises CalledProcessError."""
        asked = ["git", "-C", str(self.folder), *words]
        around = {**_ENVIRONMENT, **(environment or {})}
        return subprocess.run(asked, env=around, input=given, capture_output=True, check=True).stdout


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


def _counted(said: str) -> dict[str, tuple[int, int]]:
    """Lines added and removed by path; a binary file has none."""
    fields = iter(said.split("\0"))
    counts = {}
    for about in fields:
        if not about:
            break
        added, removed, path = about.split("\t")
        if not path:
            _, path = next(fields), next(fields)
        counts[path] = (int(added) if added != "-" else 0, int(removed) if removed != "-" else 0)
    return counts
