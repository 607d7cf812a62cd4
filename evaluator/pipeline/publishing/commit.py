"""What was judged comes to the repository: verdict files and owners to main, evidence to its branch.

Evidence first, verdicts then. Both are idempotent, and a run that is killed in between has left evidence under the
digests of what it depends on, which harms nobody, and no verdict: so the next run still finds the submissions new and
publishes them. The other way round nothing would ever ask for the evidence that is missing.

Nothing is forced on main. Where it moved since the work began, what no longer stands is left out and the rest is tried
again from the new head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import GitHubError, MovedError, UsageError
from evaluator.github.commits import branch_head, commit_files, replace_branch
from evaluator.github.connection import Connection
from evaluator.github.repository_files import read_file
from evaluator.pipeline.evidence.branch import BRANCH
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import Landing
from evaluator.pipeline.publishing.current import MAIN, Current, current_at, left_out_markdown, main_head
from evaluator.pipeline.submissions.ownership import (
    OWNERS_BYTES,
    owners_bytes,
    owners_path,
    parse_owners,
    read_owners,
    register,
)
from evaluator.records import Owners

ATTEMPTS: Final = 5
"""How often a main that moves meanwhile is begun with anew."""

_LISTED: Final = 10
_REFUSED: Final = re.compile(r"GitHub answered 4\d\d")
_LOCKED: Final = (
    "where rules protect it, give the environment 'publish' a token that is on their bypass list as "
    "BASHBOARD_PUBLISH_TOKEN (site/maintain.md); what was judged is published by the next run"
)

NewOwners = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Committed:
    """What was done: `commit` is main's head afterwards, `published` the submissions whose verdict files it changed.

    `left_out` says why by submission, `owners` which names were registered; `evidence` is the commit of its branch,
    None where nothing was to be kept. Of a dry run it is what would be done.
    """

    commit: str
    published: tuple[str, ...]
    left_out: Mapping[str, str]
    owners: NewOwners
    evidence: str | None
    dry_run: bool = False


def commit_landing(project: Project, connection: Connection, landing: Landing, *, dry_run: bool = False) -> Committed:
    """Publish what was judged and still stands. The same again changes nothing.

    Raises UsageError for what a rescore judged, which is proposed and not committed; FormatError for owners that do not
    read; PermissionMissingError; GitHubError, also where main is protected, or moved each time.
    """
    if landing.header.rescore:
        raise UsageError("this is a rescore's, which a maintainer merges: bashboard publish propose")
    registered, known = register(project, connection).owners, read_owners(project).owners
    owners = {slug: owner for slug, owner in registered.items() if slug not in known}
    current = current_at(connection, main_head(connection), landing)
    if dry_run:
        return Committed(current.head, current.changing, current.left_out, owners, None, dry_run=True)
    evidence = keep_evidence(connection, current.landing)
    for _ in range(ATTEMPTS):
        try:
            commit = _commit(connection, current, owners)
            return Committed(commit, current.changing, current.left_out, owners, evidence)
        except MovedError:
            current = current_at(connection, main_head(connection), landing)
    raise GitHubError(f"{connection.name}: {MAIN!r} moved {ATTEMPTS} times meanwhile; run this again")


def keep_evidence(connection: Connection, landing: Landing) -> str | None:
    """Put the landing's evidence on its branch and take away what is gone; the branch's commit, None for nothing."""
    files = landing.on_branch()
    present = branch_head(connection, BRANCH)
    if not files or (present is None and not landing.evidence):
        return present
    return replace_branch(connection, BRANCH, files, "Evidence of what is published\n")


def _commit(connection: Connection, current: Current, owners: NewOwners) -> str:
    files = {**current.landing.on_main(), **_owners_file(connection, current.head, owners)}
    try:
        return commit_files(connection, MAIN, current.head, files, _message(current.changing))
    except MovedError:
        raise
    except GitHubError as error:
        if not _REFUSED.search(str(error)):
            raise
        raise GitHubError(f"{error}; {MAIN!r} may not be pushed to by this token: {_LOCKED}") from error


def _owners_file(connection: Connection, head: str, owners: NewOwners) -> dict[str, bytes]:
    """The owners as they stand on main, and the new names; what a maintainer wrote there meanwhile stays."""
    path = owners_path(Project(Path())).as_posix()
    present = read_file(connection, head, path, OWNERS_BYTES) if owners else None
    known = parse_owners(present, Path(path)).owners if present is not None else {}
    if all(slug in known for slug in owners):
        return {}
    return {path: owners_bytes(Owners(format=1, owners={**owners, **known}))}


def _message(slugs: tuple[str, ...]) -> str:
    if not slugs:
        return "Register owners of submissions\n"
    if len(slugs) <= _LISTED:
        return f"Publish the verdicts of {', '.join(slugs)}\n"
    listed = "\n".join(slugs)
    return f"Publish the verdicts of {len(slugs)} submissions\n\n{listed}\n"


def committed_markdown(committed: Committed) -> str:
    """What was published, for the job's summary."""
    published = ", ".join(f"`{slug}`" for slug in committed.published) or "nothing new"
    lines = [
        f"### {'Would be published' if committed.dry_run else 'Published'}: {published}",
        "",
        f"Main is at {committed.commit}.",
    ]
    if committed.left_out:
        lines += ["", "Left out:", "", left_out_markdown(committed.left_out)]
    return "\n".join(lines)
