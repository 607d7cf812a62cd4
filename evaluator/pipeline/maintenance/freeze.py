"""Freeze the board of a suite, before the next major version of the suite replaces it."""

from __future__ import annotations

import json
from pathlib import Path

from evaluator.errors import MissingError, UsageError
from evaluator.files import write_whole
from evaluator.leaderboard.frozen import archive_path, freeze_documents, pack
from evaluator.pipeline.project import Project


def freeze_board(project: Project, suite: str, board: Path | None = None, *, replace: bool = False) -> tuple[Path, str]:
    """Write the archive of a suite's board, and return its path and the suite's version.

    `board` is a folder of boards that `bashboard build` wrote, by default the project's own. Raises MissingError if it
    has no board of the suite, and UsageError if there is an archive of this major version and `replace` is not set.
    """
    folder = board or project.root / "site" / "board"
    standings = folder / suite / "standings.json"
    if not standings.is_file():
        raise MissingError(f"{standings} does not exist: build the board first with: bashboard build")
    versions = {row["suite_version"] for row in json.loads(standings.read_text("utf-8"))}
    if len(versions) != 1:
        raise UsageError(f"{standings}: expected rows of one version of the suite, found {len(versions)}")
    (version,) = versions
    major = int(version.partition(".")[0])
    path = archive_path(project.root / "site", suite, major)
    if path.exists() and not replace:
        raise UsageError(f"{path} exists: a frozen board stays as it is; to replace it, add --replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, pack(freeze_documents(folder, suite, major, version)))
    return path, version
