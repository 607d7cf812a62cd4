"""Find the day on which each submission entered the repository. The Git history states it, so no contributor must."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from evaluator.errors import MissingError
from evaluator.pipeline.git import run_git
from evaluator.pipeline.project import Project
from evaluator.submissions.names import MANIFEST_NAME

_COMMIT = b"commit "


def added_dates(project: Project) -> dict[str, date]:
    """Return the day of each submission, in UTC: that of the first commit on the current branch that has its manifest.

    A pull request counts on the day of its merge. A folder that was removed and added again keeps its first day. Return
    no dates without Git, outside a Git checkout, and if the history is shallow, because the oldest commit there seems
    to add everything.
    """
    try:
        if (run_git(project.root, "rev-parse", "--is-shallow-repository") or b"").strip() != b"false":
            return {}
        output = _log(project)
    except MissingError:
        return {}
    dates: dict[str, date] = {}
    day: date | None = None
    for entry in (output or b"").split(b"\0"):
        line = entry.lstrip(b"\n")  # Git ends the line of a commit with both characters
        if line.startswith(_COMMIT):
            day = datetime.fromtimestamp(int(line.removeprefix(_COMMIT)), UTC).date()
        elif line and day is not None:
            dates[os.fsdecode(line).split("/")[1]] = day  # the oldest commit comes last
    return dates


def _log(project: Project) -> bytes | None:
    """Return the commits of the current branch that add manifests, each with the paths, separated by NUL."""
    return run_git(
        project.root,
        "-c",
        "log.showSignature=false",
        "log",
        "--first-parent",
        "--diff-merges=first-parent",
        "--diff-filter=A",
        "--no-renames",
        "--name-only",
        "--relative",
        "--format=commit %ct",
        "-z",
        "--",
        f":(glob)submissions/*/{MANIFEST_NAME}",
    )
