"""Report on a pull request: set labels for its state, and write one comment.

The code of this checkout computes the report. It reads the pull request's files as data and executes none of them. Only
the preview's numbers come from the pull request's own run, and the comment says so.

The preview is the submission's expected result on the board. It is an artifact of the pull request's run and can be
forged. A preview is refused if it is malformed, inconsistent, or about another board or submission. A forged preview
that passes these checks can only misstate the numbers of its own submission.
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
from evaluator.github.connection import SERVER, Connection, github_connection
from evaluator.github.forms import appeal_address
from evaluator.github.labels import set_labels
from evaluator.github.pulls import Match, PullRequest, changed_files, find_pull, read_pull
from evaluator.github.repository_files import read_submission
from evaluator.pipeline.project import Project
from evaluator.pipeline.pull_requests.author_limits import limit_reasons, suites_answered
from evaluator.pipeline.pull_requests.classify import PullRequestChange, classify_change, touched_slugs
from evaluator.pipeline.pull_requests.merge_rules import Decision, decide
from evaluator.pipeline.submissions.ownership import NOBODY, owner_of
from evaluator.pipeline.submissions.repository import check_folders, held_until, suite_info
from evaluator.records import Preview
from evaluator.submissions.names import is_slug, slug_faults

COMMENT: Final = "submission"
"""The name of the sticky comment."""
ARTIFACT: Final = "preview"
"""The name of the artifact in which the run stores its preview."""
PREVIEW_NAME: Final = "preview.json"
"""The one file of the artifact."""
PREVIEW_BYTES: Final = 2_097_152
"""The maximum size of a preview. A larger file is not read."""

_UNUSABLE: Final = "the run left a preview that is not used: "
_FAULTS_READ: Final = 10
_FAULTS_SHOWN: Final = 3
_FAULT_LENGTH: Final = 200


class ReportOutcome(StrEnum):
    """The outcome of a report on a pull request.

    A report with the outcome `BEGUN` or `PUSHED` only removes labels. A report with the outcome `STALE`, `MISSING` or
    `SEVERAL` writes nothing.
    """

    REPORTED = "reported"
    NOTHING = "nothing to say"
    BEGUN = "its run is under way"
    PUSHED = "its branch was pushed to"
    STALE = "a newer push has a run of its own"
    MISSING = "no open pull request has this run's branch"
    SEVERAL = "several open pull requests have this run's commit and branch"


_NO_PULL: Final = {Match.STALE: ReportOutcome.STALE, Match.SEVERAL: ReportOutcome.SEVERAL}


@dataclass(frozen=True, slots=True)
class Report:
    """The labels and the comment (as Markdown) of a pull request. A dry run does not write them to GitHub.

    `added`, `removed`, `written` and `url` describe the changes on GitHub.
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


def report_from(project: Project, environ: Mapping[str, str], run: int, *, dry_run: bool = False) -> Report:
    """Call `report` with values from environment variables. Raises MissingError if a variable is missing."""
    server = (environ.get("GITHUB_SERVER_URL") or SERVER).rstrip("/")
    return report(project, github_connection(environ), run, now=datetime.now(UTC), server=server, dry_run=dry_run)


def report(
    project: Project,
    connection: Connection,
    run: int,
    *,
    now: datetime,
    server: str = SERVER,
    dry_run: bool = False,
) -> Report:
    """Set the labels and the comment of the pull request that a workflow run belongs to.

    A second call changes nothing. While the run is in progress, the call only removes the labels that allow a merge,
    because these labels are the result for an earlier commit. `server` is GitHub's web address. Raises
    PermissionMissingError or GitHubError if a request to GitHub fails, and FormatError for an invalid owners.json in
    this checkout.
    """
    match = find_pull(connection, run)
    if match.match is not Match.FOUND or match.pull is None:
        number = match.pull.number if match.pull else None
        return Report(_NO_PULL.get(match.match, ReportOutcome.MISSING), run, match.head, number)
    number = match.pull.number
    if not match.finished:
        removed = () if dry_run else set_labels(connection, number, CLEARING, ()).removed
        return Report(ReportOutcome.BEGUN, run, match.head, number, removed=removed)
    case = _Case(project, connection, run, match.pull, server, now)
    changes = changed_files(connection, number)
    if changes.heads - {match.head}:
        # the pull request was pushed to while its files were listed
        return Report(ReportOutcome.STALE, run, match.head, number)
    submissions = project.root / "submissions"
    names_on_board = {slug: _names(submissions, slug) for slug in touched_slugs(changes)}
    with tempfile.TemporaryDirectory(prefix="bashboard-") as scratch:
        labels, text = _labels_and_text(case, classify_change(changes, names_on_board), Path(scratch))
    outcome = ReportOutcome.REPORTED if labels else ReportOutcome.NOTHING
    draft = Report(outcome, run, match.head, number, tuple(sorted(labels)), text if labels else "")
    return draft if dry_run else _write(connection, draft, text)


