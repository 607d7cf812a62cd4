"""This module holds the answers of a system that another publisher recorded, and converts them to a submission.

Such a submission stays on this machine, because this project may not publish the answers. The name of its folder begins
with `local-`, and Git ignores folders with such names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.records import Author, Candidate, Method, Prediction, SubmissionManifest, Task, json_lines
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.manifest_text import manifest_toml
from evaluator.submissions.names import LOCAL_PREFIX, MANIFEST_NAME, PREDICTIONS


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication of systems' answers to the tasks of `suite`."""

    name: str
    suite: str
    authors: str
    title: str
    licence: str
    link: str


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The input of a reader: the clone, the tasks of the suite, and the selected strategies and turn.

    An empty `strategies` selects the publisher's main strategy. `turn` counts from 1.
    """

    clone: Path
    tasks: Sequence[Task]
    limits: SubmissionLimits
    strategies: Sequence[str] = ()
    turn: int = 1


@dataclass(frozen=True, slots=True)
class ImportedSystem:
    """A system with its recorded answers. `answers` maps a task to the system's commands, the best first.

    `description` is a sentence about the answers.
    """

    name: str
    system: str
    method: Method
    description: str
    answers: Mapping[str, Sequence[str]]
    open_weights: bool = False
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerImporter:
    """A publication with the function that reads its systems from a clone.

    The function raises UsageError if the clone does not have the expected files. It raises FormatError with each
    unreadable entry.
    """

    publication: Publication
    read: Callable[[AnswerSource], list[ImportedSystem]]


def local_slug(publication: Publication, system: ImportedSystem) -> str:
    """Return the name of the folder for a system's answers."""
    return f"{LOCAL_PREFIX}{publication.name}-{system.name}"


def submission_files(publication: Publication, system: ImportedSystem, version: str) -> dict[str, bytes]:
    """Return the files of a submission with a system's answers, by file name. `version` is the suite's version."""
    origin = f"Recorded by {publication.title}, licence {publication.licence}; imported on this machine only."
    manifest = SubmissionManifest(
        format=1,
        system=system.system,
        authors=(Author(name=publication.authors),),
        link=publication.link,
        description=f"{system.description} {origin}",
        open_weights=system.open_weights,
        models=system.models,
        method=system.method,
        suites={publication.suite: version},
    )
    predictions = (
        Prediction(task=task, candidates=tuple(Candidate(command=command.encode()) for command in commands))
        for task, commands in sorted(system.answers.items())
    )
    return {
        MANIFEST_NAME: manifest_toml(manifest).encode(),
        f"{publication.suite}{PREDICTIONS}": json_lines(predictions).encode(),
    }


def command_fault(command: str, limits: SubmissionLimits) -> str | None:
    """Return the reason for which no submission may contain a command, or None if a submission may contain it."""
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return "a command with a lone surrogate: it is not valid Unicode"
    if "\0" in command:
        return "a command with a NUL byte: Bash cannot read it"
    if size > limits.command_bytes:
        return f"a command of {size:,} bytes, expected at most {limits.command_bytes:,}"
    return None
