"""Evidence made and put into bundles: of a suite's references, or of one submission each.

What is missing is executed as grading executes it: references twice, a candidate once more where it does not pass. So
a submission's bundle holds what its verdicts follow from, and nothing of a reference's.

Shares of the work, so that several machines do all of it between them.
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
    """The `number`-th of `shards` parts, from 1 on."""

    number: int
    shards: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """What `2/5` means. Raises UsageError."""
        found = _FORM.fullmatch(text)
        number, shards = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= shards:
            raise UsageError(f"--shard {text}: expected i/n with i from 1 to n, such as 2/5")
        return cls(number, shards)

    def of(self, slugs: Iterable[str]) -> list[str]:
        """This part of the names, sorted. For the same names the parts have no name in common and leave none out."""
        return sorted(set(slugs))[self.number - 1 :: self.shards]


ANNOUNCED: Final = "evidence"
"""Title of the notices by which a job says what it made."""

Result = TypeVar("Result")


class Made(NamedTuple):
    """A bundle that was written: `runs` in it, `left_out` for want of room, `missing` for a failure of ours."""

    path: Path
    suite: str
    submission: str | None
    sha256: str
    runs: int
    left_out: int
    missing: int

    @property
    def announcement(self) -> str:
        """The line by which a job of GitHub says what it made."""
        return notice(ANNOUNCED, f"{self.submission or 'references'} {self.suite} {self.sha256}")


def share_of(project: Project, slugs: Sequence[str], shard: str | None) -> list[str]:
    """The submissions named, or all sound ones; of them the part that `shard` (such as `2/5`) names.

    Raises UsageError.
    """
    chosen = list(slugs) or [each.slug for each in load_sound(project).submissions]
    return Shard.parse(shard).of(chosen) if shard else chosen


def make_references(
    project: Project, progress: Progress, out: Path, suites: Sequence[str] = (), workers: int | None = None
) -> list[Made]:
    """Write the references' bundles of the suites named, or of all on the board, below `out`."""
    _begin(out)
    chosen = [project.suite(name) for name in suites] or suites_on_board(project, load_sound(project).submissions)

    return [_graded(project, progress, suite, workers, partial(write_references, project, out)) for suite in chosen]


def _begin(out: Path) -> None:
    """See to it that there is a folder, though nothing may come into it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from error


def write_references(project: Project, out: Path, grader: Grader) -> Made:
    """Execute what the references of the grader's suite lack, and write their bundle below `out`."""
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

    With `suites` only these. Raises FormatError for a submission that breaks its format.
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
    """Execute what these submissions lack on the grader's suite, and write a bundle of each below `out`."""
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
    """What is done with a suite's grader; done again where its image had to be built and brought other packages."""
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
