"""Score submissions on a sealed edition of a suite, and keep nothing but counts.

An edition's references, worlds and seed are secret. So its commands run with a store of their own, in a folder that Git
ignores and that is removed at the end. Only the figures remain: for each submission and tier, the numbers of tasks
passed in both suites, in one of them, and in neither. The scoring of an edition asks no panel of models, because its
texts must not leave the machine, and it knows no rulings of maintainers, because rulings quote commands.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator.errors import InfraError, UsageError
from evaluator.metrics.paired import Counts
from evaluator.pipeline.boards.scored_boards import results_of
from evaluator.pipeline.boards.sealed_figures import answers_digest, differences, write_figures
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.maintenance.editions import edition_of, edition_prompts, private_folder
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.edition_prompts import edition_path
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress
from evaluator.records import (
    ALL_TIERS,
    EditionDifference,
    EditionFigures,
    EditionRow,
    Outcome,
    PairTally,
    Prediction,
    Result,
    SubmissionManifest,
)
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.names import EDITION_SIGN, PREDICTIONS
from evaluator.submissions.predictions import check_predictions
from evaluator.submissions.problems import ProblemCollector
from evaluator.submissions.validate import Submission
from evaluator.suites.edition import Edition
from evaluator.suites.load import Suite

SEALED: Final = "sealed-"
"""The beginning of the names of folders in which sealed commands run."""


@dataclass(frozen=True, slots=True)
class SealedScores:
    """The scores on an edition. `translated` are rows of controls in the edition's words, which are never published.

    `path` is the file with the figures, or None if no submission has answers to the edition.
    """

    published: tuple[EditionDifference, ...]
    translated: tuple[EditionDifference, ...]
    path: Path | None


def score_edition(
    project: Project,
    progress: Progress,
    suite: str,
    name: str,
    seed: str,
    *,
    submissions: Sequence[str] = (),
    judge: str | None = None,
    workers: int | None = None,
) -> SealedScores:
    """Score the answers to an edition and the same submissions' answers to the public suite, and write the figures.

    Answers of controls that `suite edition --translate` wrote are scored too, but their rows are only returned. Raises
    UsageError if the seed gives other prompts than the committed ones or if nothing answers the edition, and InfraError
    if an answer gets no verdict.
    """
    edition, public = edition_of(project, suite, seed), project.suite(suite)
    _expect_committed_prompts(project, edition, suite, name)
    answered = f"{suite}{EDITION_SIGN}{name}"
    loaded = [entry for entry in load_submissions(project, submissions) if suite in entry.manifest.suites]
    published = {entry.slug: entry.predictions[answered] for entry in loaded if answered in entry.predictions}
    controls = {
        entry.slug: found
        for entry in loaded
        if entry.slug not in published and (found := _translated(project, entry, answered, edition))
    }
    sealed = {**controls, **published}
    if not sealed:
        raise UsageError(f"no submission answers {answered}: expected submissions/<slug>/{answered}{PREDICTIONS}")
    asked = [entry for entry in loaded if entry.slug in sealed]
    with open_grader(project, public, progress, judge=judge, workers=workers) as grader:
        passed_public = _passes(results_of(public, asked, grader))
        judged_by = grader.judge.name, grader.judge.version
    asked = [_as_answers(entry, edition.suite, sealed[entry.slug]) for entry in asked]
    with (
        _sealed_store(project) as store,
        open_grader(
            project, edition.suite, progress, judge=judge, workers=workers, adjudicated=False, store_path=store
        ) as grader,
    ):
        passed_sealed = _passes(results_of(edition.suite, asked, grader))
    tallies = {slug: _tallies(public, passed_public[slug], passed_sealed[slug]) for slug in sorted(sealed)}
    figures = EditionFigures(
        suite=suite,
        edition=name,
        suite_version=public.manifest.version,
        judge=judged_by[0],
        judge_version=judged_by[1],
        rows=tuple(
            EditionRow(submission=slug, answers=answers_digest(project, slug, suite, name), tiers=tallies[slug])
            for slug in sorted(published)
        ),
    )
    return SealedScores(
        _differences(name, tallies, published),
        _differences(name, tallies, controls),
        write_figures(project, figures) if published else None,
    )


def _differences(
    edition: str, tallies: Mapping[str, Mapping[str, PairTally]], slugs: Collection[str]
) -> tuple[EditionDifference, ...]:
    own = ((slug, tiers) for slug, tiers in tallies.items() if slug in slugs)
    return tuple(row for slug, tiers in own for row in differences(edition, slug, tiers.items()))


def _expect_committed_prompts(project: Project, edition: Edition, suite: str, name: str) -> None:
    """Raise UsageError unless the seed gives the prompts that contributors answered."""
    path = edition_path(project, suite, name)
    if not path.is_file():
        raise UsageError(f"{path} does not exist: make it with bashboard suite edition {suite} --name {name}")
    if path.read_text("utf-8") != edition_prompts(edition, project.settings.limits):
        version = edition.suite.manifest.version
        raise UsageError(
            f"the seed gives other prompts than {path}: expected the seed of this edition, and the suite's version for "
            f"which it was made (this is {version})"
        )


def _translated(project: Project, submission: Submission, answered: str, edition: Edition) -> Mapping[str, Prediction]:
    """Return a control's answers in the words of the edition, or nothing if they were not translated."""
    path = private_folder(project) / submission.slug / f"{answered}{PREDICTIONS}"
    if not path.is_file():
        return {}
    limits = SubmissionLimits()
    report = ProblemCollector(path, limits.problems, warns=False)
    manifest = submission.manifest
    found = check_predictions(path.read_bytes(), report, limits, None, None, manifest.extraction)
    names = {task.id for task in edition.suite.tasks}
    return {task: prediction for task, prediction in found.items() if task in names}


