"""This module fetches one commit of a Git repository and reads its files without a checkout.

The commit is fetched into an empty repository of its own. So no hook, filter, submodule or setting of the publisher's
repository is used. Files are read from Git's objects: a link is a text, and no path is created.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError, UsageError
from evaluator.escaping import printable
from evaluator.suites.importers.source_files import MAX_ENTRIES, SourceEntry

FETCH_TIMEOUT_S: Final = 900.0
MAX_PACK_BYTES: Final = 1 << 30
"""The size of the largest file that Git may write. A commit arrives as one file, so a server cannot fill the disk."""

_LIMITED: Final = """
import os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""A Python program that executes a command with a limit on the size of each file that it writes."""

_SETTINGS: Final = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"),
    *("fetch.recurseSubmodules=false", "submodule.recurse=false", "protocol.ext.allow=never"),
    *("http.lowSpeedLimit=1000", "http.lowSpeedTime=60"),
)
_ENVIRONMENT: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_LOCAL_VARIABLES: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"}
    | {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_TEMPLATE_DIR"}
)
"""Variables that a hook of Git sets. They would direct the commands to another repository."""

_LINK: Final = "120000"
_EXECUTABLE: Final = "100755"
_SUBMODULE: Final = "160000"


def is_repository(path: Path) -> bool:
    """Return whether a folder is a clone with a work tree, or a bare repository."""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


class GitTree:
    """The files of one commit, in a bare repository of our own."""

    def __init__(self, repository: Path, commit: str, label: str) -> None:
        self._repository = repository
        self.commit = commit
        self.label = label
        self.remark = ""

    @cached_property
    def entries(self) -> Mapping[str, SourceEntry]:
        """Return all files and links of the commit. Raises UsageError if there are too many."""
        return {path: entry for path, (_, entry) in self._objects.items()}

    @cached_property
    def _objects(self) -> dict[str, tuple[str, SourceEntry]]:
        """Map each path to its object and its entry. Submodules and names that are not UTF-8 are left out."""
        output = _git(self._repository, "ls-tree", "-r", "-z", "--long", self.commit, label=self.label)
        lines = output.split(b"\0")[:-1]
        if len(lines) > MAX_ENTRIES:
            raise UsageError(f"{self.label} holds more than {MAX_ENTRIES:,} files: expected a copy of the benchmark")
        objects = {}
        for line in lines:
            fields, _, path = line.partition(b"\t")
            mode, _, name, size = fields.decode("ascii").split()
            if mode != _SUBMODULE:
                entry = SourceEntry(int(size), mode == _EXECUTABLE, mode == _LINK)
                objects[path.decode("utf-8", "backslashreplace")] = (name, entry)
        return objects

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of the named files, and the targets of the named links."""
        names = [self._objects[path][0] for path in paths]
        request = "".join(f"{name}\n" for name in names).encode()
        output = _git(self._repository, "cat-file", "--batch", label=self.label, data=request)
        contents, position = {}, 0
        for path, name in zip(paths, names, strict=True):
            end = output.index(b"\n", position)
            found, kind, size = output[position:end].decode("ascii").split()
            if (found, kind) != (name, "blob"):
                raise UsageError(f"{self.label}: {printable(path)} is no file")
            contents[path] = output[end + 1 : end + 1 + int(size)]
            position = end + int(size) + 2
        return contents


def fetch_commit(address: str, commit: str, folder: Path) -> GitTree:
    """Fetch a commit, or `HEAD`, from a repository into an empty folder, without its history.

    `address` is an address or a path. Raises MissingError if Git fails or does not end in time.
    """
    label = printable(address)
    _git(folder, "init", "--quiet", "--bare", "--template=", label=label)
    target = f"{commit}:refs/heads/source"
    _git(folder, "fetch", "--quiet", "--no-tags", "--depth=1", "--", address, target, label=label)
    found = _git(folder, "rev-parse", "--verify", "refs/heads/source^{commit}", label=label).decode().strip()
    return GitTree(folder, found, label)


def _git(folder: Path, *arguments: str, label: str, data: bytes = b"") -> bytes:
    if shutil.which("git") is None:
        raise MissingError("git is not installed here; type: sudo apt-get install -y git")
    command = [sys.executable, "-I", "-c", _LIMITED, str(MAX_PACK_BYTES), "git", "-C", str(folder)]
    command += [*(word for setting in _SETTINGS for word in ("-c", setting)), *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL_VARIABLES}
    environment |= _ENVIRONMENT
    try:
        git = subprocess.run(
            command, input=data, capture_output=True, timeout=FETCH_TIMEOUT_S, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise MissingError(f"{label}: git {arguments[0]} did not end within {FETCH_TIMEOUT_S:.0f} s") from error
    if git.returncode:
        lines = git.stderr.decode("utf-8", "replace").strip().splitlines() or ["git printed no message"]
        unpacks = any(program in lines[-1] for program in ("index-pack", "unpack-objects"))
        hint = f"; more than {MAX_PACK_BYTES:,} bytes are refused" if unpacks else ""
        raise MissingError(f"{label}: git {arguments[0]} failed: {printable(lines[-1])}{hint}")
    return git.stdout
