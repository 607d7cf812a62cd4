"""The report on a pull request: labels for its state, and one comment.

This checkout's own code computes the report from files that are read as data. Nothing of the pull request is executed.
Only the preview's numbers come from the pull request's own run, and the comment says so.

The preview is an artifact of that run and can be forged. It is refused with a reason if it is malformed, inconsistent,
or about another board or submission. A forged preview that passes can only misstate the numbers of its own submission.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, Severity
from evaluator.escaping import printable
from evaluator.github.artifacts import ArtifactLimits, read_artifact
from evaluator.github.comment.body import PullRequestContext, render_comment
from evaluator.github.comment.pull_request_sections import nothing_text
from evaluator.github.comment.state import CLEARING, LABELS, ChangeKind, Reason
from evaluator.github.comments import WriteResult, update_if_present, upsert_comment
from evaluator.github.connection import SERVER, Connection, connect_from
from evaluator.github.forms import appeal_address
from evaluator.github.labels import set_labels
from evaluator.github.pulls import FoundPull, Match, PullRequest, changed_files, find_pull, read_pull
from evaluator.github.repository_files import read_submission
from evaluator.pipeline.project import Project
from evaluator.pipeline.pull_requests.author_limits import limit_reasons, suites_answered
from evaluator.pipeline.pull_requests.classify import PullRequestChange, read_offer, touched_slugs
from evaluator.pipeline.pull_requests.merge_rules import Decision, decide
from evaluator.pipeline.submissions.ownership import NOBODY, Owner, owner_of
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.records import Preview
from evaluator.submissions.names import is_slug, slug_faults

ARTIFACT: Final = "preview"
"""The name of the artifact in which the run stores its preview."""
_TOLD: Final = 3
_UNUSED: Final = "the run left a preview that is not used: "


def read_numbers(
    project: Project, connection: Connection, run: int, slug: str, answered: Mapping[str, str]
) -> tuple[Preview | None, str]:
    """Return the preview that a run stored, or None and the reason. `answered` are the submission's suites with their
    versions.

    Raises PermissionMissingError, GitHubError.
    """
    limits = ArtifactLimits(archive_bytes=PREVIEW_BYTES, file_bytes=PREVIEW_BYTES)
    file = read_artifact(connection, run, ARTIFACT, PREVIEW_NAME, limits)
    if file.content is None:
        return None, file.fault
    try:
        preview = read_preview(file.content, slug)
    except FormatError as error:
        return None, _UNUSED + "; ".join(each.message for each in error.problems[:_TOLD])
    fault = _foreign(project, preview, answered)
    return (None, _UNUSED + fault) if fault else (preview, "")


def _foreign(project: Project, preview: Preview, answered: Mapping[str, str]) -> str:
    """Return why a valid preview does not belong to this board and submission, or an empty text if it does."""
    suites = {suite.manifest.name: suite for suite in project.suites()}
    if preview.suite not in suites or preview.suite not in answered:
        return f"it is of suite {preview.suite!r}, which the submission does not answer"
    suite = suites[preview.suite]
    if preview.suite_version != suite.manifest.version:
        return f"it is of {preview.suite} {preview.suite_version}, and the board asks {suite.manifest.version}"
    counted = preview.asked + preview.not_asked
    if counted > len(suite.tasks):
        return f"it counts {counted} tasks of {len(suite.tasks)}"
    slugs = {folder.name for folder in project.submission_folders()}
    strange = [each.submission for each in preview.rivals if each.submission not in slugs]
    return f"it compares with {', '.join(strange)}, which the board does not have" if strange else ""


PREVIEW_NAME: Final = "preview.json"
"""The one file of the artifact."""
PREVIEW_BYTES: Final = 2_097_152
"""The maximum size of a preview. A larger file is not read."""
_LISTED_FAULTS: Final = 10
_SHOWN: Final = 200


def read_preview(data: bytes, submission: str) -> Preview:
    """Return the preview of this submission. Raises FormatError if it is malformed, inconsistent or another
    submission's.
    """
    if len(data) > PREVIEW_BYTES:
        raise _refused(f"{len(data):,} bytes: expected at most {PREVIEW_BYTES:,}")
    try:
        preview = Preview.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults[:_LISTED_FAULTS]]
        raise _refused(*told) from None
    if preview.submission != submission:
        raise _refused(f"is of submission {preview.submission!r}: expected {submission!r}")
    return preview


def _refused(*faults: str) -> FormatError:
    return FormatError([Problem(Path(PREVIEW_NAME), 0, printable(each)[:_SHOWN]) for each in faults])


COMMENT: Final = "submission"
"""The name of the sticky comment."""


class ReportOutcome(StrEnum):
    """The outcome of a report. `BEGUN` and `PUSHED` only remove labels. Those after them write nothing."""

    REPORTED = "reported"
    NOTHING = "nothing to say"
    BEGUN = "its run is under way"
    PUSHED = "its branch was pushed to"
    STALE = "a newer push has a run of its own"
    MISSING = "no open pull request has this run's branch"
    SEVERAL = "several open pull requests have this run's commit and branch"


@dataclass(frozen=True, slots=True)
class Reported:
    """The report as written, or with `dry_run` as it would be: the labels in order and the comment's Markdown.

    `added`, `removed`, `written` and `url` are what changed on GitHub.
    """

    outcome: ReportOutcome
    run: int | None
    head: str
    number: int | None = None
    labels: tuple[str, ...] = ()
    text: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    written: WriteResult | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    labels: frozenset[str]
    text: str


def report_from(project: Project, environ: Mapping[str, str], run: int, *, dry_run: bool = False) -> Reported:
    """Report as `report` does, with repository, token and addresses from the environment. Raises MissingError too."""
    server = (environ.get("GITHUB_SERVER_URL") or SERVER).rstrip("/")
    return report(project, connect_from(environ), run, now=datetime.now(UTC), server=server, dry_run=dry_run)


def report(
    project: Project,
    connection: Connection,
    run: int,
    *,
    now: datetime,
    server: str = SERVER,
    dry_run: bool = False,
) -> Reported:
    """Report on the pull request that a run belongs to. A second call writes nothing new.

    While the run is under way, the labels that allow a merge are removed. They belong to an earlier commit, and a
    maintainer could merge just after a push. `server` is GitHub's web address. Raises PermissionMissingError,
    GitHubError, and FormatError for a broken owners.json in this checkout.
    """
    found = find_pull(connection, run)
    if found.match is not Match.FOUND or found.pull is None:
        return _unanswered(found, run)
    if not found.finished:
        return _take_back(connection, found, run, dry_run=dry_run)
    said = _say(_Case(project, connection, run, found.pull, server, now))
    if said is None:
        return Reported(ReportOutcome.STALE, run, found.head, found.pull.number)
    outcome = ReportOutcome.REPORTED if said.labels else ReportOutcome.NOTHING
    text = said.text if said.labels else ""
    made = Reported(outcome, run, found.head, found.pull.number, tuple(sorted(said.labels)), text)
    return made if dry_run else _write(connection, made, said)


def recall_from(environ: Mapping[str, str], number: int, *, dry_run: bool = False) -> Reported:
    """Remove labels as `recall` does, with repository and token from a job's environment."""
    return recall(connect_from(environ), number, dry_run=dry_run)


