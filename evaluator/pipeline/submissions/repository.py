"""Load and check the submissions of a checkout, list those that a pull request changes, and write the baselines.

A contributor may choose any bytes for a file name. So Git lists file names separated by NUL. No symbolic link is
followed.

The baselines are imported inside the functions that use them, because they import scikit-learn, which takes long.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.errors import BashboardError, FormatError, Problem, Severity, UsageError
from evaluator.escaping import printable
from evaluator.files import write_whole
from evaluator.github.actions import annotation
from evaluator.pipeline.git import resolve_commit, run_git
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.edition_prompts import edition_instructions
from evaluator.pipeline.submissions.origins import held_submissions, with_origins
from evaluator.pipeline.submissions.quarantine_list import quarantined
from evaluator.records import ExternalSuite
from evaluator.submissions.names import OWNERS, QUARANTINE, VERDICTS, is_slug
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import Submission, check_submission, load_submission
from evaluator.suites.declarations import read_index
from evaluator.suites.load import Suite
from evaluator.suites.questioned_references import RETIRED, overrides_path, raised_versions, read_retirements
from evaluator.wording import name_hint

if TYPE_CHECKING:
    from evaluator.submissions.baselines import Baseline

_FOLDER: Final = "submissions"


@dataclass(frozen=True, slots=True)
class ChangedSubmissions:
    """The changed submissions: the folders that still exist, and the slugs of removed submissions.

    A file directly in `submissions/` is also listed with the folders, so that the check reports it as invalid.
    """

    there: tuple[Path, ...]
    withdrawn: tuple[str, ...]


def changed_submissions(project: Project, since: str) -> ChangedSubmissions:
    """Return the submissions with files that differ from the commit `since`, including files that Git does not track.

    Files that the publish workflow writes are ignored. Raises UsageError if `since` is not a commit of this checkout.
    """
    commit = resolve_commit(project.root, since)
    pathspec = ("-z", "--", _FOLDER)
    paths = run_git(project.root, "diff", "--name-only", "--no-renames", commit, *pathspec) or b""
    paths += run_git(project.root, "ls-files", "--others", "--exclude-standard", *pathspec) or b""
    names = sorted({name for path in paths.split(b"\0") if (name := _submission(path))})
    folders = [project.root / _FOLDER / os.fsdecode(name) for name in names]
    existing = tuple(folder for folder in folders if os.path.lexists(folder))
    withdrawn = tuple(folder.name for folder in folders if folder not in existing and is_slug(folder.name))
    return ChangedSubmissions(existing, withdrawn)


def _submission(path: bytes) -> bytes | None:
    """Return the name of the submission folder that contains a path. Return None for generated and other files."""
    _, _, relative = path.partition(b"/")
    folder, _, name = relative.partition(b"/")
    is_generated = relative in (OWNERS.encode(), QUARANTINE.encode()) or name.endswith(VERDICTS.encode())
    return None if is_generated else folder or None


_VARIED: Final = "tfidf-retrieval"


def suite_info(project: Project, name: str) -> SuiteInfo:
    """Return the information on a suite that a check of a submission needs. Raises UsageError for an unknown name.

    The information on an external suite comes from its index, so a check says the same before and after its import.
    """
    declared = project.external_suites().get(name)
    if declared is None:
        suite = project.suite(name)
        return SuiteInfo.of(
            suite.manifest, suite.tasks, edition_instructions(project, name), _moved_tasks(project, suite)
        )
    tasks = tuple(line.task for line in read_index(project.fixtures, name) if line.left_out is None)
    made = (line.version for _, line in read_retirements(overrides_path(project.fixtures / name, RETIRED)))
    version, *earlier = raised_versions((declared.version, *declared.earlier_versions), made)
    return SuiteInfo(version, tasks, tuple(earlier))


def _moved_tasks(project: Project, suite: Suite) -> dict[str, str]:
    """Map the tasks that a suite lost to the suites that have them now. Suites that cannot be loaded are left out."""
    moved: dict[str, str] = {}
    for name in suite.manifest.moved:
        with suppress(BashboardError):
            moved |= {task.id: name for task in project.suite(name).tasks}
    return moved


def _suite_infos(project: Project) -> Mapping[str, SuiteInfo]:
    """Return the information on every suite that a submission may answer."""
    return {name: suite_info(project, name) for name in project.answerable_suites()}


def load_submissions(project: Project, slugs: Sequence[str] = ()) -> list[Submission]:
    """Load the named submissions, or all if none is named. Raises FormatError for the first invalid submission.

    Submissions in quarantine and those that the final phase holds are left out. Raises UsageError if one of them is
    named.
    """
    folders = scored_folders(project, slugs, held_submissions(project))
    infos = tolerant_infos(project)
    return with_origins(project, [load_submission(folder, infos, project.settings.limits) for folder in folders])


def tolerant_infos(project: Project) -> Mapping[str, SuiteInfo | None]:
    """Return the information on every suite that a submission may answer, or None for a suite that cannot be read."""
    return _TolerantInfos(project)


class _TolerantInfos(Mapping[str, SuiteInfo | None]):
    """The information on every suite that a submission may answer. A suite is read when its information is needed."""

    def __init__(self, project: Project) -> None:
        self._project, self._names = project, project.answerable_suites()
        self._read: dict[str, SuiteInfo | None] = {}

    def __getitem__(self, name: str) -> SuiteInfo | None:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            try:
                self._read[name] = suite_info(self._project, name)
            except BashboardError:
                self._read[name] = None
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def load_one(project: Project, slug: str) -> Submission:
    """Load one submission, even from quarantine. Raises UsageError if it is missing, FormatError if it is invalid."""
    loaded = load_submission(project.submission_folder(slug), tolerant_infos(project), project.settings.limits)
    return with_origins(project, [loaded])[0]


def scored_folders(project: Project, slugs: Sequence[str], held: Collection[str]) -> list[Path]:
    """Return the folders of the named submissions, or all that are neither in quarantine nor held if none is named."""
    excluded = quarantined(project)
    for slug in slugs:
        if slug in excluded:
            raise UsageError(f"{slug!r} is in quarantine; to score it again, run: bashboard quarantine {slug} --lift")
        if slug in held:
            raise UsageError(f"{slug!r} is held by the final phase: {held_until(project)}")
    folders = [project.submission_folder(slug) for slug in slugs] or project.submission_folders()
    return [folder for folder in folders if folder.name not in excluded and folder.name not in held]


def held_until(project: Project) -> str:
    """Return the sentence that says when the submissions of the final phase are scored, or nothing without a phase."""
    phase = project.settings.final
    return f"it is executed and scored after {phase.ends.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if phase else ""


class Loaded(NamedTuple):
    """The valid submissions, and a mapping from the slug of each invalid submission to its errors.

    `held` names the submissions that the final phase holds. They are not loaded.
    """

    submissions: tuple[Submission, ...]
    broken: Mapping[str, tuple[Problem, ...]]
    held: frozenset[str] = frozenset()


def load_sound(project: Project, slugs: Sequence[str] = ()) -> Loaded:
    """Load the named submissions, or all if none is named, and collect the errors of invalid submissions.

    Answers to a suite that cannot be loaded are not compared with it. Submissions in quarantine and those that the
    final phase holds are left out. Raises UsageError if a named submission does not exist, is in quarantine or is held.
    """
    held = held_submissions(project)
    folders = scored_folders(project, slugs, held)
    infos = tolerant_infos(project)
    submissions: list[Submission] = []
    broken: dict[str, tuple[Problem, ...]] = {}
    for folder in folders:
        try:
            submissions.append(load_submission(folder, infos, project.settings.limits))
        except FormatError as error:
            broken[folder.name] = error.problems
    return Loaded(tuple(with_origins(project, submissions)), broken, held)


def report_left_out(loaded: Loaded, say: Callable[[str], None]) -> None:
    """Report the held submissions, and each invalid one with its first error. The text is safe for a terminal."""
    if loaded.held:
        say(f"held until the final phase ends: {', '.join(sorted(loaded.held))}")
    for slug, problems in loaded.broken.items():
        say(f"left out, as it cannot be scored: {printable(slug)}: {printable(str(problems[0]))}")


def check_folders(project: Project, folders: Sequence[Path]) -> list[Problem]:
    """Return every problem in these submission folders, or in all folders of the repository if none is named.

    A folder may be named by the slug of its submission. Raises UsageError with similar slugs if there is none.
    """
    infos = _suite_infos(project)
    selected = [_named_folder(project, folder) for folder in folders] or project.submission_folders()
    return [problem for folder in selected for problem in check_submission(folder, infos, project.settings.limits)]


def _named_folder(project: Project, folder: Path) -> Path:
    """Return an existing path as it is. A slug, or a path in the folder of submissions, must be a submission's."""
    inside = len(folder.parts) == 1 or folder.absolute().parent == project.root / _FOLDER
    return folder if os.path.lexists(folder) or not inside else project.submission_folder(folder.name)


