"""The cache of a repository's runs, scoped as on GitHub: who may read whose entries, and that none is ever changed."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """A saved entry: of a repository and a ref, under a key, for the paths that `version` is the digest of."""

    repository: int
    scope: str
    key: str
    version: str
    file: Path


def version_of(paths: Sequence[str]) -> str:
    """What makes two caches of a key different: the paths as they are written in the step."""
    return hashlib.sha256("\0".join(paths).encode()).hexdigest()


class CacheStore:
    """Entries of all repositories, each a tar in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.entries: list[Entry] = []

    def find(self, repository: int, scopes: Sequence[str], keys: Sequence[str], version: str) -> Entry | None:
        """The entry of the first key, else the latest that begins as a further one says; scopes in their order."""
        readable = [each for each in self.entries if each.repository == repository and each.version == version]
        for at, key in enumerate(keys):
            for scope in scopes:
                fitting = [each for each in readable if each.scope == scope and _fits(each.key, key, exact=at == 0)]
                if fitting:
                    return fitting[-1]
        return None

    def save(self, repository: int, scope: str, key: str, version: str, root: Path, paths: Sequence[str]) -> bool:
        """Keep files below `root`; whether it was done, since an entry of that scope and key stays as it is."""
        same = (repository, scope, key, version)
        if any((each.repository, each.scope, each.key, each.version) == same for each in self.entries):
            return False
        file = self._folder / f"{len(self.entries)}.tar"
        file.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(file, "w") as archive:
            for path in paths:
                archive.add(root / path, path)
        self.entries.append(Entry(*same, file))
        return True

    def restore(self, entry: Entry, root: Path) -> None:
        """Put an entry's files where they were."""
        with tarfile.open(entry.file) as archive:
            archive.extractall(root, filter="data")


def _fits(found: str, wanted: str, *, exact: bool) -> bool:
    return found == wanted if exact else found.startswith(wanted)
