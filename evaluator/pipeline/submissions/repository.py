"""Submissions of a checkout: loading and checking them against its suites, and writing the baselines'.

The baselines are imported where they are used: they bring scikit-learn, which takes longer than scoring what
has not changed.

Which submissions differ from an earlier commit: what a pull request's own run is about.

Git is asked, and its answer read as data: names are bytes of a stranger's that end at NUL, and none is ever followed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.errors import FormatError, Problem, Severity, UsageError
from evaluator.files import write_whole
from evaluator.github.actions import annotation
from evaluator.pipeline.git import ask_git, commit_named
from evaluator.pipeline.project import Project
from evaluator.submissions.names import OWNERS, VERDICTS, is_slug
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import Submission, check_submission, load_submission
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    pass


_FOLDER: Final = "submissions"


@dataclass(frozen=True, slots=True)
class Changed:
    """Folders below `submissions/` that differ: those that are `there`, and the slugs of those `withdrawn`.

    Whatever stands there counts as a folder, whatever its name, so that the check can say what is wrong with it.
    """

    there: tuple[Path, ...]
    withdrawn: tuple[str, ...]


def changed_submissions(project: Project, since: str) -> Changed:
    """The submissions whose files differ from the commit `since`, those that Git does not know yet among them.

    What the publish workflow writes is passed over. Raises UsageError where `since` is no commit here.
    """
    commit = commit_named(project.root, since)
    where = ("-z", "--", _FOLDER)
    listed = ask_git(project.root, "diff", "--name-only", "--no-renames", commit, *where) or b""
    listed += ask_git(project.root, "ls-files", "--others", "--exclude-standard", *where) or b""
    names = sorted({name for path in listed.split(b"\0") if (name := _submission(path))})
    folders = [project.root / _FOLDER / os.fsdecode(name) for name in names]
    there = tuple(folder for folder in folders if os.path.lexists(folder))
    return Changed(there, tuple(each.name for each in folders if each not in there and is_slug(each.name)))


def _submission(path: bytes) -> bytes | None:
    """The folder that a path is in; None for what is not a submission's."""
    _, _, below = path.partition(b"/")
    folder, _, name = below.partition(b"/")
    derived = below == OWNERS.encode() or name.endswith(VERDICTS.encode())
    return None if derived else folder or None


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


def suites_on_board(project: Project, submissions: Sequence[Submission]) -> list[Suite]:
    """The suites that have a board: ours, and of others' those that somebody here answers."""
    answered = {name for submission in submissions for name in submission.manifest.suites}
    return [suite for suite in project.suites() if not suite.manifest.foreign or suite.manifest.name in answered]