def diff_annotations(problems: Sequence[Problem]) -> list[str]:
    """Return the workflow commands that make GitHub show problems on a pull request's diff, errors first.

    GitHub shows only ten errors and ten warnings per step, so the errors that block the submission come first.
    """
    ordered = sorted(problems, key=lambda problem: problem.severity is Severity.WARNING)
    return [annotation(problem) for problem in ordered]


def list_baselines() -> list[tuple[str, str]]:
    """Return the name and the description of every baseline."""
    from evaluator.submissions.baselines import BASELINES

    return [(name, baseline.description) for name, baseline in BASELINES.items()]


def _baseline_contents(project: Project, name: str, step: str | None) -> dict[Path, bytes]:
    """Generate a baseline's files and map each path to its bytes.

    Raises UsageError if there is no such baseline, or if the repository has none of the suites that it answers.
    """
    from evaluator.submissions.baselines import files_of, read_pairs

    slug, baseline = _baseline(name, step)
    answerable = project.answerable_suites()
    names = [name for name in baseline.suites if name in answerable] or baseline.suites[:1]
    suites = [(suite.manifest, suite.tasks) for suite in map(project.suite, names)]
    pairs = read_pairs((project.root / "fixtures" / "train" / "pairs.jsonl").read_bytes())
    folder = project.root / _FOLDER / slug
    files = files_of(baseline, suites, pairs)
    return {folder / file: data for file, data in files.items()}


