"""Produce evidence and write it as bundles: one for a suite's references, or one for each submission.

A reference is executed twice in every variant, also in the fresh variants of the submissions that are due, so that no
reference runs in a job that executes a submission. A candidate is executed as in grading: in one variant after another,
until its verdict is decided. A candidate behind one that passes is not executed. A submission's bundle holds all
evidence for its verdicts except that of references. It lacks only runs behind a variant that decided.

Several machines can share the work. Each machine then executes one shard, which is a part of the submissions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from evaluator.errors import BashboardError, FormatError, InfraError, MissingError, UsageError
from evaluator.files import write_whole
from evaluator.github.actions import notice
from evaluator.pipeline.evidence.bundle import bundle_path, drop_to_limit, export_bundle, write_bundle
from evaluator.pipeline.evidence.required_runs import RequiredRuns, reference_items, submitted_chains
from evaluator.pipeline.grading.executor import BaseChangedError, open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.results import final_findings
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import asked_suites, choose_suites, one_line
from evaluator.pipeline.submissions.repository import Loaded, load_sound
from evaluator.progress import Progress
from evaluator.records import Outcome
from evaluator.store import RunKey, store_in_use
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

NOTICE_TITLE: Final = "evidence"
"""The title of the notices that announce a job's bundles."""

_SHARD: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")

Result = TypeVar("Result")


class Shard(NamedTuple):
    """One of `shards` equal parts of a list of submissions. `number` is the part's number, counted from 1."""

    number: int
    shards: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a shard such as `2/5`, the second of five parts. Raises UsageError for any other text."""
        match = _SHARD.fullmatch(text)
        number, shards = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= shards:
            raise UsageError(f"--shard {text}: expected i/n with i from 1 to n, such as 2/5")
        return cls(number, shards)

    def of(self, slugs: Iterable[str]) -> list[str]:
        """Return the submissions of this part, sorted by name. Each submission is in exactly one part."""
        return sorted(set(slugs))[self.number - 1 :: self.shards]


class WrittenBundle(NamedTuple):
    """A bundle that was written, with the evidence of `runs` runs.

    `left_out` counts runs whose evidence was too large for the bundle. `missing` counts failures: runs of references
    without evidence, or answers with an infra-error.
    """

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
        return notice(NOTICE_TITLE, f"{self.submission or 'references'} {self.suite} {self.sha256}")


class MadeBundles(NamedTuple):
    """The bundles that were written. `troubles` maps each suite that is left out to the reason."""

    bundles: list[WrittenBundle]
    troubles: dict[str, str]


def share_of(project: Project, slugs: Sequence[str], shard: str | None) -> list[str]:
    """Return the names of the given submissions, or of all valid submissions if none is given.

    With `shard`, such as `2/5`, return only this part of the names. Raises UsageError for an invalid shard.
    """
    chosen = list(slugs) or [submission.slug for submission in load_sound(project).submissions]
    return Shard.parse(shard).of(chosen) if shard else chosen


def make_references(
    project: Project,
    progress: Progress,
    out: Path,
    suites: Sequence[str] = (),
    workers: int | None = None,
    due: Sequence[str] = (),
) -> MadeBundles:
    """Write a bundle of references below `out` for each named suite, or for each suite on the board.

    A bundle includes the references in the fresh variants of the submissions `due` that answer the suite. A suite in
    trouble is left out. Raises the suite's error if no bundle can be written.
    """
    _create_folder(out)
    with store_in_use(project.store_path):
        submissions = load_sound(project).submissions
        chosen = choose_suites(project, suites, submissions)
        asked = [submission for submission in submissions if submission.slug in due]

        def write(suite: Suite) -> list[WrittenBundle]:
            answering = [submission for submission in asked if suite.manifest.name in submission.manifest.suites]
            work = partial(write_references, project, out, answering)
            return [with_grader(project, progress, suite, workers, work)]

        return _write_each(chosen.suites, chosen.unavailable, write)


def _write_each(
    suites: Iterable[Suite], unavailable: Mapping[str, str], write: Callable[[Suite], Iterable[WrittenBundle]]
) -> MadeBundles:
    """Call `write` for each suite. If it raises an error for a suite, go on with the next one.

    Raises the first error if no bundle was written.
    """
    made = MadeBundles([], dict(unavailable))
    errors: list[BashboardError] = []
    for suite in suites:
        try:
            made.bundles.extend(write(suite))
        except (InfraError, MissingError, FormatError) as error:
            made.troubles[suite.manifest.name] = one_line(error)
            errors.append(error)
    if errors and not made.bundles:
        raise errors[0]
    return made


def _create_folder(out: Path) -> None:
    """Create the folder for bundles, so that it exists even if no bundle is written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from error