def recall_from(environ: Mapping[str, str], number: int, *, dry_run: bool = False) -> Report:
    """Call `recall` with the repository and the token from the environment."""
    return recall(github_connection(environ), number, dry_run=dry_run)


def recall(connection: Connection, number: int, *, dry_run: bool = False) -> Report:
    """Remove the labels that allow a merge, because the new commit of the pull request is not checked yet.

    This does not wait for a workflow run of the new commit. The commit may delete the workflows, so that none runs.
    """
    pull = read_pull(connection, number)
    removed = () if dry_run else set_labels(connection, number, CLEARING, ()).removed
    return Report(ReportOutcome.PUSHED, None, pull.head, number, removed=removed)


def _write(connection: Connection, draft: Report, text: str) -> Report:
    """Write the report's labels and comment to GitHub, unless the pull request has a new commit or is closed."""
    number = draft.number or 0
    pull = read_pull(connection, number)
    if (pull.head, pull.state) != (draft.head, "open"):
        return Report(ReportOutcome.STALE, draft.run, draft.head, number)
    changed = set_labels(connection, number, LABELS, draft.labels)
    write_comment = upsert_comment if draft.labels else update_if_present
    comment = write_comment(connection, number, COMMENT, text)
    draft = replace(draft, added=changed.added, removed=changed.removed)
    return replace(draft, written=comment.written, url=comment.url) if comment else draft


# -- labels and comment


@dataclass(frozen=True, slots=True)
class _Case:
    """A pull request, its workflow run, and the other inputs of its report."""

    project: Project
    connection: Connection
    run: int
    pull: PullRequest
    server: str
    now: datetime

    @property
    def address(self) -> str:
        """Return the repository's web address, which is also valid for `git fetch`."""
        return f"{self.server}/{self.connection.name}"


def _names(submissions: Path, slug: str) -> frozenset[str]:
    """Return the names of a submission's files in this checkout."""
    folder = submissions / slug
    return frozenset(path.name for path in folder.iterdir()) if is_slug(slug) and folder.is_dir() else frozenset()


def _labels_and_text(case: _Case, pull_change: PullRequestChange, scratch: Path) -> tuple[frozenset[str], str]:
    """Check the pull request's submission. Return the labels of the pull request and the text of its comment."""
    slug, change = pull_change.slug, pull_change.change
    is_checked = bool(slug) and change in (ChangeKind.ADDS, ChangeKind.UPDATES, ChangeKind.RENAMES)
    problems = _problems(case, slug, scratch) if is_checked else []
    has_errors = any(problem.severity is Severity.ERROR for problem in problems)
    folder = scratch / "submissions" / slug
    limits: tuple[Reason, ...] = ()
    if not case.pull.insider and change in (ChangeKind.ADDS, ChangeKind.UPDATES) and is_slug(slug):
        offered = None if has_errors else folder
        limits = limit_reasons(case.project, case.connection, case.pull, slug, offered, case.now)
    owned = pull_change.earlier or slug
    owner = owner_of(case.project, case.connection, owned) if is_slug(owned) else NOBODY
    decision = decide(pull_change, case.pull, owner, problems, limits, address=case.address)
    if not decision.labels:
        return decision.labels, nothing_text()
    return _comment(case, pull_change, decision, problems, folder)


