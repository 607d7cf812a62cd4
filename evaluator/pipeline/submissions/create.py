"""Making a submission: its folder to fill in, the prompts of a suite, and predictions from a model's replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.pipeline.project import Project
from evaluator.records import Method
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS, slug_faults
from evaluator.submissions.prompts import batch_line, messages_of, prediction_file, predictions_from, prompt_line
from evaluator.submissions.scaffold import AUTHOR, SYSTEM, draft_manifest, draft_predictions


def init_submission(
    project: Project,
    slug: str,
    suites: Sequence[str],
    *,
    system: str | None = None,
    author: str | None = None,
    method: Method = Method.PROMPTED,
) -> list[Path]:
    """Write a submission's folder with a manifest and a file a suite to fill in; their paths.

    Raises UsageError for a slug that is no folder's name or is taken: nothing of somebody's is written over.
    """
    folder = project.root / "submissions" / slug
    beside = [path.name for path in project.submission_folders()]
    for fault in slug_faults(slug, [name for name in beside if name != slug]):
        raise UsageError(fault)
    if folder.exists():
        raise UsageError(f"{folder} is there already; choose another name, or go on in it")
    chosen = [project.suite(name) for name in dict.fromkeys(suites)]
    versions = {suite.manifest.name: suite.manifest.version for suite in chosen}
    files = {MANIFEST_NAME: draft_manifest(versions, system or SYSTEM, author or AUTHOR, method)}
    for suite in chosen:
        # a foreign suite's instructions are not ours, nor the submitter's, to publish
        files[f"{suite.manifest.name}{PREDICTIONS}"] = draft_predictions(
            suite.tasks, instructions=not suite.manifest.foreign
        )
    folder.mkdir(parents=True)
    for name, data in files.items():
        write_whole(folder / name, data)
    return [folder / name for name in files]


def suite_prompts(project: Project, name: str, *, batch: bool = False, model: str | None = None) -> Iterator[str]:
    """A line a task of the suite: its prompt, or with `batch` a request. Raises UsageError for a batch of no model."""
    suite = project.suite(name)
    if batch and model is None:
        raise UsageError("a batch names its model: add --model, as its server calls it")
    for task in suite.tasks:
        cwd = suite.worlds[task.world].manifest.cwd or suite.manifest.cwd
        messages = messages_of(suite.manifest, task, cwd)
        if batch and model is not None:
            yield batch_line(task.id, messages, model)
        else:
            yield prompt_line(task.id, messages)


def collect_replies(project: Project, slug: str, name: str, replies: Path) -> tuple[Path, int, list[str]]:
    """Write a submission's predictions from a batch's results: the file, its lines, and the tasks that failed there.

    Raises UsageError where there is no such submission or file, FormatError with every line that is no result.
    """
    suite = project.suite(name)
    folder = project.submission_folder(slug)
    try:
        data = replies.read_bytes()
    except OSError as error:
        raise UsageError(f"{replies}: cannot be read: {error.strerror}") from error
    tasks = [task.id for task in suite.tasks]
    lines, failed = predictions_from(replies, data, tasks)
    path = folder / f"{name}{PREDICTIONS}"
    write_whole(path, prediction_file(tasks, lines))
    return path, len(lines), failed
