"""Collect the evidence of a run's jobs. Each job announces the digests of its own bundles.

A hostile submission could escape from its sandbox, take over its runner and replace any artifact of the run. It cannot
write to the check run of another job, because only a job's own runner can. So this module lists the run's jobs and
reads the notices of the job `EXECUTE (<slug>)`. It accepts an artifact only if its files have the announced digests,
and reads no file before that check. An escape can therefore forge only the row of its own submission.

A submission that fails a check is left out, with the reason. That is an infrastructure failure and never a verdict. The
other submissions are published, and the next run tries again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
_ANNOUNCED: Final = re.compile(rf"({_SLUG}) ({_SLUG}) ([0-9a-f]{{64}})", re.ASCII)
_SHOWN: Final = 200

Digests = Mapping[str, str]
"""SHA-256 of a submission's bundles, by suite."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The reason why a submission is left out. `forged` is true if its job did not announce its artifact."""

    reason: str
    forged: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """The collected suites by submission, and the submissions that were left out."""

    taken: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, LeftOut]

    @property
    def failed(self) -> bool:
        """Return whether submissions were expected but none was collected."""
        return bool(self.left_out) and not self.taken


class _Refused(Exception):  # noqa: N818 - a submission that is left out, no error
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
) -> Collected:
    """Write the bundles of a run's submissions below the empty folder `out`, each at its `bundle_path`.

    `expected` lists the submissions that the run should have executed. Without it, all submissions that have a job
    count. Raises UsageError if `out` is not empty or the run does not exist, and PermissionMissingError or GitHubError.
    """
    _make_empty(out)
    shown = progress or NullProgress()
    shown.say("asking which jobs there were")
    jobs = jobs_of_run(connection, run)
    begun = {named[1] for each in jobs if (named := _JOB.fullmatch(each.name))}
    left_out: dict[str, LeftOut] = {}
    announced: dict[str, Digests] = {}
    names = sorted(begun if expected is None else set(expected))
    shown.stage("asking what was announced", len(names))
    for slug in names:
        try:
            announced[slug] = _announced(project, connection, jobs, slug)
        except _Refused as refused:
            left_out[slug] = refused.left_out
        shown.advance()
    shown.stage("taking over", len(announced))
    for slug, found in _artifacts(connection, run, announced):
        try:
            _write(out, _checked(found, slug, announced[slug]))
        except _Refused as refused:
            left_out[slug] = refused.left_out
        shown.advance()
    taken = {slug: tuple(sorted(digests)) for slug, digests in announced.items() if slug not in left_out}
    return Collected(taken, dict(sorted(left_out.items())))


def _make_empty(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise UsageError(f"{out} holds files already: expected an empty folder, or none")
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error


def _announced(project: Project, connection: Connection, jobs: Sequence[GithubJob], slug: str) -> Digests:
    """Return the digests that a submission's own job announced."""
    job = _job(jobs, slug)
    folder = project.root / "submissions" / slug
    digests: dict[str, str] = {}
    for message in (each.message for each in notices(connection, job.check_run) if each.title == NOTICE):
        found = _ANNOUNCED.fullmatch(message)
        if found is None or found[1] != slug:
            raise _Refused(f"its job announced {printable(message)[:_SHOWN]!r}: expected {slug} alone", forged=True)
        if not (folder / f"{found[2]}.jsonl").is_file():
            raise _Refused(f"its job announced suite {found[2]}, which it does not answer", forged=True)
        if found[2] in digests:
            raise _Refused(f"its job announced suite {found[2]} more than once", forged=True)
        digests[found[2]] = found[3]
    if not digests:
        raise _Refused("its job succeeded and announced no evidence")
    return digests


def _job(jobs: Sequence[GithubJob], slug: str) -> GithubJob:
    if not is_slug(slug):
        raise _Refused("is no submission's name")
    named = [each for each in jobs if each.name == f"{EXECUTE} ({slug})"]
    if len(named) != 1:
        raise _Refused(f"{len(named)} jobs of the run are its own: expected one")
    if named[0].conclusion != "success":
        raise _Refused(f"its job ended with {named[0].conclusion or 'nothing yet'}")
    return named[0]


def _artifacts(connection: Connection, run: int, slugs: Iterable[str]) -> Iterator[tuple[str, ArtifactFiles]]:
    """Yield the artifact of each submission, one after the other."""
    names = {f"evidence-{slug}": slug for slug in slugs}
    if names:
        for name, found in read_artifacts(connection, run, names, LIMITS):
            yield names[name], found


def _checked(found: ArtifactFiles, slug: str, digests: Digests) -> dict[str, bytes]:
    """Return the bundles by path if each has the digest that its job announced."""
    if found.files is None:
        raise _Refused(found.fault)
    paths = {bundle_path(suite, slug).as_posix(): digest for suite, digest in digests.items()}
    if missing := sorted(set(paths) - set(found.files)):
        raise _Refused(f"its artifact lacks {missing[0]}, which its job announced", forged=True)
    if extra := sorted(set(found.files) - set(paths)):
        named = printable(extra[0])[:_SHOWN]
        raise _Refused(f"its artifact holds {named!r}, which its job did not announce", forged=True)
    for path, digest in paths.items():
        is_now = hashlib.sha256(found.files[path]).hexdigest()
        if is_now != digest:
            raise _Refused(f"{path} has the SHA-256 {is_now}: its job announced {digest}", forged=True)
    return dict(found.files)


def _write(out: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / path, content)


def collected_markdown(collected: Collected) -> str:
    """Return a summary of the collected evidence for the job's summary."""
    taken, left_out = collected.taken, collected.left_out
    lines = [f"### Evidence of {len(taken)} of {len(taken) + len(left_out)} submissions was collected"]
    if left_out:
        lines += ["", "Left out as infra-errors, which are ours and no verdicts; the next run tries them again:", ""]
        lines += [f"- {code(slug)}: {code(each.reason, 2 * _SHOWN)}" for slug, each in left_out.items()]
    if any(each.forged for each in left_out.values()):
        lines += [
            "",
            "**Not what its own job announced:** keep this run, do not run it again, and treat it as a vulnerability "
            "(SECURITY.md).",
        ]
    return "\n".join(lines)