def _baseline(name: str, step: str | None) -> tuple[str, Baseline]:
    """Return a baseline, or the variation `step` of the retrieval baseline, with the slug of its submission."""
    from evaluator.corpus.retrieval_variations import VARIATIONS, retrieval_variation, variation_slug
    from evaluator.submissions.baselines import BASELINES

    if name not in BASELINES:
        raise UsageError(f"no baseline is named {name!r}{name_hint(name, BASELINES, 'bashboard baseline')}")
    if step is None:
        return name, BASELINES[name]
    if name != _VARIED:
        raise UsageError(f"--step {step}: only {_VARIED} has steps")
    if step not in VARIATIONS:
        raise UsageError(f"--step {step}: expected one of {', '.join(VARIATIONS)}")
    return variation_slug(step), retrieval_variation(step)


def write_baseline(project: Project, name: str, step: str | None = None) -> list[Path]:
    """Write a baseline's files into its submission's folder and return the paths of the files.

    With a `step`, it is that variation of the retrieval baseline, in a folder that Git ignores.
    """
    contents = _baseline_contents(project, name, step)
    for path, data in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return list(contents)


def differing_files(project: Project, name: str, step: str | None = None) -> list[Path]:
    """Return the paths of a baseline's files that are missing or differ from newly generated files."""
    contents = _baseline_contents(project, name, step)
    return [path for path, data in contents.items() if not path.is_file() or path.read_bytes() != data]


def answered_suites(submissions: Iterable[Submission]) -> frozenset[str]:
    """Return the names of the suites that submissions answer."""
    return frozenset(name for submission in submissions for name in submission.manifest.suites)


def unfetched_suites(project: Project, submissions: Iterable[Submission]) -> dict[str, ExternalSuite]:
    """Return the external suites that submissions answer and that are not on this machine, by name."""
    declared = project.external_suites()
    answered = sorted(answered_suites(submissions) & declared.keys())
    return {name: declared[name] for name in answered if not project.is_fetched(name)}
