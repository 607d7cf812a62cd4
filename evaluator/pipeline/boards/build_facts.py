"""Collect the facts of a build of the site: its address, the repository, the commit, and the changes of the boards.

Nothing here reads today's clock. So two builds of one commit write the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from evaluator.errors import MissingError
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.pipeline.boards.change_history import change_history, history_cache
from evaluator.pipeline.git import run_git
from evaluator.pipeline.project import Project

SITE_ADDRESS: Final = "BASHBOARD_SITE_URL"
"""The environment variable with the site's address, which mkdocs.yml reads too."""

_ADDRESS: Final = re.compile(r"https?://[\w.:-]+(?:/[\w.~/-]*)?", re.ASCII)
_BUILT_FROM: Final = ("submissions", "fixtures", "site", "evaluator", "mkdocs.yml", "pyproject.toml")


def site_facts(project: Project, environ: Mapping[str, str], location: tuple[str, str] | None) -> SiteFacts:
    """Return the facts of a build of this checkout. `location` is the server and the name of the repository."""
    source = "/".join(location) if location else ""
    commit, time = head_commit(project)
    history = change_history(project, history_cache(project)) if commit else None
    return SiteFacts(
        address=site_address(environ),
        source=source,
        commit=commit,
        time=time,
        modified=commit is not None and _is_modified(project),
        changes=history.changes if history else (),
        complete=history is None or history.complete,
    )


def site_address(environ: Mapping[str, str]) -> str:
    """Return the site's address from the environment, with a slash at its end, or an empty text if it is unknown."""
    address = environ.get(SITE_ADDRESS, "").strip()
    return address.rstrip("/") + "/" if _ADDRESS.fullmatch(address) else ""


def head_commit(project: Project) -> tuple[str | None, datetime | None]:
    """Return the commit that is checked out and its time in UTC, or twice None without Git."""
    try:
        output = run_git(project.root, "-c", "log.showSignature=false", "log", "-1", "--format=%H %ct")
    except MissingError:
        return None, None
    if not output:
        return None, None
    commit, seconds = output.decode("ascii").split()
    return commit, datetime.fromtimestamp(int(seconds), UTC)


def _is_modified(project: Project) -> bool:
    """Return whether a tracked file from which the site is made differs from the commit."""
    return run_git(project.root, "diff", "--quiet", "HEAD", "--", *_BUILT_FROM) is None
