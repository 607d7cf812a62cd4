"""Find the day on which each submission entered the repository. The Git history states it, so no contributor must."""

from __future__ import annotations

from datetime import UTC, date, datetime

from evaluator.pipeline.git import run_git
from evaluator.pipeline.project import Project
from evaluator.submissions.names import MANIFEST_NAME

_COMMIT = b"commit "


def added_dates(project: Project) -> dict[str, date]:
    """Return the day of each submission, in UTC: that of the first commit on the current branch that has its manifest.

    A pull request counts on the day of its merge. Return no dates if the project is not a Git checkout, or if its
    history is shallow, because the oldest commit there seems to add everything.
    """
    if (run_git(project.root, "rev-parse", "--is-shallow-repository") or b"").strip() != b"false":
        return {}
    output = run_git(
        project.root,
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
    dates: dict[str, date] = {}
    day: date | None = None
    for field in (output or b"").replace(b"\n", b"\0").split(b"\0"):
        if field.startswith(_COMMIT):
            day = datetime.fromtimestamp(int(field.removeprefix(_COMMIT)), UTC).date()
        elif field and day is not None:
            dates[field.decode("utf-8", "surrogateescape").split("/")[1]] = day  # the oldest commit comes last
    return dates
