"""Find the commit with which each submission was last changed on the main branch.

The commit decides the seed of the fresh variants in which a submission's commands run. A contributor does not know it
before the pull request is merged. A submission with changes that are not committed has no origin and no fresh variant,
so that an edited command is the only one that is executed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import MissingError
from evaluator.pipeline.git import first_parent_log, run_git
from evaluator.pipeline.project import Project
from evaluator.submissions.names import VERDICTS, is_slug
from evaluator.submissions.validate import Submission

_FOLDER: Final = "submissions"


def with_origins(project: Project, submissions: Iterable[Submission]) -> list[Submission]:
    """Return the submissions with their origins."""
    loaded = list(submissions)
    changes = last_changes(project) if loaded else {}
    return [
        replace(each, origin=changes[each.slug].commit) if each.slug in changes else replace(each, origin="")
        for each in loaded
    ]


class MergedChange(NamedTuple):
    """A commit of the first-parent history that changed submissions, its time, and their slugs."""

    commit: str
    time: datetime
    slugs: frozenset[str]


def merged_changes(project: Project) -> list[MergedChange]:
    """Return the commits of the first-parent history that changed submissions, the latest first.

    The first commits of a shallow clone are left out, because they seem to add every file. There is no commit outside a
    Git repository.
    """
    try:
        log = first_parent_log(project.root, "--name-only", paths=[_FOLDER])
    except MissingError:
        return []
    first = first_commits(project) if log else frozenset()
    changes = (MergedChange(each.commit, each.time, frozenset(filter(None, map(_slug, each.entries)))) for each in log)
    return [change for change in changes if change.commit not in first]


def last_changes(project: Project) -> Mapping[str, MergedChange]:
    """Return the commit of each submission's last change on the first-parent history, by slug.

    A submission with changes that are not committed is left out. So are submissions whose last change is before the
    first commit of a shallow clone, and all submissions outside a Git repository.
    """
    found: dict[str, MergedChange] = {}
    for change in merged_changes(project):
        for slug in change.slugs:
            found.setdefault(slug, change)
    if not found:
        return {}
    dirty = run_git(project.root, "status", "-z", "--porcelain", "--untracked-files=all", "--", _FOLDER) or b""
    changed = {_slug(entry[3:]) for entry in dirty.split(b"\0")}
    return {slug: change for slug, change in found.items() if slug not in changed}


def held_submissions(project: Project, now: datetime | None = None) -> frozenset[str]:
    """Return the submissions that the final phase holds: those that were last changed since it started.

    There is none before the phase starts and after it ends. `now` is by default the current time.
    """
    phase, now = project.settings.final, now or datetime.now(UTC)
    if phase is None or not phase.is_running(now):
        return frozenset()
    return frozenset(slug for slug, change in last_changes(project).items() if phase.holds(change.time, now))


def require_history(project: Project) -> None:
    """Raise MissingError in a shallow clone, where the commit of a submission's last change may be unknown.

    Another branch may be shallow, such as the branch `evidence`.
    """
    roots = run_git(project.root, "rev-list", "--max-parents=0", "HEAD") or b""
    if first_commits(project) & set(roots.decode("ascii").split()):
        raise MissingError(
            "this clone is shallow, so the commits that decide the fresh variants are unknown; "
            "type: git fetch --unshallow (in a workflow: fetch-depth: 0)"
        )


def _slug(path: bytes) -> str | None:
    """Return the slug of the submission that a path below the repository's root belongs to.

    Files that the publish workflow writes belong to no submission.
    """
    *_, folder, name = path.rsplit(b"/", 2) if path.count(b"/") > 1 else (b"", b"")
    slug = os.fsdecode(folder)
    return slug if is_slug(slug) and not name.endswith(VERDICTS.encode()) else None


def first_commits(project: Project) -> frozenset[str]:
    """Return the first commits of a shallow clone, which seem to add every file. A complete clone has none."""
    path = run_git(project.root, "rev-parse", "--path-format=absolute", "--git-path", "shallow")
    shallow = Path(os.fsdecode(path.rstrip(b"\n"))) if path else None
    return frozenset(shallow.read_text("ascii").split()) if shallow and shallow.is_file() else frozenset()
