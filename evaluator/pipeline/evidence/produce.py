"""Produce evidence and write it as bundles: one for a suite's references, or one for each submission.

Commands without evidence are executed as in grading: references twice, and a candidate a second time if it does not
pass. A submission's bundle holds all the evidence that its verdicts depend on, without that of references.

A shard is a part of the submissions, so that several machines can share the work.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.github.actions import notice
from evaluator.pipeline.evidence.bundle import bundle_path, drop_to_limit, export_bundle, write_bundle
from evaluator.pipeline.evidence.required_runs import RequiredRuns, reference_subjects, submitted_subjects
from evaluator.pipeline.grading.executor import BaseChangedError, open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound, load_submissions, suites_on_board
from evaluator.progress import Progress
from evaluator.records import Outcome
from evaluator.store import RunKey
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

_FORM: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")


class Shard(NamedTuple):
    """The part `number` of `shards` parts. Numbers start at 1."""

    number: int
    shards: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a text such as `2/5`. Raises UsageError."""
        found = _FORM.fullmatch(text)
        number, shards = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= shards:
            raise UsageError(f"--shard {text}: expected i/n with i from 1 to n, such as 2/5")
        return cls(number, shards)

    def of(self, slugs: Iterable[str]) -> list[str]:
        """Return this part of the names, sorted. The parts of the same names are disjoint and complete."""
        return sorted(set(slugs))[self.number - 1 :: self.shards]


ANNOUNCED: Final = "evidence"
"""The title of the notices that announce a job's bundles."""

Result = TypeVar("Result")


class Made(NamedTuple):
    """A written bundle: its number of `runs`, of runs `left_out` for size, and of runs `missing` after a failure."""

    path: Path
    suite: str
    submission: str | None
    sha256: str
    runs: int
    left_out: int
    missing: int

    @property
    def announcement(self) -> str:
        """Return the line that announces the bundle in a job on GitHub."""
        return notice(ANNOUNCED, f"{self.submission or 'references'} {self.suite} {self.sha256}")


def share_of(project: Project, slugs: Sequence[str], shard: str | None) -> list[str]:
    """Return the submissions named, or all valid ones. With `shard`, such as `2/5`, return that part of them.

    Raises UsageError.
    """
    chosen = list(slugs) or [each.slug for each in load_sound(project).submissions]
    return Shard.parse(shard).of(chosen) if shard else chosen


def make_references(
    project: Project, progress: Progress, out: Path, suites: Sequence[str] = (), workers: int | None = None
) -> list[Made]:
    """Write the references' bundles below `out`, for the suites named or for all on the board."""
    _begin(out)
    chosen = [project.suite(name) for name in suites] or suites_on_board(project, load_sound(project).submissions)

    return [_graded(project, progress, suite, workers, partial(write_references, project, out)) for suite in chosen]


def _begin(out: Path) -> None:
    """Create the folder, even if no bundle follows."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from error


def write_references(project: Project, out: Path, grader: Grader) -> Made:
    """Execute the references of the grader's suite that have no evidence, and write their bundle below `out`."""
    grader.ensure_evidence(reference_subjects(grader.suite))
    runs = RequiredRuns(project, grader.suite, grader.fingerprint).references
    missing = len(runs - grader.store.known_runs({key for key, _ in runs}))
    return _write(grader, out, None, runs, missing)


def make_submissions(
    project: Project,
    progress: Progress,
    out: Path,
    slugs: Sequence[str],
    suites: Sequence[str] = (),
    workers: int | None = None,
) -> list[Made]:
    """Write the bundles of the submissions named below `out`: one for each suite that they answer.

    With `suites`, only these are written. Raises FormatError for a submission that breaks its format.
    """
    _begin(out)
    entries = load_submissions(project, slugs) if slugs else []
    known = {suite.manifest.name: suite for suite in project.suites()}
    chosen = [project.suite(name) for name in suites] or list(known.values())
    made: list[Made] = []
    for suite in chosen:
        answering = [each for each in entries if suite.manifest.name in each.manifest.suites]
        if answering:
            made += _graded(project, progress, suite, workers, partial(write_submissions, project, out, answering))
    return made


def write_submissions(project: Project, out: Path, entries: Sequence[Submission], grader: Grader) -> list[Made]:
    """Execute the commands of these submissions that have no evidence, and write a bundle of each below `out`."""
    subjects = {each.slug: submitted_subjects(grader.suite, each) for each in entries}
    findings = grader.grade(subject for each in subjects.values() for subject in each)
    grader.ensure_evidence(
        subject for each in subjects.values() for subject in each
    )  # a verdict may outlive its evidence
    needed = RequiredRuns(project, grader.suite, grader.fingerprint)
    made = []
    for each in entries:
        failed = {subject for subject in subjects[each.slug] if findings[subject].outcome is Outcome.INFRA_ERROR}
        made.append(_write(grader, out, each.slug, needed.of(each), len(failed)))
    return made


def _graded(
    project: Project, progress: Progress, suite: Suite, workers: int | None, work: Callable[[Grader], Result]
) -> Result:
    """Return the result of `work` with a suite's grader. Try again if a rebuilt image contains other packages."""
    try:
        with open_grader(project, suite, progress, workers=workers) as grader:
            return work(grader)
    except BaseChangedError:
        with open_grader(project, suite, progress, workers=workers) as grader:
            return work(grader)


def _write(grader: Grader, out: Path, slug: str | None, runs: Iterable[RunKey], missing: int) -> Made:
    suite = grader.suite.manifest.name
    bundle = export_bundle(grader.store, runs, suite=suite, fingerprint=grader.fingerprint, submission=slug)
    kept, left_out = drop_to_limit(bundle)
    data = write_bundle(kept)
    path = out / bundle_path(suite, slug)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror or error}") from error
    digest = hashlib.sha256(data).hexdigest()
    return Made(path, suite, slug, digest, len(kept.evidence), left_out, missing)