def _comment(
    case: _Case, pull_change: PullRequestChange, decision: Decision, problems: Sequence[Problem], folder: Path
) -> tuple[frozenset[str], str]:
    """Return the pull request's labels and comment. For a valid submission, the comment previews its result."""
    slug, labels = pull_change.slug, decision.labels
    preview, missing, held = None, "", ""
    phase = case.project.settings.final
    if phase is not None and phase.is_running(case.now):
        held = held_until(case.project)
    elif decision.is_valid and pull_change.change is not ChangeKind.WITHDRAWS:
        preview, missing = read_run_preview(case.project, case.connection, case.run, slug, suites_answered(folder))
        labels = decision.contested() if preview and preview.undecided else labels
    appeal = appeal_address(
        case.server,
        case.connection.name,
        submission=slug if is_slug(slug) else None,
        suite=preview.suite if preview else None,
    )
    context = PullRequestContext(
        change=pull_change.change,
        reasons=decision.reasons,
        first_time=case.pull.newcomer and not case.pull.insider,
        missing=missing,
        held=held,
        appeal=appeal,
        log=f"{case.address}/actions/runs/{case.run}",
        commit=case.pull.head,
    )
    return labels, render_comment(slug, problems, preview, context)


def _problems(case: _Case, slug: str, scratch: Path) -> list[Problem]:
    """Return the problems of the submission in the pull request. Their paths start at the repository's root.

    The submission's folder is written below `scratch`. The check compares the folder's name with the names of all other
    submissions. So each of the other submissions has an empty folder there.
    """
    submissions = Path("submissions")
    if slug in (".", "..") or slug != printable(slug) or len(os.fsencode(slug)) > 255:
        return [Problem(submissions, 0, fault) for fault in slug_faults(slug, ())]
    limits = case.project.settings.limits
    files = read_submission(case.connection, case.pull.head, f"submissions/{slug}", limits)
    for folder in case.project.submission_folders():
        if folder.name != slug:
            (scratch / submissions / folder.name).mkdir(parents=True, exist_ok=True)
    files.write(scratch / submissions / slug)
    problems = check_folders(case.project, [scratch / submissions / slug])
    return [*files.problems, *(each._replace(path=each.path.relative_to(scratch)) for each in problems)]


# -- the preview, which can be forged


def read_run_preview(
    project: Project, connection: Connection, run: int, slug: str, answered: Mapping[str, str]
) -> tuple[Preview | None, str]:
    """Return the preview of a workflow run and an empty text, or None and the reason why there is no valid preview.

    `answered` maps each suite of the submission to its version. Raises PermissionMissingError or GitHubError if a
    request to GitHub fails.
    """
    limits = ArtifactLimits(archive_bytes=PREVIEW_BYTES, file_bytes=PREVIEW_BYTES)
    file = read_artifact(connection, run, ARTIFACT, PREVIEW_NAME, limits)
    if file.content is None:
        return None, file.fault
    try:
        preview = read_preview(file.content, slug)
    except FormatError as error:
        return None, _UNUSABLE + "; ".join(problem.message for problem in error.problems[:_FAULTS_SHOWN])
    fault = _mismatch(project, preview, answered)
    return (None, _UNUSABLE + fault) if fault else (preview, "")


def read_preview(data: bytes, submission: str) -> Preview:
    """Parse the preview of a submission's result. Raises FormatError if it is invalid or names another submission."""
    if len(data) > PREVIEW_BYTES:
        raise _format_error(f"{len(data):,} bytes: expected at most {PREVIEW_BYTES:,}")
    try:
        preview = Preview.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)[:_FAULTS_READ]
        raise _format_error(*(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)) from None
    if preview.submission != submission:
        raise _format_error(f"is of submission {preview.submission!r}: expected {submission!r}")
    return preview


def _format_error(*faults: str) -> FormatError:
    return FormatError([Problem(Path(PREVIEW_NAME), 0, printable(fault)[:_FAULT_LENGTH]) for fault in faults])


def _mismatch(project: Project, preview: Preview, answered: Mapping[str, str]) -> str:
    """Return an error text if the preview is for another board or another submission, or else an empty text."""
    if preview.suite not in project.answerable_suites() or preview.suite not in answered:
        return f"it is of suite {preview.suite!r}, which the submission does not answer"
    suite = suite_info(project, preview.suite)
    if preview.suite_version != suite.version:
        return f"it is of {preview.suite} {preview.suite_version}: expected version {suite.version}"
    tasks = preview.asked + preview.not_asked
    if tasks > len(suite.tasks):
        return f"it counts {tasks} tasks: expected at most {len(suite.tasks)}"
    slugs = {folder.name for folder in project.submission_folders()}
    unknown = [rival.submission for rival in preview.rivals if rival.submission not in slugs]
    return f"it compares with {', '.join(unknown)}, which the board does not have" if unknown else ""
