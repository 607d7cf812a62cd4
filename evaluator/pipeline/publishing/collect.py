"""Collect the bundles of evidence that the jobs of a workflow run made. Each job executes one submission.

A hostile submission could escape from its sandbox, take over its runner and replace any artifact of the run. But it
cannot act for another job, because only a job's own runner can write notices to the job's check run. So each job
`EXECUTE (<slug>)` announces the digests of its own bundles in notices. This module checks that an artifact's files have
the announced digests, and reads no file before that check. So a hostile submission can forge only its own evidence.

If a check fails, the submission is left out, with the reason. That is an infrastructure failure and never a verdict.
The other submissions are published, and the next workflow run tries again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
from evaluator.escaping import printable
from evaluator.files import write_whole
from evaluator.github.artifacts import ArtifactFiles, ArtifactLimits, read_artifacts
from evaluator.github.comment.markdown import code
from evaluator.github.connection import Connection
from evaluator.github.jobs import GithubJob, jobs_of_run, notices
from evaluator.pipeline.evidence.bundle import READING, bundle_path
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress, Progress
from evaluator.records import SLUG_PATTERN
from evaluator.submissions.names import is_slug

NOTICE: Final = "evidence"
"""The title of the notices of `bashboard evidence make --announce`. Each says `<slug> <suite> <sha256>`."""

EXECUTE: Final = "derive / execute"
"""The name of the jobs that execute submissions: the calling job, then the job in the called workflow."""

LIMITS: Final = ArtifactLimits(archive_bytes=READING.packed_bytes, file_bytes=READING.packed_bytes)
"""Limits of one submission's artifact. Bundles are compressed, so the archive is about as large as its files."""

_SLUG: Final = SLUG_PATTERN.strip("^$")
_JOB: Final = re.compile(rf"{EXECUTE} \(({_SLUG})\)", re.ASCII)
_ANNOUNCEMENT: Final = re.compile(rf"({_SLUG}) ({_SLUG}) ([0-9a-f]{{64}})", re.ASCII)
_SHOWN: Final = 200

Digests = Mapping[str, str]
"""SHA-256 of a submission's bundles, by suite."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The reason why a submission's evidence was left out.

    `forged` is true if the evidence is not the evidence that the submission's job announced.
    """

    reason: str
    forged: bool = False


@dataclass(frozen=True, slots=True)
class CollectResult:
    """The result of collecting evidence.

    `taken` maps each submission to the suites with collected evidence. `left_out` maps each other submission to the
    reason.
    """

    taken: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, LeftOut]

    @property
    def failed(self) -> bool:
        """Return whether evidence was expected but the evidence of no submission was collected."""
        return bool(self.left_out) and not self.taken


class _LeftOutError(Exception):
    """The error that makes `collect` leave out a submission. The message is the reason."""

    def __init__(self, reason: str, *, forged: bool = False) -> None:
        super().__init__(reason)
        self.left_out = LeftOut(reason, forged)


def collect(
    project: Project,
    connection: Connection,
    run: int,
    out: Path,
    expected: Collection[str] | None = None,
    progress: Progress | None = None,
) -> CollectResult:
    """Write the evidence bundles of a workflow run below the empty folder `out`, each at its `bundle_path`.

    `expected` lists the submissions that the run should have executed. By default, these are all submissions with a job
    in the run. Raises UsageError if `out` is not empty or the run does not exist. Raises PermissionMissingError or
    GitHubError if a request to GitHub fails.
    """
    _make_empty(out)
    progress = progress or NullProgress()
    progress.say("asking which jobs there were")
    jobs = jobs_of_run(connection, run)
    started = {match[1] for job in jobs if (match := _JOB.fullmatch(job.name))}
    slugs = sorted(started if expected is None else set(expected))
    announced: dict[str, Digests] = {}
    left_out: dict[str, LeftOut] = {}
    progress.stage("asking what was announced", len(slugs))
    for slug in slugs:
        try:
            announced[slug] = _announced(project, connection, jobs, slug)
        except _LeftOutError as error:
            left_out[slug] = error.left_out
        progress.advance()
    progress.stage("taking over", len(announced))
    artifacts = {f"evidence-{slug}": slug for slug in announced}
    for name, artifact in read_artifacts(connection, run, artifacts, LIMITS) if artifacts else ():
        slug = artifacts[name]
        try:
            _write(out, _checked_files(artifact, slug, announced[slug]))
        except _LeftOutError as error:
            left_out[slug] = error.left_out
        progress.advance()
    taken = {slug: tuple(sorted(digests)) for slug, digests in announced.items() if slug not in left_out}
    return CollectResult(taken, dict(sorted(left_out.items())))


