"""Judge commands with pending verdicts, from evidence that other jobs produced, and pack the verdicts into an archive.

No command is executed, and no container engine is needed. Each submission is judged separately (see `derive`). So the
job that executed a submission influences only the submission's own row. A command without evidence gets no verdict. The
missing evidence is reported as an infrastructure failure, and the next run tries again. A verdict file's header names
the judge and the environment of all lines. So if the header changes, either all lines are published again or none.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evaluator.errors import UsageError
from evaluator.pipeline.grading.audit import AuditReport
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.llm_panel import PanelPair, panel_summary
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_in
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import PublishArchive
from evaluator.pipeline.publishing.archive_builder import ArchiveBuilder
from evaluator.pipeline.publishing.derive import AvailableEvidence, DerivedVerdicts, SubmissionRun
from evaluator.pipeline.publishing.diff_verdicts import changes_between, changes_markdown
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.plan import answered_suites, load_suite_contexts
from evaluator.pipeline.publishing.status import (
    PendingWork,
    VerdictStatus,
    edited_lines,
    inspect_submission,
    is_not_run,
    line_key,
)
from evaluator.pipeline.publishing.suite_context import SuiteContext
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.records import Outcome, PublishedVerdict
from evaluator.store import Store
from evaluator.submissions.names import VERDICTS
from evaluator.submissions.validate import Submission

NOT_ASKED: Final = "execution only: the panel was not asked"
"""The panel's summary if a panel is configured but there is no API key."""

_SHA256: Final = re.compile("[0-9a-f]{64}")
_FULL: Final = "the archive is full; the next run publishes this file"
_STAYS: Final = "the published file stays, because its lines must share one judge, environment and suite version"
_NOTHING: Final = "no command could be judged"