def recall(connection: Connection, number: int, *, dry_run: bool = False) -> Reported:
    """Remove the labels that allow a merge, because the new commit of the branch is not checked yet.

    This does not wait for a run: a push that removes the workflows has none.
    """
    pull = read_pull(connection, number)
    removed = () if dry_run else set_labels(connection, number, CLEARING, ()).removed
    return Reported(ReportOutcome.PUSHED, None, pull.head, number, removed=removed)


def _unanswered(found: FoundPull, run: int) -> Reported:
    outcomes = {Match.STALE: ReportOutcome.STALE, Match.SEVERAL: ReportOutcome.SEVERAL}
    number = found.pull.number if found.pull else None
    return Reported(outcomes.get(found.match, ReportOutcome.MISSING), run, found.head, number)


def _take_back(connection: Connection, found: FoundPull, run: int, *, dry_run: bool) -> Reported:
    """Remove the labels that allow a merge while the run on the new commit is under way."""
    number = found.numbers[0]
    removed = () if dry_run else set_labels(connection, number, CLEARING, ()).removed
    return Reported(ReportOutcome.BEGUN, run, found.head, number, removed=removed)


def _write(connection: Connection, made: Reported, said: _Said) -> Reported:
    """Write labels and comment, unless the pull request was pushed to or closed in the meantime."""
    number = made.number or 0
    now = read_pull(connection, number)
    if (now.head, now.state) != (made.head, "open"):
        return Reported(ReportOutcome.STALE, made.run, made.head, number)
    changed = set_labels(connection, number, LABELS, said.labels)
    speak = upsert_comment if said.labels else update_if_present
    spoken = speak(connection, number, COMMENT, said.text)
    made = replace(made, added=changed.added, removed=changed.removed)
    return replace(made, written=spoken.written, url=spoken.url) if spoken else made


# -- what is said


