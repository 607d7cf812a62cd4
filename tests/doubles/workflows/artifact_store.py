"""The artifacts of a run. Every job of a run may add, read and remove every artifact of the run."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.doubles.github import Artifact, GitHubServer, WorkflowRun
from tests.doubles.workflows.expressions import WorkflowError

_FORBIDDEN = re.compile(r'[":<>|*?\r\n\\/]')


class Shelf:
    """The artifacts of one run. Every job has a token for them, and code that escapes from a sandbox can use it."""

    def __init__(self, github: GitHubServer, run: WorkflowRun) -> None:
        self._github, self._run = github, run

    def find(self, name: str) -> Artifact | None:
        """Return the artifact of that name, or None."""
        return next((artifact for artifact in self._run.artifacts if artifact.name == name), None)

    def names(self) -> tuple[str, ...]:
        """Return all names, in the order of the uploads."""
        return tuple(artifact.name for artifact in self._run.artifacts)

    def put(self, name: str, files: Mapping[str, bytes]) -> Artifact:
        """Upload files, by path, as an artifact. Raises WorkflowError if the name exists or GitHub refuses it."""
        if not name or _FORBIDDEN.search(name):
            raise WorkflowError(f"artifact {name!r}: GitHub refuses the name")
        if self.find(name):
            raise WorkflowError(f"artifact {name!r}: the run has one of that name (409 Conflict)")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for path, content in sorted(files.items()):
                archive.writestr(zipfile.ZipInfo(path), content)
        return self._github.upload(self._run, name, packed.getvalue())

    def remove(self, name: str) -> None:
        """Delete an artifact. The token of any job of the run may do so."""
        self._run.artifacts[:] = [artifact for artifact in self._run.artifacts if artifact.name != name]

    def take(self, name: str, folder: Path) -> list[str]:
        """Unpack an artifact into a folder and return the paths. Raises WorkflowError if there is no such artifact."""
        artifact = self.find(name)
        if artifact is None:
            raise WorkflowError(f"artifact {name!r} is not found, only {', '.join(self.names()) or 'none'}")
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(artifact.content)) as archive:
            archive.extractall(folder)
            return archive.namelist()


def chosen_files(root: Path, patterns: Sequence[str], *, hidden: bool) -> dict[str, bytes]:
    """Return the contents of the files to upload. Paths are relative to the deepest common folder of all patterns.

    A pattern is a file or a folder, relative to `root` or absolute. Hidden files are left out unless `hidden` is set.
    Raises WorkflowError for globs.
    """
    if any(re.search(r"[*?\[!]", pattern) for pattern in patterns):
        raise WorkflowError(f"path {patterns!r}: this runner knows files and folders alone")
    places = [root / pattern for pattern in patterns]
    found = ((file, file.relative_to(place.parent)) for place in places for file in _below(place))
    files = {file for file, path in found if hidden or not _is_hidden(path)}
    if not files:
        return {}
    within = _shared([place if place.is_dir() else place.parent for place in places])
    return {file.relative_to(within).as_posix(): file.read_bytes() for file in files}


def _below(place: Path) -> list[Path]:
    return [file for file in place.rglob("*") if file.is_file()] if place.is_dir() else [place] * place.is_file()


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _shared(folders: Sequence[Path]) -> Path:
    first, *others = folders
    return next(parent for parent in (first, *first.parents) if all(other.is_relative_to(parent) for other in others))
