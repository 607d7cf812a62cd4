"""Write an edition of a suite: its public prompts, and its replacements, which stay with the maintainer.

The prompts are `fixtures/editions/<suite>@<edition>.jsonl`, for contributors. The replacements are in
`.bashboard/editions/`, which Git ignores. The seed is in neither file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.edition_prompts import edition_path
from evaluator.pipeline.submissions.repository import load_one
from evaluator.records import Candidate, Prediction, json_lines
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.names import EDITION_SIGN, is_slug
from evaluator.submissions.prompts import messages_of, prompt_line
from evaluator.suites.edition import Edition, make_edition

FOLDER: Final = "editions"


class WrittenEdition(NamedTuple):
    """The files of an edition, the numbers of replaced names and numbers, and the years by which dates moved."""

    prompts: Path
    replacements: Path
    names: int
    numbers: int
    years: int


def read_seed(seed: str | None, file: Path | None) -> str:
    """Return the seed from the command line or from a file. Raises UsageError unless there is exactly one."""
    if (seed is None) is (file is None):
        raise UsageError("expected either --seed or --seed-file")
    if seed is not None:
        return seed
    assert file is not None  # noqa: S101 - checked above
    try:
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--seed-file {file}: cannot be read as ASCII text: {error}") from error


def edition_of(project: Project, suite: str, seed: str) -> Edition:
    """Return the edition of a suite with this seed. Raises UsageError for an external suite."""
    loaded = project.suite(suite)
    if loaded.manifest.foreign:
        raise UsageError(f"suite {suite} is of another publisher: only a suite of this project has editions")
    return make_edition(loaded, seed)


def write_edition(project: Project, suite: str, name: str, seed: str) -> WrittenEdition:
    """Write the prompts and the replacements of an edition.

    Raises UsageError for a name that is no slug, and for a name whose prompts exist with other instructions.
    """
    if not is_slug(name):
        raise UsageError(f"--name {name!r}: expected lower-case letters, digits and inner dashes")
    edition = edition_of(project, suite, seed)
    prompts, private = edition_path(project, suite, name), private_folder(project) / f"{suite}{EDITION_SIGN}{name}.json"
    text = edition_prompts(edition, project.settings.limits)
    if prompts.is_file() and prompts.read_text("utf-8") != text:
        raise UsageError(f"{prompts} has other instructions: expected another name, or the same seed and suite version")
    replacements = {world: words.replacements for world, words in edition.words.items()}
    facts = {"suite": suite, "version": edition.suite.manifest.version, "worlds": replacements}
    for path, data in ((prompts, text), (private, json.dumps(facts, indent=1, sort_keys=True) + "\n")):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data.encode())
    words = edition.words.values()
    years = next((own.years for own in words), 0)
    return WrittenEdition(
        prompts, private, sum(len(own.names) for own in words), sum(len(own.numbers) for own in words), years
    )


def translate_submission(project: Project, suite: str, name: str, seed: str, slug: str) -> Path:
    """Write the answers of a control in the words of an edition, and return the path of the file.

    The file is in `.bashboard/editions/` and never published, because it holds words of the edition.
    """
    edition, submission = edition_of(project, suite, seed), load_one(project, slug)
    if suite not in submission.manifest.suites:
        raise UsageError(f"{slug} does not answer suite {suite}")
    predictions = []
    for task in project.suite(suite).tasks:
        candidates = submission.candidates(suite, task.id)
        if candidates:
            words = (edition.translate(task, candidate.command) for candidate in candidates)
            translated = tuple(
                Candidate(command=command, confidence=candidate.confidence)
                for command, candidate in zip(words, candidates, strict=True)
            )
            predictions.append(Prediction(task=task.id, candidates=translated))
    path = private_folder(project) / slug / f"{suite}{EDITION_SIGN}{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json_lines(predictions).encode())
    return path


def private_folder(project: Project) -> Path:
    """Return the folder for what a maintainer keeps about editions. Git ignores it."""
    return project.store_path.parent / FOLDER


def edition_prompts(edition: Edition, limits: SubmissionLimits) -> str:
    """Return the content of an edition's public file: one prompt a line."""
    suite = edition.suite
    return "".join(
        prompt_line(task.id, messages_of(suite.manifest, suite.worlds[task.world].manifest, task, limits.command_bytes))
        + "\n"
        for task in suite.tasks
    )