def _make_empty(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise UsageError(f"{out} contains files: expected an empty folder or a new one")
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error


def _announced(project: Project, connection: Connection, jobs: Sequence[GithubJob], slug: str) -> Digests:
    """Map each suite to the digest of the evidence bundle that the submission's own job announced."""
    job = _job(jobs, slug)
    folder = project.root / "submissions" / slug
    digests: dict[str, str] = {}
    for notice in notices(connection, job.check_run):
        if notice.title != NOTICE:
            continue
        match = _ANNOUNCEMENT.fullmatch(notice.message)
        if match is None or match[1] != slug:
            shown = printable(notice.message)[:_SHOWN]
            raise _LeftOutError(f"its job announced {shown!r}: expected {slug} alone", forged=True)
        _, suite, digest = match.groups()
        if not (folder / f"{suite}.jsonl").is_file():
            raise _LeftOutError(f"its job announced suite {suite}, which it does not answer", forged=True)
        if suite in digests:
            raise _LeftOutError(f"its job announced suite {suite} more than once", forged=True)
        digests[suite] = digest
    if not digests:
        raise _LeftOutError("its job succeeded and announced no evidence")
    return digests


def _job(jobs: Sequence[GithubJob], slug: str) -> GithubJob:
    if not is_slug(slug):
        raise _LeftOutError("is not the name of a submission")
    own_jobs = [job for job in jobs if job.name == f"{EXECUTE} ({slug})"]
    if len(own_jobs) != 1:
        raise _LeftOutError(f"{len(own_jobs)} jobs of the run are its own: expected one")
    if own_jobs[0].conclusion != "success":
        raise _LeftOutError(f"its job ended with {own_jobs[0].conclusion or 'nothing yet'}")
    return own_jobs[0]


def _checked_files(artifact: ArtifactFiles, slug: str, digests: Digests) -> dict[str, bytes]:
    """Map the path of each bundle in an artifact to the bundle.

    Raises _LeftOutError if the bundles do not have the announced `digests`.
    """
    if artifact.files is None:
        raise _LeftOutError(artifact.fault)
    announced = {bundle_path(suite, slug).as_posix(): digest for suite, digest in digests.items()}
    if missing := sorted(announced.keys() - artifact.files.keys()):
        raise _LeftOutError(f"its artifact lacks {missing[0]}, which its job announced", forged=True)
    if extra := sorted(artifact.files.keys() - announced.keys()):
        shown = printable(extra[0])[:_SHOWN]
        raise _LeftOutError(f"its artifact holds {shown!r}, which its job did not announce", forged=True)
    for path, digest in announced.items():
        actual = hashlib.sha256(artifact.files[path]).hexdigest()
        if actual != digest:
            raise _LeftOutError(f"{path} has the SHA-256 {actual}: its job announced {digest}", forged=True)
    return dict(artifact.files)


def _write(out: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / path, content)


def collected_markdown(result: CollectResult) -> str:
    """Return the collected evidence as Markdown for the summary page of the workflow's job."""
    taken, left_out = result.taken, result.left_out
    lines = [f"### Evidence of {len(taken)} of {len(taken) + len(left_out)} submissions was collected"]
    if left_out:
        lines += ["", "Left out as infra-errors, which are ours and no verdicts; the next run tries them again:", ""]
        lines += [f"- {code(slug)}: {code(exclusion.reason, 2 * _SHOWN)}" for slug, exclusion in left_out.items()]
    if any(exclusion.forged for exclusion in left_out.values()):
        lines += [
            "",
            "**Not what its own job announced:** keep this run, do not run it again, and treat it as a vulnerability "
            "(SECURITY.md).",
        ]
    return "\n".join(lines)