def _as_answers(submission: Submission, suite: Suite, predictions: Mapping[str, Prediction]) -> Submission:
    """Return a submission that answers the edition as if it were its suite. It has no fresh variants."""
    name = suite.manifest.name
    fields = {**dict(submission.manifest), "suites": {name: suite.manifest.version}}
    manifest = SubmissionManifest.model_validate(fields)
    return replace(submission, manifest=manifest, predictions={name: predictions}, origin="")


@contextmanager
def _sealed_store(project: Project) -> Iterator[Path]:
    """Yield the path of a store that is removed at the end. Also remove the stores of killed runs."""
    folder = private_folder(project)
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{SEALED}*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=SEALED, dir=folder) as sealed:
        yield Path(sealed, "store.sqlite")


def _passes(results: Sequence[Result]) -> dict[str, dict[str, bool]]:
    """Return whether each submission's first candidate passes, by submission and task.

    Raises InfraError if an answer has no verdict. The message holds no text of a task, because the task may be sealed.
    """
    first = [result for result in results if result.rank == 1]
    missing = sum(result.finding.outcome is Outcome.INFRA_ERROR for result in first)
    if missing:
        raise InfraError(f"{missing} results are infra-errors, which are ours; no figures are written; run it again")
    passes: dict[str, dict[str, bool]] = {}
    for result in first:
        passes.setdefault(result.submission, {})[result.task] = result.finding.outcome is Outcome.PASS
    return passes


def _tallies(suite: Suite, public: Mapping[str, bool], sealed: Mapping[str, bool]) -> dict[str, PairTally]:
    """Count the tasks that were asked in both suites, over all tiers and for each tier."""
    counts: dict[str, Counts] = {ALL_TIERS: Counts()}
    for task in suite.tasks:
        if task.id not in public or task.id not in sealed:
            continue
        both = public[task.id], sealed[task.id]
        one = Counts(both == (True, True), both == (True, False), both == (False, True), both == (False, False))
        for key in (ALL_TIERS, *([task.tier.value] if task.tier else [])):
            counts[key] = Counts(*map(sum, zip(counts.get(key, Counts()), one, strict=True)))
    return {key: PairTally(**tally._asdict()) for key, tally in counts.items()}
