"""Read the public prompts of a suite's editions: `fixtures/editions/<suite>@<edition>.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.json_lines import LineProblems, read_json_lines
from evaluator.pipeline.project import Project
from evaluator.submissions.names import EDITION_SIGN, is_slug
from evaluator.wording import name_hint

Messages = list[dict[str, str]]


def edition_path(project: Project, suite: str, edition: str) -> Path:
    """Return the path of an edition's public prompts."""
    return project.fixtures / "editions" / f"{suite}{EDITION_SIGN}{edition}.jsonl"


def edition_names(project: Project, suite: str) -> list[str]:
    """Return the names of a suite's editions, sorted."""
    found = edition_path(project, suite, "*")
    return sorted(path.stem.partition(EDITION_SIGN)[2] for path in found.parent.glob(found.name))


def read_edition(project: Project, suite: str, edition: str) -> list[tuple[str, Messages]]:
    """Return the task and the messages of each prompt of an edition.

    Raises UsageError if there is no such edition, and FormatError with every line that is no prompt.
    """
    path = edition_path(project, suite, edition)
    if not is_slug(edition) or not path.is_file():
        hint = name_hint(edition, edition_names(project, suite), "fixtures/editions")
        raise UsageError(f"suite {suite} has no edition {edition!r}{hint}")
    prompts = []
    problems = LineProblems(path)
    for number, _, line in read_json_lines(path.read_bytes(), problems):
        try:
            prompts.append((str(line["task"]), [{**message} for message in line["messages"]]))
        except (KeyError, TypeError):
            problems.add(number, "expected a prompt as `bashboard suite edition` writes it; restore the file with Git")
    problems.raise_any()
    return prompts


def edition_instructions(project: Project, suite: str) -> Mapping[str, Mapping[str, str]]:
    """Return the instructions of each edition of a suite, by edition and task."""
    return {
        name: {task: messages[-1]["content"] for task, messages in read_edition(project, suite, name)}
        for name in edition_names(project, suite)
    }
