"""Measurements that depend on texts alone, each computed once: NLC2CMD scores, text similarity, calls of references.

Each value is stored under the digest of the commands' bytes and of the program that reads them. The program's digest
covers its own sources and the versions of its libraries, so a changed rule needs no new version number. If every value
is known, the program is not imported.
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
"""The distributions that parse commands and so affect a score."""

_PACKAGE: Final = Path(__file__).parents[2]
_TEXT: Final = TypeAdapter(TextMetrics)
_CALLS: Final = TypeAdapter(dict[str, float])

Each = TypeVar("Each")
Kept = TypeVar("Kept")


def reading_files(package: Path = _PACKAGE) -> list[Path]:
    """Return the source files of the command parsers."""
    folders = (package / "shell", package / "shell" / "nlc2cmd")
    return sorted(path for folder in folders for path in folder.iterdir() if path.suffix in {".py", ".toml"})


def program_files(package: Path = _PACKAGE) -> list[Path]:
    """Return the source files that an NLC2CMD score depends on: the metric and the command parsers."""
    return [*reading_files(package), package / "metrics" / "nlc2cmd.py"]


def text_files(package: Path = _PACKAGE) -> list[Path]:
    """Return the source files that the comparison of texts depends on."""
    return [*reading_files(package), package / "metrics" / "texts.py", package / "metrics" / "bleu.py"]


def digest_of_program(distributions: Sequence[str], files: Sequence[Path]) -> str:
    """Return the digest of everything that a program's results depend on besides its input."""
    sources = (path.read_bytes() for path in files)
    versions = [f"{name} {version(name)}" for name in distributions]
    return digest_of(*(fact.encode() for fact in (*versions, sys.version)), *sources)


@cache
def program_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of everything that an NLC2CMD score depends on besides its input."""
    return digest_of_program(PARSERS, program_files(package))


@cache
def text_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of everything that the comparison of texts depends on besides the texts."""
    return digest_of_program((*PARSERS, "nltk"), text_files(package))


def score_key(program: str, command: bytes, references: Sequence[bytes]) -> str:
    """Return the key of a value that is computed from a command and these references."""
    return digest_of(program.encode(), command, *references)


def cached_nlc2cmd_scores(store: Store, asked: Iterable[tuple[Task, bytes]]) -> dict[tuple[str, bytes], float]:
    """Return the NLC2CMD score of every command against its task's references, by task and command."""
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
    """Return the similarity of every command's text to its task's references, by task and command."""
    program = text_digest()
    tasks = {(task.id, command): task for task, command in asked}
    keys = {each: score_key(program, each[1], task.references) for each, task in tasks.items()}

    def compute(each: tuple[str, bytes]) -> TextMetrics:
        from evaluator.metrics.texts import compare_texts

        return compare_texts(each[1], tasks[each].references)

    return cached_values(store, keys, compute, _TEXT)


def reference_calls(store: Store, tasks: Iterable[Task]) -> dict[str, dict[str, float]]:
    """Return the utilities that each task's references call, with the mean number of calls in a reference, by task."""
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
    """Return the stored values under these keys. Compute and store the missing ones.

    A value that `compute` cannot give (None) is left out and tried again the next time.
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