@dataclass(frozen=True, slots=True)
class PublishRow:
    """The result for one submission's verdicts on one suite.

    `given` counts the new verdicts. `missing` counts, for each infrastructure failure, the commands without a verdict
    because of this failure. `written` is true if there is a new verdict file. `left` is the reason for publishing
    no new verdicts, or an empty text. `left_out` counts runs whose evidence is left out because of a size limit.
    """

    work: PendingWork
    given: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    written: bool = False
    left: str = ""
    left_out: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return this result and the pending work as a JSON object."""
        return {
            **self.work.as_json(),
            "given": self.given,
            "missing": dict(self.missing),
            "written": self.written,
            "left": self.left,
            "left_out": self.left_out,
        }


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The result of judging: the archive to commit, and a row for every submission and suite with pending work.

    `faults` maps a submission to the faults of its refused evidence bundles. `panel` is a summary of the requests to
    the LLM panel. `panel_failed` is true if the panel stopped for a reason other than its limits. `audit` is the report
    of today's audit, or None if there was no audit. `unavailable` maps each suite that is left out to the reason.
    """

    archive: PublishArchive
    rows: tuple[PublishRow, ...]
    faults: Mapping[str, Sequence[str]]
    panel: str = ""
    panel_failed: bool = False
    audit: AuditReport | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)

    def with_audit(self, audit: AuditReport | None) -> PublishResult:
        """Return this result with the report of an audit. The archive then contains the record of the audit."""
        if audit is None:
            return self
        header = self.archive.header.model_copy(update={"audits": tuple(result.audit for result in audit.results)})
        return replace(self, archive=replace(self.archive, header=header), audit=audit)

    @property
    def anything(self) -> bool:
        """Return whether the archive would change the repository: whether it lists a file or an audit."""
        return bool(self.archive.on_main() or self.archive.on_branch() or self.archive.header.audits)

    @property
    def missing(self) -> int:
        """Return the number of pending commands that got no verdict because of an infrastructure failure."""
        return sum(sum(row.missing.values()) for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the result of judging as JSON values, without the archive."""
        return {
            "anything": self.anything,
            "rows": [row.as_json() for row in self.rows],
            "faults": {slug: list(faults) for slug, faults in self.faults.items()},
            "panel": self.panel,
            "unavailable": dict(self.unavailable),
            "missing": self.missing,
            "audit": self.audit.as_json() if self.audit else None,
        }


def judge_pending(
    project: Project,
    progress: Progress,
    store: Store,
    collected: Path | None,
    *,
    stale: bool = False,
    slugs: Sequence[str] = (),
    panels: PanelPair | None = None,
    image: str | None = None,
) -> PublishResult:
    """Judge commands with pending verdicts. `collected` is the folder with the evidence of this workflow run's jobs.

    `image` is the SHA-256 of the file with the run's sandbox images. Raises MissingError if the environment of no suite
    is known, and UsageError if `collected` is not a folder or `image` is not a SHA-256.
    """
    if collected is not None and not collected.is_dir():
        raise UsageError(f"{collected}: there is no such folder; expected one with bundles, or an empty one")
    if image is not None and not _SHA256.fullmatch(image):
        raise UsageError(f"--image {image!r:.100}: expected 64 hexadecimal digits in lower case")
    loaded, sources = load_sound(project, slugs), EvidenceSources.of(project, collected)
    contexts, unavailable = load_suite_contexts(project, store, loaded)
    pairs = answered_suites(contexts, loaded)
    builder = ArchiveBuilder(project, sources)
    rows: list[PublishRow] = []
    current: dict[str, dict[str, VerdictFile]] = {}
    progress.stage("judging", len(pairs))
    for context, submission in pairs:
        submission_run = SubmissionRun(context, submission)
        status = inspect_submission(project, submission_run, sources, panels, stale=stale)
        files = current.setdefault(context.suite.manifest.name, {})
        if status.published.file:
            files[submission.slug] = status.published.file
        if status.work.is_stale if stale else status.work.is_new:
            rows.append(_judge(submission_run, status, sources, panels, builder))
        elif not stale:
            _confirm(submission_run, status, builder)
        progress.advance()
    _put_shared_files(builder, contexts, rows, image)
    if not (stale or slugs):
        builder.remove_outdated(loaded)
    told, facts = _verdict_diff(project, current, builder, loaded.submissions) if stale else ({}, {})
    facts["rows"] = [row.as_json() for row in rows]
    archive = builder.archive(rescore=stale, told=told, facts=facts)
    panel = _panel_result(panels if rows else None)
    return PublishResult(archive, tuple(rows), sources.faults, *panel, unavailable=unavailable)


def _put_shared_files(
    builder: ArchiveBuilder, contexts: Sequence[SuiteContext], rows: Sequence[PublishRow], image: str | None
) -> None:
    """Add the files that verdicts of several submissions share: the references' evidence and the list of images."""
    suites = {row.work.suite for row in rows if row.written}
    for context in contexts:
        if context.suite.manifest.name in suites:
            builder.put_references(context)
    if image is not None:
        builder.put_images(contexts, image)


def _panel_result(panels: PanelPair | None) -> tuple[str, bool]:
    """Return a summary of the requests to the LLM panel, and whether the panel failed."""
    if panels is None:
        return "", False
    if panels.asking is None:
        return NOT_ASKED, False
    return panel_summary(panels.asking) or "", panels.asking.failed


def _verdict_diff(
    project: Project,
    current: Mapping[str, Mapping[str, VerdictFile]],
    builder: ArchiveBuilder,
    submissions: Sequence[Submission],
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the effect of the new verdict files on the boards, as Markdown texts and as JSON values."""
    if not builder.files:
        return {}, {}
    after = {suite: dict(files) for suite, files in current.items()}
    for name, data in builder.files.items():
        _, slug, file = name.split("/")
        after[file.removesuffix(VERDICTS)][slug] = verdicts_in(data, Path(name))
    changes = changes_between(project, current, after, submissions)
    return {"changes": changes_markdown(changes)}, {"changes": changes.model_dump(mode="json")}


def _judge(
    submission_run: SubmissionRun,
    status: VerdictStatus,
    sources: EvidenceSources,
    panels: PanelPair | None,
    builder: ArchiveBuilder,
) -> PublishRow:
    """Judge a submission's pending commands. Add the verdict file and evidence to the archive. Return the result."""
    available = status.available or sources.load(submission_run)
    derived = _derive(submission_run, status, available, panels)
    pending = set(status.pending)
    missing = Counter(unjudged.reason for unjudged in derived.missing if unjudged.item in pending)
    lines = _lines(submission_run, status, derived)
    if builder.is_full:
        return PublishRow(status.work, missing=missing, left=_FULL)
    if missing and status.published.causes:
        return PublishRow(status.work, missing=missing, left=_STAYS)
    if missing and not lines:
        return PublishRow(status.work, missing=missing, left=_NOTHING)
    data = verdict_bytes(VerdictFile(derived.header, tuple(lines)))
    written = builder.put_verdicts(submission_run, data)
    replies = derived.replies
    if not pending.issuperset(submission_run.items):
        by_key = {reply.key: reply for reply in (*available.replies, *derived.replies)}
        replies = tuple(by_key[key] for key in sorted(by_key))
    all_derived = set(lines) <= set(derived.verdicts)
    bundled = replace(available, replies=replies)
    left_out = builder.put_bundle(submission_run, bundled, data if all_derived else None)
    edited = () if status.work.causes else tuple(edited_lines(status.published, derived))
    work = replace(status.work, edited=edited)
    return PublishRow(work, len(pending) - missing.total(), missing, written, left_out=left_out)


def _derive(
    submission_run: SubmissionRun, status: VerdictStatus, available: AvailableEvidence, panels: PanelPair | None
) -> DerivedVerdicts:
    """Derive verdicts with the LLM panel. First cache the published replies, so that no reply is paid for twice."""
    if panels is None:
        return status.derived or submission_run.derive(available, None, status.pending)
    for reply in available.replies:
        if panels.replay.reply_cache.find(reply.key) is None:
            panels.replay.reply_cache.add(reply)
    return submission_run.derive(available, panels, status.pending)


def _lines(submission_run: SubmissionRun, status: VerdictStatus, derived: DerivedVerdicts) -> list[PublishedVerdict]:
    """Return the lines of the new verdict file. A command without a derived verdict keeps its published line.

    If the header of the published file is outdated, no published line is kept. A line that an earlier LLM panel decided
    stays until a rescore. The lines that result decide which commands are not run.
    """
    file = None if status.published.causes else status.published.file
    new_lines, current_lines = (
        {(line.task, line.command): line for line in verdicts if not is_not_run(line)}
        for verdicts in (derived.verdicts, file.verdicts if file else ())
    )
    pending = set(status.pending)
    lines: dict[GradingItem, PublishedVerdict] = {}
    for item in submission_run.items:
        new, current = new_lines.get(line_key(item)), current_lines.get(line_key(item))
        line = (current or new) if status.work.causes and item not in pending else (new or current)
        if line is not None:
            lines[item] = line
    final = submission_run.final({item: line.finding for item, line in lines.items()})
    return [
        submission_run.line(item, finding) if finding.outcome is Outcome.NOT_RUN else lines[item]
        for item, finding in final.items()
    ]


def _confirm(submission_run: SubmissionRun, status: VerdictStatus, builder: ArchiveBuilder) -> None:
    """If the published verdicts follow from the evidence, add a bundle that states the verdict file's digest."""
    derived = status.derived
    if status.available is None or derived is None or derived.missing or not status.published.is_complete:
        return
    data = verdict_bytes(VerdictFile(derived.header, derived.verdicts))
    if hashlib.sha256(data).hexdigest() == status.published.sha256:
        builder.put_bundle(submission_run, AvailableEvidence(status.available.evidence, derived.replies), data)
