"""Which submissions differ from an earlier commit: what a pull request's own run is about.

Git is asked, and its answer read as data: names are bytes of a stranger's that end at NUL, and none is ever followed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.pipeline.git import ask_git, commit_named
from evaluator.pipeline.project import Project
from evaluator.submissions.names import OWNERS, VERDICTS, is_slug

_FOLDER: Final = "submissions"


@dataclass(frozen=True, slots=True)
class Changed:
    """Folders below `submissions/` that differ: those that are `there`, and the slugs of those `withdrawn`.

    Whatever stands there counts as a folder, whatever its name, so that the check can say what is wrong with it.
    """

    there: tuple[Path, ...]
    withdrawn: tuple[str, ...]


def changed_submissions(project: Project, since: str) -> Changed:
    """The submissions whose files differ from the commit `since`, those that Git does not know yet among them.

    What the publish workflow writes is passed over. Raises UsageError where `since` is no commit here.
    """
    commit = commit_named(project.root, since)
    where = ("-z", "--", _FOLDER)
    listed = ask_git(project.root, "diff", "--name-only", "--no-renames", commit, *where) or b""
    listed += ask_git(project.root, "ls-files", "--others", "--exclude-standard", *where) or b""
    names = sorted({name for path in listed.split(b"\0") if (name := _submission(path))})
    folders = [project.root / _FOLDER / os.fsdecode(name) for name in names]
    there = tuple(folder for folder in folders if os.path.lexists(folder))
    return Changed(there, tuple(each.name for each in folders if each not in there and is_slug(each.name)))


def _submission(path: bytes) -> bytes | None:
    """The folder that a path is in; None for what is not a submission's."""
    _, _, below = path.partition(b"/")
    folder, _, name = below.partition(b"/")
    derived = below == OWNERS.encode() or name.endswith(VERDICTS.encode())
    return None if derived else folder or None
