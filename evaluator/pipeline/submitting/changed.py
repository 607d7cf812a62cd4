"""Which submissions differ from an earlier commit: what a pull request's own run is about.

Git is asked, and its answer read as data: names are bytes of a stranger's that end at NUL, and none is ever followed.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import MissingError, UsageError
from evaluator.pipeline.project import Project
from evaluator.printable import printable
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
    commit = _git(project.root, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{since}^{{commit}}")
    if commit is None:
        raise UsageError(
            f"--since {printable(since)!r}: expected a commit of this checkout, such as HEAD^1 or origin/main; "
            "a shallow clone lacks the earlier ones: git fetch --unshallow"
        )
    where = ("-z", "--", _FOLDER)
    listed = _git(project.root, "diff", "--name-only", "--no-renames", commit.decode().strip(), *where) or b""
    listed += _git(project.root, "ls-files", "--others", "--exclude-standard", *where) or b""
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


def _git(folder: Path, *words: str) -> bytes | None:
    """What git says; None where it refuses. Raises MissingError where there is no git."""
    run = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(run, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise MissingError("git is not installed here; type: sudo apt-get install -y git") from error
    return done.stdout if done.returncode == 0 else None
