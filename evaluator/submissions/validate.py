"""This module checks a complete submission folder. It returns all problems, and the submission if there are no errors.

The check and `load_submission` share one implementation, so every submission that passes the check can be scored. The
result holds the metadata of the submission, and its predictions by suite and task.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evaluator.errors import FormatError, Problem, Severity
from evaluator.escaping import printable
from evaluator.records import Candidate, Extraction, Method, Prediction, SubmissionManifest
from evaluator.submissions.folder import EntryKind, FolderEntry, OpenFolder, kind_of, names_beside, open_folder
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.manifest import check_manifest
from evaluator.submissions.messages import listed, quoted
from evaluator.submissions.names import CONTROLS, EDITION_SIGN, MANIFEST_NAME, entry_problems, slug_faults, suite_of
from evaluator.submissions.parsing.toml_lines import line_of, toml_lines
from evaluator.submissions.predictions import check_predictions
from evaluator.submissions.problems import ProblemCollector
from evaluator.submissions.suite_info import SuiteInfo

_DEFAULT_LIMITS = SubmissionLimits()


class CheckedSubmission(NamedTuple):
    """The result of a submission's check. `manifest` is None if submission.toml is unreadable."""

    problems: list[Problem]
    slug: str
    manifest: SubmissionManifest | None
    predictions: dict[str, dict[str, Prediction]]

    @property
    def refused(self) -> bool:
        """Return whether any problem is an error."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def check_submission(
    folder: Path, suites: Mapping[str, SuiteInfo | None], limits: SubmissionLimits = _DEFAULT_LIMITS
) -> list[Problem]:
    """Return every problem in a submission's folder. If no problem is an error, the submission can be scored.

    `suites` are the known suites by name. Answers to a suite that is None are not compared with the suite. Raises
    UsageError if nothing exists at `folder`.
    """
    return check(folder, suites, limits).problems


def check(
    folder: Path, suites: Mapping[str, SuiteInfo | None], limits: SubmissionLimits, *, warns: bool = True
) -> CheckedSubmission:
    """Read and check a submission's folder. Errors come first. Raises UsageError if nothing exists at `folder`.

    With `warns` false, the commands are not searched for content that may be unintended.
    """
    kind = kind_of(folder)
    absolute = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
    if absolute.name != printable(absolute.name):
        problems = [Problem(folder.parent, 0, fault) for fault in slug_faults(absolute.name, ())]
        return CheckedSubmission(problems, absolute.name, None, {})
    folder_report = ProblemCollector(folder, limits.problems)
    if kind is not EntryKind.FOLDER:
        folder_report.error(0, f"{kind}: expected a submission's folder")
        return CheckedSubmission(folder_report.problems(), absolute.name, None, {})
    try:
        for fault in slug_faults(absolute.name, names_beside(absolute)):
            folder_report.error(0, fault)
        with open_folder(folder, limits.entries) as opened:
            return _FolderCheck(folder, opened, suites, limits, warns=warns).check(absolute.name, folder_report)
    except OSError as error:
        folder_report.error(0, f"cannot be read: {error.strerror}")
        return CheckedSubmission(folder_report.problems(), absolute.name, None, {})


class _FolderCheck:
    """The check of one submission's open folder."""

    def __init__(
        self,
        folder: Path,
        opened: OpenFolder,
        suites: Mapping[str, SuiteInfo | None],
        limits: SubmissionLimits,
        *,
        warns: bool,
    ) -> None:
        self._folder = folder
        self._opened = opened
        self._suites = suites
        self._limits = limits
        self._warns = warns
        self._files = {entry.name: entry for entry in opened.entries if entry.kind is EntryKind.FILE}
        self._reports: list[ProblemCollector] = []

    def check(self, slug: str, folder_report: ProblemCollector) -> CheckedSubmission:
        """Check all files of the folder, first submission.toml, because it declares how to read the others."""
        if self._opened.overfull:
            folder_report.error(0, f"more than {self._limits.entries} names in this folder: the rest is not checked")
        if all(entry.name != MANIFEST_NAME for entry in self._opened.entries):
            folder_report.error(0, f"no {MANIFEST_NAME}: expected one with the metadata of the submission")
        answered = {suite: entry for entry in self._files.values() if (suite := suite_of(entry.name))}
        manifest = self._manifest(slug, answered)
        predictions = {suite: self._predictions(suite, entry, manifest) for suite, entry in answered.items()}
        problems = folder_report.problems() + entry_problems(self._folder, self._opened.entries, self._suites)
        problems += [problem for report in self._reports for problem in report.problems()]
        problems.sort(key=lambda problem: problem.severity is Severity.WARNING)
        return CheckedSubmission(problems, slug, manifest, predictions)

    def _manifest(self, slug: str, answered: Mapping[str, FolderEntry]) -> SubmissionManifest | None:
        entry = self._files.get(MANIFEST_NAME)
        if entry is None:
            return None
        report, data = self._read(entry, self._limits.manifest_bytes)
        if data is None:
            return None
        manifest = check_manifest(data, report, self._limits, self._suites, answered)
        if manifest is not None and manifest.method is Method.CONTROL and slug not in CONTROLS:
            others = ", ".join(method.value for method in Method if method is not Method.CONTROL)
            line = line_of(("method",), toml_lines(data.decode(errors="replace")))
            report.error(line, f"method 'control' is for what tests the board itself: expected one of {others}")
        return manifest

    def _predictions(
        self, answered: str, entry: FolderEntry, manifest: SubmissionManifest | None
    ) -> dict[str, Prediction]:
        """Check a file with answers to a suite or to an edition of a suite, such as `core@autumn`."""
        suite, _, edition = answered.partition(EDITION_SIGN)
        report, data = self._read(entry, self._limits.file_bytes)
        if manifest is not None and suite not in manifest.suites:
            report.error(0, f"suite {suite} is not listed in {MANIFEST_NAME}: add it under [suites], or remove this")
        if data is None:
            return {}
        version = manifest.suites.get(suite) if manifest else None
        extraction = manifest.extraction if manifest else Extraction.MARKDOWN
        info = self._suites.get(suite)
        if edition and info is not None:
            version, suite_editions = info.version, info.editions
            info = info.of_edition(edition)
            if info is None:
                report.error(0, _unknown_edition(suite, edition, suite_editions))
        return check_predictions(data, report, self._limits, info, version, extraction)

    def _read(self, entry: FolderEntry, most: int) -> tuple[ProblemCollector, bytes | None]:
        report = ProblemCollector(self._folder / entry.name, self._limits.problems, warns=self._warns)
        self._reports.append(report)
        if entry.size > most:
            report.error(0, f"{entry.size:,} bytes: expected at most {most:,}; it is not read")
            return report, None
        try:
            return report, self._opened.read(entry, most)
        except OSError as error:
            report.error(0, f"cannot be read: {error.strerror or error}")
            return report, None


