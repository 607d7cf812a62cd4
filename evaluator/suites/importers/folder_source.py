"""This module reads a folder without Git as the source of an external suite."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.suites.importers.source_files import MAX_ENTRIES, MAX_FILE_BYTES, SourceEntry


class FolderTree:
    """The files and links below a folder. Links are not followed, and folders named `.git` are left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.label = str(folder)
        self.remark = ""

    @cached_property
    def entries(self) -> Mapping[str, SourceEntry]:
        """Return all files and links below the folder. Raises UsageError if there are too many."""
        entries: dict[str, SourceEntry] = {}
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name != ".git"]
            for name in [*names, *folders]:
                path = Path(folder, name)
                status = path.lstat()
                kind = stat.S_IFMT(status.st_mode)
                if kind in (stat.S_IFREG, stat.S_IFLNK):
                    executable = bool(status.st_mode & 0o100) and kind == stat.S_IFREG
                    entry = SourceEntry(status.st_size, executable, kind == stat.S_IFLNK)
                    entries[path.relative_to(self._folder).as_posix()] = entry
            if len(entries) > MAX_ENTRIES:
                raise UsageError(
                    f"{self.label} holds more than {MAX_ENTRIES:,} files: expected a copy of the benchmark"
                )
        return entries

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of the named files, and the targets of the named links."""
        try:
            return {path: self._content(path) for path in paths}
        except OSError as error:
            raise UsageError(f"{error.filename}: cannot be read: {error.strerror}") from error

    def _content(self, path: str) -> bytes:
        if self.entries[path].link:
            return os.fsencode((self._folder / path).readlink())
        descriptor = os.open(self._folder / path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MAX_FILE_BYTES)