@dataclass(frozen=True, slots=True)
class _Case:
    """A pull request, its run, and the means for a report on it."""

    project: Project
    connection: Connection
    run: int
    pull: PullRequest
    server: str
    now: datetime

    @property
    def address(self) -> str:
        """Return the repository's web address, which `git fetch` takes too."""
        return f"{self.server}/{self.connection.name}"


def _say(case: _Case) -> _Said | None:
    """Return labels and comment, or None if the pull request was pushed to while its files were listed."""
    changes = changed_files(case.connection, case.pull.number)
    if changes.heads - {case.pull.head}:
        return None
    submissions = case.project.root / "submissions"
    pull_change = read_offer(changes, {slug: _names(submissions, slug) for slug in touched_slugs(changes)})
    with tempfile.TemporaryDirectory(prefix="bashboard-") as kept:
        return _said(case, pull_change, Path(kept))


def _names(submissions: Path, slug: str) -> frozenset[str]:
    """Return the names of a submission's files in this checkout."""
    folder = submissions / slug
    return frozenset(path.name for path in folder.iterdir()) if is_slug(slug) and folder.is_dir() else frozenset()


def _said(case: _Case, pull_change: PullRequestChange, kept: Path) -> _Said:
    problems = _problems(case, pull_change.slug, kept) if _is_checked(pull_change) else []
    sound = not any(each.severity is Severity.ERROR for each in problems)
    decision = decide(
        pull_change,
        case.pull,
        _owner(case, pull_change),
        problems,
        _limits(case, pull_change, kept / "submissions" / pull_change.slug if sound else None),
        address=case.address,
    )
    if not decision.labels:
        return _Said(frozenset(), nothing_text())
    return _answer(case, pull_change, decision, problems, kept)


def _is_checked(pull_change: PullRequestChange) -> bool:
    return bool(pull_change.slug) and pull_change.change in (ChangeKind.ADDS, ChangeKind.UPDATES, ChangeKind.RENAMES)


def _owner(case: _Case, pull_change: PullRequestChange) -> Owner:
    slug = pull_change.earlier or pull_change.slug
    return owner_of(case.project, case.connection, slug) if is_slug(slug) else NOBODY


def _limits(case: _Case, pull_change: PullRequestChange, offered: Path | None) -> tuple[Reason, ...]:
    if (
        case.pull.insider
        or pull_change.change not in (ChangeKind.ADDS, ChangeKind.UPDATES)
        or not is_slug(pull_change.slug)
    ):
        return ()
    return limit_reasons(case.project, case.connection, case.pull, pull_change.slug, offered, case.now)


def _answer(
    case: _Case, pull_change: PullRequestChange, decision: Decision, problems: Sequence[Problem], kept: Path
) -> _Said:
    preview, missing, labels = None, "", decision.labels
    if decision.is_valid and pull_change.change is not ChangeKind.WITHDRAWS:
        preview, missing = read_numbers(
            case.project,
            case.connection,
            case.run,
            pull_change.slug,
            suites_answered(kept / "submissions" / pull_change.slug),
        )
        labels = decision.contested() if preview and preview.undecided else labels
    text = render_comment(
        pull_change.slug,
        problems,
        preview,
        PullRequestContext(
            change=pull_change.change,
            reasons=decision.reasons,
            first_time=case.pull.newcomer and not case.pull.insider,
            missing=missing,
            appeal=_appeal(case, pull_change, preview),
            log=f"{case.address}/actions/runs/{case.run}",
            commit=case.pull.head,
        ),
    )
    return _Said(labels, text)


def _appeal(case: _Case, pull_change: PullRequestChange, preview: Preview | None) -> str:
    slug = pull_change.slug if is_slug(pull_change.slug) else None
    suite = preview.suite if preview else None
    return appeal_address(case.server, case.connection.name, submission=slug, suite=suite)


# -- the files, as data


def _problems(case: _Case, slug: str, kept: Path) -> list[Problem]:
    """Return the problems of the submission's folder at the head, with paths from the root of the repository.

    The folder is written below `kept`, beside empty folders of all other submissions, because the check compares names.
    """
    place = Path("submissions")
    if slug in (".", "..") or slug != printable(slug) or len(os.fsencode(slug)) > 255:
        return [Problem(place, 0, fault) for fault in slug_faults(slug, ())]
    limits = case.project.settings.limits
    read = read_submission(case.connection, case.pull.head, f"submissions/{slug}", limits)
    for folder in case.project.submission_folders():
        if folder.name != slug:
            (kept / place / folder.name).mkdir(parents=True, exist_ok=True)
    read.write(kept / place / slug)
    found = check_folders(case.project, [kept / place / slug])
    return [*read.problems, *(each._replace(path=each.path.relative_to(kept)) for each in found)]