def _unknown_edition(suite: str, edition: str, editions: Collection[str]) -> str:
    known = f"; known here: {listed(editions)}" if editions else ", which has no editions"
    return f"unknown edition {quoted(edition)} of suite {suite}{known}; rename the file, or remove it"


@dataclass(frozen=True, slots=True)
class Submission:
    """A system's predictions, and the metadata of submission.toml. Predictions are grouped by suite and task.

    Answers to an edition of a suite are grouped under a name such as `core@autumn`.

    Every prediction has `candidates`: the command has already been extracted from raw model text. Only tasks of the
    current version of a suite are included.

    `origin` is the commit with which the files of the submission were last changed on the main branch, or empty if
    there is no such commit. It decides the seed of fresh variants.
    """

    slug: str
    manifest: SubmissionManifest
    predictions: Mapping[str, Mapping[str, Prediction]]
    origin: str = ""

    def candidates(self, suite: str, task: str) -> tuple[Candidate, ...]:
        """Return the candidates for a task, best first. An unanswered task has no candidates."""
        prediction = self.predictions.get(suite, {}).get(task)
        return (prediction.candidates or ()) if prediction else ()


def load_submission(
    folder: Path, suites: Mapping[str, SuiteInfo | None], limits: SubmissionLimits = _DEFAULT_LIMITS
) -> Submission:
    """Read a submission's folder. `suites` are the known suites by name.

    Raises FormatError with all errors if the submission has any, and UsageError if nothing exists at `folder`.
    """
    checked = check(folder, suites, limits, warns=False)
    if checked.refused or checked.manifest is None:
        raise FormatError([problem for problem in checked.problems if problem.severity is Severity.ERROR])
    return Submission(checked.slug, checked.manifest, checked.predictions)
