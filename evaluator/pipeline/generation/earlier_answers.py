"""Read what an earlier run of `bashboard generate` wrote, so that a later run with the same recipe keeps it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.json_lines import numbered_lines
from evaluator.model_server.reply_log import ReplyLog
from evaluator.pipeline.project import Project
from evaluator.records import Generation, Prediction
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS, slug_faults
from evaluator.suites.load import Suite
from evaluator.wording import pluralize

Lines = Mapping[str, Prediction]
"""The answers to one suite, by task."""


@dataclass(frozen=True, slots=True)
class EarlierAnswers:
    """The versions of the suites that an earlier run answered, and the answers that a later run keeps, by suite."""

    suites: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, Lines] = field(default_factory=dict)

    def require_replies(self, log: ReplyLog, slug: str) -> None:
        """Raise UsageError if there are answers without a log, because each of them would be asked for again."""
        count = sum(map(len, self.lines.values()))
        if count and not len(log):
            raise UsageError(
                f"submissions/{slug} has {pluralize(count, 'answer')}, but {log.path} has no reply: restore this file, "
                "choose another name, or add --replace to ask for everything again"
            )

    def completed(self, suite: Suite, lines: Sequence[Prediction]) -> list[Prediction]:
        """Return new answers to a suite and the earlier ones of other tasks, in the order of the tasks."""
        merged = {**self.lines.get(suite.manifest.name, {}), **{line.task: line for line in lines}}
        return [merged[task.id] for task in suite.tasks if task.id in merged]


def check_slug(project: Project, slug: str) -> None:
    """Raise UsageError if a folder cannot have this name."""
    others = [path.name for path in project.submission_folders() if path.name != slug]
    for fault in slug_faults(slug, others):
        raise UsageError(fault)


def earlier_answers(
    project: Project, slug: str, generation: Generation, suites: Sequence[Suite], *, replace: bool
) -> EarlierAnswers:
    """Return what an earlier run wrote for a submission.

    `replace` drops its answers to `suites`, and all of them if it had another recipe. Answers to another version of a
    suite are not kept. Raises UsageError for a submission that was made in another way, unless `replace` is true.
    """
    folder = project.root / "submissions" / slug
    if not folder.exists():
        return EarlierAnswers()
    try:
        manifest = tomllib.loads((folder / MANIFEST_NAME).read_text("utf-8"))
        earlier = Generation.model_validate_json(json.dumps(manifest["generation"]))
        answered = {name: str(version) for name, version in manifest["suites"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # TypeError: JSON has no dates
        earlier, answered = None, {}
    if earlier != generation:
        if replace:
            return EarlierAnswers()
        names = sorted(name for name in Generation.model_fields if _field(earlier, name) != _field(generation, name))
        way = f"another way ({', '.join(names)})" if earlier is not None else "another way"
        raise UsageError(f"submissions/{slug} exists and was made in {way}: choose another name, or add --replace")
    files = {name: folder / f"{name}{PREDICTIONS}" for name in answered}
    kept = {name: version for name, version in answered.items() if files[name].is_file()}
    again = {suite.manifest.name for suite in suites if kept.get(suite.manifest.name) == suite.manifest.version}
    return EarlierAnswers(kept, {} if replace else {name: _read(files[name]) for name in sorted(again)})


def _field(generation: Generation | None, name: str) -> object:
    return getattr(generation, name, None)


def _read(path: Path) -> Lines:
    try:
        lines = [Prediction.model_validate_json(line) for _, line in numbered_lines(path.read_bytes()) if line.strip()]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: expected the answers of an earlier run: repair it, or add --replace") from error
    return {line.task: line for line in lines}
