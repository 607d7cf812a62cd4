"""Submissions of a checkout: loading and checking them against its suites, and writing the baselines'.

The baselines are imported where they are used: they bring scikit-learn, which takes longer than scoring what
has not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import FormatError, Problem, Severity, UsageError
from evaluator.files import write_whole
from evaluator.github.actions import annotation
from evaluator.pipeline.project import Project
from evaluator.submissions.load import Submission, load_submission
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import check_submission

BASELINE_SUITE: Final = "core"
"""The suite that the baselines answer."""


def _suite_infos(project: Project) -> Mapping[str, SuiteInfo]:
    return {suite.manifest.name: SuiteInfo.of(suite.manifest, suite.tasks) for suite in project.suites()}


def load_submissions(project: Project, slugs: Sequence[str] = ()) -> list[Submission]:
    """The submissions named, or all of the repository. Raises FormatError with the problems of a broken one."""
    folders = [project.submission_folder(slug) for slug in slugs] or project.submission_folders()
    infos = _suite_infos(project)
    return [load_submission(folder, infos, project.settings.limits) for folder in folders]


class Loaded(NamedTuple):
    """Submissions that can be scored, and of the others the problems of severity error, by slug."""

    submissions: tuple[Submission, ...]
    broken: Mapping[str, tuple[Problem, ...]]


def load_sound(project: Project, slugs: Sequence[str] = ()) -> Loaded:
    """The submissions named, or all of the repository; a broken one keeps no other from its place.

    Raises UsageError for a name that is none.
    """
    folders = [project.submission_folder(slug) for slug in slugs] or project.submission_folders()
    infos = _suite_infos(project)
    found: list[Submission] = []
    broken: dict[str, tuple[Problem, ...]] = {}
    for folder in folders:
        try:
            found.append(load_submission(folder, infos, project.settings.limits))
        except FormatError as error:
            broken[folder.name] = error.problems
    return Loaded(tuple(found), broken)


def check_folders(project: Project, folders: Sequence[Path]) -> list[Problem]:
    """Every problem in these submission folders, or in all of the repository where none is named."""
    infos = _suite_infos(project)
    chosen = folders or project.submission_folders()
    return [problem for folder in chosen for problem in check_submission(folder, infos, project.settings.limits)]


def diff_annotations(problems: Sequence[Problem]) -> list[str]:
    """The lines that make GitHub show problems at their places on a pull request's diff, errors first.

    GitHub shows ten errors and ten warnings of a step, so what refuses the submission comes before the rest.
    """
    ordered = sorted(problems, key=lambda problem: problem.severity is Severity.WARNING)
    return [annotation(problem) for problem in ordered]


def list_baselines() -> list[tuple[str, str]]:
    """Name and description of every baseline."""
    from evaluator.submissions.baselines import BASELINES

    return [(name, baseline.description) for name, baseline in BASELINES.items()]


def _baseline_contents(project: Project, name: str) -> dict[Path, bytes]:
    """What a baseline's program makes, by the path it belongs at. Raises UsageError that lists the names."""
    from evaluator.submissions.baselines import BASELINES, baseline_files, read_pairs

    if name not in BASELINES:
        raise UsageError(f"no baseline is named {name!r}; there are: {', '.join(BASELINES)}")
    suite = project.suite(BASELINE_SUITE)
    pairs = read_pairs((project.root / "fixtures" / "train" / "pairs.jsonl").read_bytes())
    folder = project.root / "submissions" / name
    files = baseline_files(name, suite.manifest, suite.tasks, pairs)
    return {folder / file: data for file, data in files.items()}


def write_baseline(project: Project, name: str) -> list[Path]:
    """Write a baseline's files into its submission; their paths."""
    contents = _baseline_contents(project, name)
    for path, data in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return list(contents)


def differing_files(project: Project, name: str) -> list[Path]:
    """The files of a baseline's submission that are not what its program makes."""
    contents = _baseline_contents(project, name)
    return [path for path, data in contents.items() if not path.is_file() or path.read_bytes() != data]
