"""What was judged comes to the repository: verdict files and owners to main, evidence to its branch.

Evidence first, verdicts then. Both are idempotent, and a run that is killed in between has left evidence under the
digests of what it depends on, which harms nobody, and no verdict: so the next run still finds the submissions new and
publishes them. The other way round nothing would ever ask for the evidence that is missing.

Nothing is forced on main. Where it moved since the work began, what no longer stands is left out and the rest is tried
again from the new head.

What of a landing still stands: while it was judged, main went on.

Verdicts are of predictions as they were. Where a submission has others by now, or is gone, or its verdict file became
another, nothing of it is published: the run that the newer commit has begun judges what stands there now.
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
"""Git's names of files, by path; None where no file is."""


@dataclass(frozen=True, slots=True)
class MainCheck:
    """What holds at a commit of main: `archive` without what does not, and why not, by submission.

    `changing` are the submissions of which a file on main becomes another by it.
    """

    head: str
    archive: PublishArchive
    left_out: Mapping[str, str]
    changing: tuple[str, ...]


def main_head(connection: Connection) -> str:
    """The commit that main is at. Raises UsageError where there is no such branch."""
    head = branch_head(connection, MAIN)
    if head is None:
        raise UsageError(f"{connection.name}: there is no branch {MAIN!r}")
    return head


def check_against_main(connection: Connection, head: str, archive: PublishArchive) -> MainCheck:
    """Compare what was judged with what stands at a commit of main. Raises PermissionMissingError, GitHubError."""
    names = blob_names(connection, head, sorted(_paths(archive)))
    left_out = {slug: why for slug in archive.header.judged if (why := _moved(archive, slug, names))}
    kept = _without_returned(archive.without(set(left_out)), names, _judged_at(connection, archive))
    changed = {path for path, content in kept.on_main().items() if names[path] != _name(content)}
    changing = {path.split("/")[1] for path in changed}
    return MainCheck(head, kept, left_out, tuple(sorted(changing)))


def _judged_at(connection: Connection, archive: PublishArchive) -> Names:
    """Names of the submissions' files of which something is to be removed, at the commit that was judged."""
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
    """The submission's own files that a verdict file or a bundle is of; none for what is of no submission."""
    if not path.startswith("submissions/"):
        return ()
    folder, name = path.rsplit("/", 1)
    suite = name.removesuffix(VERDICTS).removesuffix(SUFFIX)
    return f"{folder}/{MANIFEST_NAME}", f"{folder}/{suite}.jsonl"


def _moved(archive: PublishArchive, slug: str, names: Names) -> str:
    """Why what was judged of a submission is not what stands there; empty where it is."""
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
    """Nothing is removed of a submission that is another by now: it may have come back."""
    header = archive.header

    def kept(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(each for each in paths if all(names[path] == judged_at[path] for path in _given(each)))

    changes = {"gone": kept(header.gone), "gone_evidence": kept(header.gone_evidence)}
    return replace(archive, header=header.model_copy(update=changes))


def left_out_markdown(left_out: Mapping[str, str]) -> str:
    """Which submissions are left out, and why; slugs and words of ours."""
    return "\n".join(f"- `{slug}` {why}" for slug, why in left_out.items())


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


def commit_landing(
    project: Project, connection: Connection, archive: PublishArchive, *, dry_run: bool = False
) -> Committed:
    """Publish what was judged and still stands. The same again changes nothing.

    Raises UsageError for what a rescore judged, which is proposed and not committed; FormatError for owners that do not
    read; PermissionMissingError; GitHubError, also where main is protected, or moved each time.
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
    """Put the landing's evidence on its branch and take away what is gone; the branch's commit, None for nothing."""
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
