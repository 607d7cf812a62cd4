"""Find the day on which each submission entered the repository. The Git history states it, so no contributor must."""

from __future__ import annotations

import os
from datetime import date

from evaluator.errors import MissingError
from evaluator.pipeline.git import first_parent_log, run_git
from evaluator.pipeline.project import Project
from evaluator.submissions.names import MANIFEST_NAME


def added_dates(project: Project) -> dict[str, date]:
    """Return the day of each submission, in UTC: that of the first commit on the current branch that has its manifest.

    A pull request counts on the day of its merge. A folder that was removed and added again keeps its first day. Return
    no dates without Git, outside a Git checkout, and if the history is shallow, because the oldest commit there seems
    to add everything.
    """
    try:
        if (run_git(project.root, "rev-parse", "--is-shallow-repository") or b"").strip() != b"false":
            return {}
        path = f":(glob)submissions/*/{MANIFEST_NAME}"
        log = first_parent_log(
            project.root, "--diff-filter=A", "--no-renames", "--name-only", "--relative", paths=[path]
        )
    except MissingError:
        return {}
    dates: dict[str, date] = {}
    for commit in log:  # the oldest commit comes last
        dates |= {os.fsdecode(name).split("/")[1]: commit.time.date() for name in commit.entries}
    return dates
