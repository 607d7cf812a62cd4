"""Commit the judged archive: evidence to its branch, then verdict files and owners to main.

The evidence is committed first. Both commits are idempotent. If a run is stopped between them, it leaves unused
evidence and no verdict, so the next run finds the submissions new and publishes them. In the other order, no later run
would notice that evidence is missing.

Main is never force-pushed, and it may move while a run is judging. A submission is left out if its predictions or its
verdict file changed, or if it was withdrawn. The run of the newer commit judges it. If main moves during the commit,
the rest is tried again from the new head.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator.errors import GitHubError, MovedError, UsageError
from evaluator.github.commits import blob_names, branch_head, commit_files, replace_branch
from evaluator.github.connection import Connection
from evaluator.github.repository_files import read_file
from evaluator.pipeline.evidence.branch import BRANCH
from evaluator.pipeline.evidence.bundle import SUFFIX
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import PublishArchive, blob_name
from evaluator.pipeline.submissions.ownership import (
    OWNERS_BYTES,
    owners_bytes,
    owners_path,
    parse_owners,
    read_owners,
    register,
)
from evaluator.records import Owners
from evaluator.submissions.names import MANIFEST_NAME, VERDICTS

MAIN: Final = "main"

Names = Mapping[str, str | None]
"""Git's blob names by path, or None if there is no file."""


@dataclass(frozen=True, slots=True)
class MainCheck:
    """The archive compared with a commit of main. `archive` holds the valid part, `left_out` the reasons for the rest.

    `changing` lists the submissions with files that change on main.
    """

    head: str
    archive: PublishArchive
    left_out: Mapping[str, str]
    changing: tuple[str, ...]


def main_head(connection: Connection) -> str:
    """Return the current commit of main. Raises UsageError if the branch does not exist."""
    head = branch_head(connection, MAIN)
    if head is None:
        raise UsageError(f"{connection.name}: there is no branch {MAIN!r}")
    return head


def check_against_main(connection: Connection, head: str, archive: PublishArchive) -> MainCheck:
    """Compare the judged files with those at a commit of main. Raises PermissionMissingError, GitHubError."""
    names = blob_names(connection, head, sorted(_paths(archive)))
    left_out = {slug: why for slug in archive.header.judged if (why := _moved(archive, slug, names))}
    kept = _without_returned(archive.without(set(left_out)), names, _judged_at(connection, archive))
    changed = {path for path, content in kept.on_main().items() if names[path] != _name(content)}
    changing = {path.split("/")[1] for path in changed}
    return MainCheck(head, kept, left_out, tuple(sorted(changing)))


def _judged_at(connection: Connection, archive: PublishArchive) -> Names:
    """Return the blob names of the prediction files of removed paths, at the judged commit."""
    wanted = {path for each in (*archive.header.gone, *archive.header.gone_evidence) for path in _given(each)}
    commit = archive.header.commit
    return blob_names(connection, commit, sorted(wanted)) if wanted and commit else dict.fromkeys(wanted)


def _paths(archive: PublishArchive) -> set[str]:
    judged = {path for blobs in archive.header.judged.values() for path in blobs}
    gone = (*archive.header.gone, *archive.header.gone_evidence)
    return judged | set(archive.on_main()) | {path for each in gone for path in _given(each)}


def _name(content: bytes | None) -> str | None:
    return None if content is None else blob_name(content)


def _given(path: str) -> tuple[str, ...]:
    """Return the prediction files that a verdict file or bundle belongs to, or none if it has no submission."""
    if not path.startswith("submissions/"):
        return ()
    folder, name = path.rsplit("/", 1)
    suite = name.removesuffix(VERDICTS).removesuffix(SUFFIX)
    return f"{folder}/{MANIFEST_NAME}", f"{folder}/{suite}.jsonl"


def _moved(archive: PublishArchive, slug: str, names: Names) -> str:
    """Return the reason why a submission's files changed since it was judged, or an empty text if they did not."""
    blobs, ours = archive.header.judged[slug], archive.on_main()
    given = {path: blob for path, blob in blobs.items() if not path.endswith(VERDICTS)}
    if any(given.values()) and not any(names[path] for path in given):
        return "was withdrawn since it was judged"
    if any(names[path] != blob for path, blob in given.items()):
        return "was changed since it was judged; the run of that change judges it anew"
    for path in blobs.keys() - given.keys():
        # ours stands there already where this was done before
        if names[path] != blobs[path] and (path not in ours or names[path] != _name(ours[path])):
            return "has another verdict file than when it was judged; the next run looks at it again"
    return ""


