"""What texts alone tell of commands, computed once: NLC2CMD scores, likeness to references, what references call.

Each depends on the commands' bytes and on the program that reads them: its key is the digest of all of it. The
program's part is the digest of its own sources and of its libraries' versions, so that no number has to be raised by
hand when a rule changes, and nothing of it is imported where everything is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeVar

from pydantic import TypeAdapter

from evaluator.records import Task, TextMetrics, digest_of
from evaluator.store import Store

PARSERS: Final = ("bashlex", "tree-sitter", "tree-sitter-bash")
"""Distributions whose reading of a command decides a score."""

_PACKAGE: Final = Path(__file__).parents[2]
_TEXT: Final = TypeAdapter(TextMetrics)
_CALLS: Final = TypeAdapter(dict[str, float])

Each = TypeVar("Each")
Kept = TypeVar("Kept")


def reading_files(package: Path = _PACKAGE) -> list[Path]:
    """The files that commands are read by."""
    folders = (package / "shell", package / "shell" / "nlc2cmd")
    return sorted(path for folder in folders for path in folder.iterdir() if path.suffix in {".py", ".toml"})


def program_files(package: Path = _PACKAGE) -> list[Path]:
    """The files that an NLC2CMD score is computed by: the metric's and those of the reading of commands."""
    return [*reading_files(package), package / "metrics" / "nlc2cmd.py"]


def text_files(package: Path = _PACKAGE) -> list[Path]:
    """The files that texts are compared by."""
    return [*reading_files(package), package / "metrics" / "texts.py", package / "metrics" / "bleu.py"]


def digest_of_program(distributions: Sequence[str], files: Sequence[Path]) -> str:
    """Digest of what a program's results depend on beside its input."""
    sources = (path.read_bytes() for path in files)
    versions = [f"{name} {version(name)}" for name in distributions]
    return digest_of(*(fact.encode() for fact in (*versions, sys.version)), *sources)


@cache
def program_digest(package: Path = _PACKAGE) -> str:
    """Digest of everything but its input that an NLC2CMD score depends on."""
    return digest_of_program(PARSERS, program_files(package))


@cache
def text_digest(package: Path = _PACKAGE) -> str:
    """Digest of everything but the texts that their comparison depends on."""
    return digest_of_program((*PARSERS, "nltk"), text_files(package))


def score_key(program: str, command: bytes, references: Sequence[bytes]) -> str:
    """The key that what is computed of a command and these references is kept under."""
    return digest_of(program.encode(), command, *references)


def cached_nlc2cmd_scores(store: Store, asked: Iterable[tuple[Task, bytes]]) -> dict[tuple[str, bytes], float]:
    """The NLC2CMD score of every command against its task's references, by task and command."""
    program = program_digest()
    tasks = {(task.id, command): task for task, command in asked}
    keys = {each: score_key(program, each[1], task.references) for each, task in tasks.items()}
    known = store.scores(keys.values())
    missing = [each for each, key in keys.items() if key not in known]
    if missing:
        from evaluator.metrics.nlc2cmd import score_candidate

        fresh = {keys[each]: score_candidate(each[1], tasks[each].references) for each in missing}
        store.add_scores(fresh)
        known |= fresh
    return {each: known[key] for each, key in keys.items()}


def text_figures(store: Store, asked: Iterable[tuple[Task, bytes]]) -> dict[tuple[str, bytes], TextMetrics]:
    """What every command's text has in common with its task's references, by task and command."""
    program = text_digest()
    tasks = {(task.id, command): task for task, command in asked}
    keys = {each: score_key(program, each[1], task.references) for each, task in tasks.items()}

    def compute(each: tuple[str, bytes]) -> TextMetrics:
        from evaluator.metrics.texts import compare_texts

        return compare_texts(each[1], tasks[each].references)

    return cached_values(store, keys, compute, _TEXT)


def reference_calls(store: Store, tasks: Iterable[Task]) -> dict[str, dict[str, float]]:
    """The utilities that a task's references call, each with how often one does on average, by task."""
    program = f"calls {text_digest()}"
    asked = {task.id: task for task in tasks}
    keys = {name: score_key(program, b"", task.references) for name, task in asked.items()}

    def compute(name: str) -> dict[str, float]:
        from evaluator.metrics.texts import calls_of_references

        return calls_of_references(asked[name].references)

    return cached_values(store, keys, compute, _CALLS)


def cached_values(
    store: Store, keys: Mapping[Each, str], compute: Callable[[Each], Kept | None], form: TypeAdapter[Kept]
) -> dict[Each, Kept]:
    """Figures by what they are of, from the store under their keys; what is not there is computed and kept.

    What `compute` has no figure for (None) is left out, and asked again another time.
    """
    texts = store.figures(keys.values())
    fresh: dict[str, str] = {}
    for each, key in keys.items():
        if key not in texts and (made := compute(each)) is not None:
            texts[key] = fresh[key] = form.dump_json(made).decode()
    if fresh:
        store.add_figures(fresh)
    known = {key: form.validate_json(text) for key, text in texts.items()}
    return {each: known[key] for each, key in keys.items() if key in known}