def write_references(project: Project, out: Path, submissions: Sequence[Submission], grader: Grader) -> WrittenBundle:
    """Execute the suite's references that have no evidence, and write a bundle of all references below `out`.

    The bundle includes the references in the fresh variants of `submissions`.
    """
    grader.ensure_evidence(reference_items(grader.suite, submissions))
    required = RequiredRuns(project, grader.suite, grader.fingerprint)
    runs = required.references.union(*map(required.fresh_references, submissions))
    missing = len(runs - grader.store.known_runs({key for key, _ in runs}))
    return _write(grader, out, None, runs, missing)


def make_submissions(
    project: Project,
    progress: Progress,
    out: Path,
    slugs: Sequence[str],
    suites: Sequence[str] = (),
    workers: int | None = None,
) -> MadeBundles:
    """Write the bundles of the named submissions below `out`: one for each suite that a submission answers.

    With `suites`, write only the bundles of these suites. A suite in trouble is left out. Raises the suite's error if
    no bundle can be written, and FormatError for a submission that breaks its format.
    """
    _create_folder(out)
    with store_in_use(project.store_path):
        loaded = load_sound(project, slugs) if slugs else Loaded((), {})
        if loaded.broken:
            raise FormatError([problem for problems in loaded.broken.values() for problem in problems])
        answered = asked_suites((), slugs, loaded.submissions)
        chosen = choose_suites(project, suites, loaded.submissions)

        def write(suite: Suite) -> list[WrittenBundle]:
            answering = [entry for entry in loaded.submissions if suite.manifest.name in entry.manifest.suites]
            return with_grader(project, progress, suite, workers, partial(write_submissions, project, out, answering))

        unavailable = {name: reason for name, reason in chosen.unavailable.items() if name in answered}
        return _write_each((each for each in chosen.suites if each.manifest.name in answered), unavailable, write)


def write_submissions(
    project: Project, out: Path, submissions: Sequence[Submission], grader: Grader
) -> list[WrittenBundle]:
    """Execute the submissions' commands that have no evidence, and write one bundle per submission below `out`."""
    chains = {submission.slug: submitted_chains(grader.suite, submission) for submission in submissions}
    findings = grader.grade_chains(chain.from_iterable(chains.values()))
    grader.ensure_cases(findings)
    required = RequiredRuns(project, grader.suite, grader.fingerprint)
    bundles = []
    for submission in submissions:
        final = {item: each for own in chains[submission.slug] for item, each in final_findings(own, findings).items()}
        executed = [item for item, finding in final.items() if finding.outcome is not Outcome.NOT_RUN]
        failed = sum(final[item].outcome is Outcome.INFRA_ERROR for item in executed)
        bundles.append(_write(grader, out, submission.slug, required.of(submission, executed), failed))
    return bundles


def with_grader(
    project: Project, progress: Progress, suite: Suite, workers: int | None, work: Callable[[Grader], Result]
) -> Result:
    """Call `work` with a grader of a suite, and return the result of the call.

    If the suite's image was rebuilt with other packages, repeat the call with a new grader.
    """
    try:
        with open_grader(project, suite, progress, workers=workers) as grader:
            return work(grader)
    except BaseChangedError:
        with open_grader(project, suite, progress, workers=workers) as grader:
            return work(grader)


def _write(grader: Grader, out: Path, slug: str | None, runs: Iterable[RunKey], missing: int) -> WrittenBundle:
    suite = grader.suite.manifest.name
    bundle = export_bundle(grader.store, runs, suite=suite, fingerprint=grader.fingerprint, submission=slug)
    bundle, left_out = drop_to_limit(bundle)
    data = write_bundle(bundle)
    path = out / bundle_path(suite, slug)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror or error}") from error
    digest = hashlib.sha256(data).hexdigest()
    return WrittenBundle(path, suite, slug, digest, len(bundle.evidence), left_out, missing)