def _without_returned(archive: PublishArchive, names: Names, judged_at: Names) -> PublishArchive:
    """Return the archive without removals of submissions that changed since then, because they may be back."""
    header = archive.header

    def kept(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(each for each in paths if all(names[path] == judged_at[path] for path in _given(each)))

    changes = {"gone": kept(header.gone), "gone_evidence": kept(header.gone_evidence)}
    return replace(archive, header=header.model_copy(update=changes))


def left_out_markdown(left_out: Mapping[str, str]) -> str:
    """Return a list of the submissions that are left out, with the reasons. It holds no untrusted text."""
    return "\n".join(f"- `{slug}` {why}" for slug, why in left_out.items())


ATTEMPTS: Final = 5
"""How often the commit is tried if main moves meanwhile."""

_LISTED: Final = 10
_REFUSED: Final = re.compile(r"GitHub answered 4\d\d")
_LOCKED: Final = (
    "where rules protect it, give the environment 'publish' a token that is on their bypass list as "
    "BASHBOARD_PUBLISH_TOKEN (site/maintain.md); what was judged is published by the next run"
)

NewOwners = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Committed:
    """The result: `commit` is main's new head, and `published` lists the submissions with changed verdict files.

    `left_out` gives the reasons by submission, and `owners` lists the newly registered names. `evidence` is the commit
    of the evidence branch, or None if there is none. After a dry run, these are the planned changes.
    """

    commit: str
    published: tuple[str, ...]
    left_out: Mapping[str, str]
    owners: NewOwners
    evidence: str | None
    dry_run: bool = False


def commit_archive(
    project: Project, connection: Connection, archive: PublishArchive, *, dry_run: bool = False
) -> Committed:
    """Publish the archive, except submissions that changed since they were judged. Repeating it changes nothing.

    Raises UsageError for the archive of a rescore, which must be proposed, FormatError for an invalid owners file,
    PermissionMissingError, and GitHubError, also if main is protected or moved in every attempt.
    """
    if archive.header.rescore:
        raise UsageError("this is a rescore's, which a maintainer merges: bashboard publish propose")
    registered, known = register(project, connection).owners, read_owners(project).owners
    owners = {slug: owner for slug, owner in registered.items() if slug not in known}
    current = check_against_main(connection, main_head(connection), archive)
    if dry_run:
        return Committed(current.head, current.changing, current.left_out, owners, None, dry_run=True)
    evidence = keep_evidence(connection, current.archive)
    for _ in range(ATTEMPTS):
        try:
            commit = _commit(connection, current, owners)
            return Committed(commit, current.changing, current.left_out, owners, evidence)
        except MovedError:
            current = check_against_main(connection, main_head(connection), archive)
    raise GitHubError(f"{connection.name}: {MAIN!r} moved {ATTEMPTS} times meanwhile; run this again")


def keep_evidence(connection: Connection, archive: PublishArchive) -> str | None:
    """Update the evidence branch and return its commit, or None if there is no branch and nothing to store."""
    files = archive.on_branch()
    present = branch_head(connection, BRANCH)
    if not files or (present is None and not archive.evidence):
        return present
    return replace_branch(connection, BRANCH, files, "Evidence of what is published\n")


def _commit(connection: Connection, current: MainCheck, owners: NewOwners) -> str:
    files = {**current.archive.on_main(), **_owners_file(connection, current.head, owners)}
    try:
        return commit_files(connection, MAIN, current.head, files, _message(current.changing))
    except MovedError:
        raise
    except GitHubError as error:
        if not _REFUSED.search(str(error)):
            raise
        raise GitHubError(f"{error}; {MAIN!r} may not be pushed to by this token: {_LOCKED}") from error


def _owners_file(connection: Connection, head: str, owners: NewOwners) -> dict[str, bytes]:
    """Return main's owners file with the new names added. Existing entries, such as a maintainer's, are kept."""
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
    """Return a summary of the commit for the job's summary."""
    published = ", ".join(f"`{slug}`" for slug in committed.published) or "nothing new"
    lines = [
        f"### {'Would be published' if committed.dry_run else 'Published'}: {published}",
        "",
        f"Main is at {committed.commit}.",
    ]
    if committed.left_out:
        lines += ["", "Left out:", "", left_out_markdown(committed.left_out)]
    return "\n".join(lines)
