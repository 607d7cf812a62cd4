"""Create a submission's folder with drafts, write a suite's prompts, and turn a model's replies into predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.edition_prompts import read_edition
from evaluator.pipeline.submissions.repository import suite_info
from evaluator.records import Method
from evaluator.submissions.names import EDITION_SIGN, MANIFEST_NAME, PREDICTIONS, slug_faults
from evaluator.submissions.prompts import batch_line, messages_of, prediction_file, prompt_line
from evaluator.submissions.reply_lines import MOST_BYTES, CollectedReplies, collect_predictions
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
    """Create a submission's folder with draft files, and return their paths.

    The files are a manifest and one predictions file per suite. Raises UsageError if the slug is invalid or in use. No
    existing file is overwritten.
    """
    folder = project.root / "submissions" / slug
    slugs = [path.name for path in project.submission_folders()]
    for fault in slug_faults(slug, [name for name in slugs if name != slug]):
        raise UsageError(fault)
    if folder.exists():
        raise UsageError(f"{folder} already exists; choose another name, or edit the files there")
    infos = {name: suite_info(project, name) for name in dict.fromkeys(suites)}
    versions = {name: info.version for name, info in infos.items()}
    files = {MANIFEST_NAME: draft_manifest(versions, system or SYSTEM, author or AUTHOR, method)}
    files |= {f"{name}{PREDICTIONS}": draft_predictions(info) for name, info in infos.items()}
    folder.mkdir(parents=True)
    for name, data in files.items():
        write_whole(folder / name, data)
    return [folder / name for name in files]


def suite_prompts(
    project: Project, name: str, edition: str | None = None, *, batch: bool = False, model: str | None = None
) -> Iterator[str]:
    """Yield one line per task of the suite or of its edition: the prompt, or a batch request if `batch` is set.

    Raises UsageError if `batch` is set without a `model`, and for an unknown edition.
    """
    suite, size = project.suite(name), project.settings.limits.command_bytes
    if batch and model is None:
        raise UsageError("a batch needs a model: add --model with the name that the server uses")
    prompts = (
        read_edition(project, name, edition)
        if edition is not None
        else (
            (task.id, messages_of(suite.manifest, suite.worlds[task.world].manifest, task, size))
            for task in suite.tasks
        )
    )
    for task, messages in prompts:
        yield batch_line(task, messages, model) if batch and model is not None else prompt_line(task, messages)


def collect_replies(
    project: Project, slug: str, name: str, replies: Path, edition: str | None = None
) -> tuple[Path, CollectedReplies]:
    """Write a submission's predictions from `replies`, a file with the replies of a model (see `reply_lines`).

    With `edition`, the replies answer the prompts of this edition of the suite. Return the file's path and what it
    holds. Raises UsageError if the submission or the edition does not exist or `replies` is unreadable. Raises
    FormatError with the problems of `replies`, and writes nothing then.
    """
    suite = project.suite(name)
    if edition is not None:
        read_edition(project, name, edition)
        name = f"{name}{EDITION_SIGN}{edition}"
    folder = project.submission_folder(slug)
    tasks = [task.id for task in suite.tasks]
    try:
        with replies.open("rb") as file:
            collected = collect_predictions(replies, iter(lambda: file.readline(MOST_BYTES), b""), tasks)
    except OSError as error:
        raise UsageError(f"{replies}: cannot be read: {error.strerror}") from error
    path = folder / f"{name}{PREDICTIONS}"
    write_whole(path, prediction_file(tasks, collected.lines))
    return path, collected
