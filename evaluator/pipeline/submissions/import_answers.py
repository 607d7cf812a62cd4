"""Import the answers that another publisher recorded of systems as local submissions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.pipeline.project import Project
from evaluator.submissions.importers import ANSWER_IMPORTERS
from evaluator.submissions.importers.imported_system import (
    AnswerImporter,
    AnswerSource,
    local_slug,
    submission_files,
)
from evaluator.submissions.names import MANIFEST_NAME
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import load_submission
from evaluator.suites.load import Suite


@dataclass(frozen=True, slots=True)
class ImportedAnswers:
    """One imported submission: its slug, its system, the suite, and the number of answered tasks of that suite."""

    slug: str
    system: str
    suite: str
    answered: int
    tasks: int


def import_answers(
    project: Project, name: str, clone: Path, *, strategies: Sequence[str] = (), turn: int = 1
) -> list[ImportedAnswers]:
    """Write a local submission for each system of a publication, and return a summary of each submission.

    A submission of an earlier import is replaced. Either all submissions are written or none. Raises UsageError if the
    publication is unknown, its suite is not imported, the clone is the wrong one, or a folder is not from an import.
    Raises FormatError with every unreadable entry.
    """
    importer, suite, source = answer_source(project, name, clone, strategies=strategies, turn=turn)
    systems = importer.read(source)
    version = suite.manifest.version
    files = {
        local_slug(importer.publication, each): submission_files(importer.publication, each, version)
        for each in systems
    }
    _refuse_to_replace(project, files, importer.publication.link)
    _write(project, suite, files)
    return [
        ImportedAnswers(
            local_slug(importer.publication, each),
            each.system,
            suite.manifest.name,
            sum(bool(commands) for commands in each.answers.values()),
            len(suite.tasks),
        )
        for each in systems
    ]


def answer_source(
    project: Project, name: str, clone: Path, *, strategies: Sequence[str] = (), turn: int = 1
) -> tuple[AnswerImporter, Suite, AnswerSource]:
    """Return a publication's importer, the suite that its systems answered, and the importer's input."""
    if name not in ANSWER_IMPORTERS:
        raise UsageError(f"no published answers are named {name!r}; there are: {', '.join(ANSWER_IMPORTERS)}")
    if not clone.is_dir():
        raise UsageError(f"{clone}: expected the folder of a clone, found no folder")
    importer = ANSWER_IMPORTERS[name]
    needed = importer.publication.suite
    if not project.is_fetched(needed):
        raise UsageError(f"the suite {needed} is not on this machine; type: bashboard suite add {needed}")
    suite = project.suite(needed)
    return importer, suite, AnswerSource(clone, suite.tasks, project.settings.limits, strategies, turn)


def _refuse_to_replace(project: Project, slugs: Iterable[str], link: str) -> None:
    """Raise UsageError if a folder with one of these names is not from an earlier import of the publication."""
    for slug in slugs:
        folder = project.root / "submissions" / slug
        manifest = folder / MANIFEST_NAME
        if folder.exists() and not (manifest.is_file() and link in manifest.read_text("utf-8", "replace")):
            raise UsageError(f"{folder} is no import of {link}: move it away, because the import would replace it")


def _write(project: Project, suite: Suite, submissions: Mapping[str, Mapping[str, bytes]]) -> None:
    """Write the files of all submissions beside their places, check them, and then move them to their places."""
    folder = project.root / "submissions"
    folder.mkdir(exist_ok=True)
    infos = {suite.manifest.name: SuiteInfo.of(suite.manifest, suite.tasks)}
    with tempfile.TemporaryDirectory(prefix=".import.", dir=project.root) as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        for slug, files in submissions.items():
            (new / slug).mkdir(parents=True)
            for name, data in files.items():
                (new / slug / name).write_bytes(data)
            load_submission(new / slug, infos, project.settings.limits)
        old.mkdir()
        for slug in submissions:
            if (folder / slug).exists():
                (folder / slug).rename(old / slug)
            shutil.move(new / slug, folder / slug)
