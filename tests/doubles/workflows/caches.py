"""The cache of a repository's runs. As on GitHub, an entry belongs to a ref and never changes.

A job that saves an entry chooses all paths in it. GitHub's action unpacks an entry with `tar -P`, which follows
absolute paths and `..`, so an entry can replace every file of the machine.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A saved entry of a repository and a ref. `version` is the digest of the saved paths."""

    repository: int
    scope: str
    key: str
    version: str
    file: Path


def version_of(paths: Sequence[str]) -> str:
    """Return the digest of the paths as the step writes them. It distinguishes entries with the same key."""
    return hashlib.sha256("\0".join(paths).encode()).hexdigest()


class CacheStore:
    """The entries of all repositories. Each entry is a tar archive in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.entries: list[CacheEntry] = []

    def find(self, repository: int, scopes: Sequence[str], keys: Sequence[str], version: str) -> CacheEntry | None:
        """Return the entry with the first key. Without one, return the latest entry that begins with a further key.

        Both keys and scopes are searched in their order.
        """
        readable = [entry for entry in self.entries if entry.repository == repository and entry.version == version]
        for number, key in enumerate(keys):
            for scope in scopes:
                matching = [
                    entry
                    for entry in readable
                    if entry.scope == scope and (entry.key.startswith(key) if number else entry.key == key)
                ]
                if matching:
                    return matching[-1]
        return None

    def save(self, repository: int, scope: str, key: str, version: str, root: Path, paths: Sequence[str]) -> bool:
        """Save files below `root`. If the scope already has an entry with that key, keep it and return False."""
        same = (repository, scope, key, version)
        if any((entry.repository, entry.scope, entry.key, entry.version) == same for entry in self.entries):
            return False
        file = self._folder / f"{len(self.entries)}.tar"
        file.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(file, "w") as archive:
            for path in paths:
                archive.add(root / path, os.path.relpath(root / path, root))
        self.entries.append(CacheEntry(*same, file))
        return True

    def restore(self, entry: CacheEntry, root: Path) -> None:
        """Restore the files of an entry. Relative paths begin at `root`, but a path may lead to any other place."""
        with tarfile.open(entry.file) as archive:
            archive.extractall(root, filter="fully_trusted")  # noqa: S202 - as the action does
