"""Commit an archive of judged verdicts: evidence to the branch `evidence`, verdicts, owners and audits to main.

The evidence is committed first. Both commits are idempotent. If a workflow run stops between them, there is unused
evidence but no verdict, and the next run publishes the submissions. In the other order, there would be verdicts without
evidence, and no later run would notice.

The main branch is never force-pushed, and it may change while a run is judging. A submission is left out if its
predictions or its verdict file changed after the judging, or if the submission was withdrawn. The run for the newer
commit judges this submission. If the main branch changes during the commit, the remaining submissions are tried again
from its new head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator.errors import GitHubError, MovedError, UsageError
from evaluator.github.commits import blob_names, branch_head, commit_files, replace_branch
from evaluator.github.connection import Connection
from evaluator.github.repository_files import read_file
from evaluator.pipeline.evidence.branch import BRANCH
from evaluator.pipeline.evidence.bundle import SUFFIX
from evaluator.pipeline.grading.audit_log import AUDITS, AUDITS_BYTES, audits_bytes, parse_audits
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
from evaluator.records import Audit, Owners
from evaluator.submissions.names import MANIFEST_NAME, VERDICTS

MAIN: Final = "main"

ATTEMPTS: Final = 5
"""How often the commit is tried if main moves meanwhile."""

_LISTED: Final = 10
_REFUSED: Final = re.compile(r"GitHub answered 4\d\d")
_LOCKED: Final = (
    "if branch rules protect it, give the environment 'publish' a token on their bypass list as "
    "BASHBOARD_PUBLISH_TOKEN (site/maintain.md); the next run publishes these verdicts"
)

BlobNames = Mapping[str, str | None]
"""Git's blob names by path, or None if there is no file."""

NewOwners = Mapping[str, int | None]
"""Account numbers of newly registered names, or None if a name belongs to the project."""


@dataclass(frozen=True, slots=True)
class MainCheck:
    """The result of comparing an archive with the commit `head` of the main branch.

    `archive` holds only the files that may be committed. `left_out` maps each submission that must not be committed to
    the reason. `changing` lists the submissions with files that the commit changes on the main branch.
    """

    head: str
    archive: PublishArchive
    left_out: Mapping[str, str]
    changing: tuple[str, ...]


def main_head(connection: Connection) -> str:
    """Return the current commit of the main branch. Raises UsageError if the branch does not exist."""
    head = branch_head(connection, MAIN)
    if head is None:
        raise UsageError(f"{connection.name}: there is no branch {MAIN!r}")
    return head


def check_against_main(connection: Connection, head: str, archive: PublishArchive) -> MainCheck:
    """Find the part of an archive that may be committed to the main branch, whose current commit is `head`.

    Files that changed after the judging are not in this part. Raises PermissionMissingError or GitHubError if a request
    to GitHub fails.
    """
    header = archive.header
    judged = {path for blobs in header.judged.values() for path in blobs}
    removed = {file for path in (*header.gone, *header.gone_evidence) for file in _prediction_files(path)}
    on_head = blob_names(connection, head, sorted(judged | removed | archive.on_main().keys()))
    at_judging = dict.fromkeys(removed)
    if removed and header.commit:
        at_judging = blob_names(connection, header.commit, sorted(removed))
    left_out = {slug: why for slug in header.judged if (why := _change_since_judged(archive, slug, on_head))}
    valid = _keep_safe_removals(archive.without(set(left_out)), on_head, at_judging)
    changed = (path for path, content in valid.on_main().items() if on_head[path] != _blob(content))
    changing = {path.split("/")[1] for path in changed}
    return MainCheck(head, valid, left_out, tuple(sorted(changing)))


def _blob(content: bytes | None) -> str | None:
    return None if content is None else blob_name(content)


def _prediction_files(path: str) -> tuple[str, ...]:
    """Return the paths of the manifest and the predictions of a submission.

    `path` is the path of the submission's verdict file or evidence bundle. For any other file, the result is empty.
    """
    if not path.startswith("submissions/"):
        return ()
    folder, name = path.rsplit("/", 1)
    suite = name.removesuffix(VERDICTS).removesuffix(SUFFIX)
    return f"{folder}/{MANIFEST_NAME}", f"{folder}/{suite}.jsonl"


def _change_since_judged(archive: PublishArchive, slug: str, on_head: BlobNames) -> str:
    """Describe how a submission's files changed after the judging. Return an empty text if they did not change."""
    judged, new_files = archive.header.judged[slug], archive.on_main()
    predictions = {path: blob for path, blob in judged.items() if not path.endswith(VERDICTS)}
    if any(predictions.values()) and not any(on_head[path] for path in predictions):
        return "was withdrawn since it was judged"
    if any(on_head[path] != blob for path, blob in predictions.items()):
        return "was changed since it was judged; the run of that change judges it again"
    for path in judged.keys() - predictions.keys():
        # an earlier attempt may have committed the new file already
        is_committed = path in new_files and on_head[path] == _blob(new_files[path])
        if on_head[path] != judged[path] and not is_committed:
            return "has another verdict file than when it was judged; the next run looks at it again"
    return ""


def _keep_safe_removals(archive: PublishArchive, on_head: BlobNames, at_judging: BlobNames) -> PublishArchive:
    """Return the archive. Cancel the removal of files if their submission changed after the judging."""

    def is_unchanged(path: str) -> bool:
        return all(on_head[file] == at_judging[file] for file in _prediction_files(path))

    header = archive.header
    gone, gone_evidence = (tuple(filter(is_unchanged, paths)) for paths in (header.gone, header.gone_evidence))
    return replace(archive, header=header.model_copy(update={"gone": gone, "gone_evidence": gone_evidence}))


def left_out_markdown(left_out: Mapping[str, str]) -> str:
    """Return the unpublished submissions, with the reasons, as a Markdown list without untrusted text."""
    return "\n".join(f"- `{slug}` {why}" for slug, why in left_out.items())


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The result of committing an archive of judged verdicts. After a dry run, it describes the planned changes.

    `commit` is the new head of the main branch, or the present head after a dry run. `published` lists the submissions
    whose verdict files changed. `left_out` gives the reason for each submission that was left out. `owners` maps each
    newly registered name to its owner. `evidence` is the commit of the branch `evidence`. It is None after a dry run,
    or if there is no such branch.
    """

    commit: str
    published: tuple[str, ...]
    left_out: Mapping[str, str]
    owners: NewOwners
    evidence: str | None
    dry_run: bool = False


def commit_archive(
    project: Project, connection: Connection, archive: PublishArchive, *, dry_run: bool = False
) -> CommitResult:
    """Publish an archive, except submissions that changed after they were judged. A repeated call changes nothing.

    Raises UsageError for a rescore, because a rescore must be proposed in a pull request. Raises FormatError for an
    invalid owners file. Raises PermissionMissingError or GitHubError, for example if the main branch is protected or
    changes during every attempt.
    """
    if archive.header.rescore:
        raise UsageError("this archive is a rescore, which a maintainer must merge; run: bashboard publish propose")
    registered, known = register(project, connection).owners, read_owners(project).owners
    owners = {slug: owner for slug, owner in registered.items() if slug not in known}
    check = check_against_main(connection, main_head(connection), archive)
    if dry_run:
        return CommitResult(check.head, check.changing, check.left_out, owners, None, dry_run=True)
    evidence = commit_evidence(connection, check.archive)
    for _ in range(ATTEMPTS):
        try:
            commit = _commit(connection, check, owners)
            return CommitResult(commit, check.changing, check.left_out, owners, evidence)
        except MovedError:
            check = check_against_main(connection, main_head(connection), archive)
    raise GitHubError(f"{connection.name}: {MAIN!r} moved {ATTEMPTS} times meanwhile; run this again")


def commit_evidence(connection: Connection, archive: PublishArchive) -> str | None:
    """Commit the archive's evidence to the branch `evidence`, and return the branch's commit.

    Return None if there is neither a branch nor new evidence.
    """
    files = archive.on_branch()
    head = branch_head(connection, BRANCH)
    if not files or (head is None and not archive.evidence):
        return head
    return replace_branch(connection, BRANCH, files, "Evidence of what is published\n")


def _commit(connection: Connection, check: MainCheck, owners: NewOwners) -> str:
    audits = _audits_file(connection, check.head, check.archive.header.audits)
    files = {**check.archive.on_main(), **_owners_file(connection, check.head, owners), **audits}
    try:
        return commit_files(connection, MAIN, check.head, files, _message(check.changing, audited=bool(audits)))
    except MovedError:
        raise
    except GitHubError as error:
        if not _REFUSED.search(str(error)):
            raise
        raise GitHubError(f"{error}; {MAIN!r} may not be pushed to by this token: {_LOCKED}") from error


def _owners_file(connection: Connection, head: str, owners: NewOwners) -> dict[str, bytes]:
    """Return a mapping from the path of the main branch's owners file to its new content.

    The content is the existing entries and the new names in `owners`. If no name is new, the mapping is empty.
    """
    path = owners_path(Project(Path())).as_posix()
    content = read_file(connection, head, path, OWNERS_BYTES) if owners else None
    known = parse_owners(content, Path(path)).owners if content is not None else {}
    if all(slug in known for slug in owners):
        return {}
    return {path: owners_bytes(Owners(format=1, owners={**owners, **known}))}


def _audits_file(connection: Connection, head: str, audits: Sequence[Audit]) -> dict[str, bytes]:
    """Return a mapping from the path of the main branch's record of audits to its new content.

    If the record has all of these audits, the mapping is empty.
    """
    path = AUDITS.as_posix()
    content = (read_file(connection, head, path, AUDITS_BYTES) or b"") if audits else b""
    data = audits_bytes(parse_audits(content, AUDITS), audits)
    return {path: data} if data != content else {}


def _message(slugs: tuple[str, ...], *, audited: bool) -> str:
    if not slugs:
        return "Record an audit of published verdicts\n" if audited else "Register owners of submissions\n"
    if len(slugs) <= _LISTED:
        return f"Publish the verdicts of {', '.join(slugs)}\n"
    listed = "\n".join(slugs)
    return f"Publish the verdicts of {len(slugs)} submissions\n\n{listed}\n"


def committed_markdown(result: CommitResult) -> str:
    """Return the result of a commit as Markdown for the summary page of the workflow's job."""
    published = ", ".join(f"`{slug}`" for slug in result.published) or "nothing new"
    lines = [
        f"### {'Would be published' if result.dry_run else 'Published'}: {published}",
        "",
        f"Main is at {result.commit}.",
    ]
    if result.left_out:
        lines += ["", "Left out:", "", left_out_markdown(result.left_out)]
    return "\n".join(lines)
