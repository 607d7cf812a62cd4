"""Measure the texts of commands: NLC2CMD scores, text similarity, and the utilities that references call.

Each value is computed once and stored under a key: the digest of the commands and of the program that computes the
value. The program's digest covers the program's sources and the versions of its libraries. So a changed program always
gives new keys. If every value is known, the program is not imported.
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
_TEXTS: Final = TypeAdapter(list[TextMetrics])
_CALLS: Final = TypeAdapter(list[dict[str, float]])

Name = TypeVar("Name")
Value = TypeVar("Value")


def reading_files(package: Path = _PACKAGE) -> list[Path]:
    """Return the source files of the command parsers."""
    folders = (package / "shell", package / "shell" / "nlc2cmd")
    return sorted(path for folder in folders for path in folder.iterdir() if path.suffix in {".py", ".toml"})


def program_files(package: Path = _PACKAGE) -> list[Path]:
    """Return the source files that an NLC2CMD score depends on: the metric and the command parsers."""
    return [*reading_files(package), package / "metrics" / "nlc2cmd.py"]


def text_files(package: Path = _PACKAGE) -> list[Path]:
    """Return the files of our own code that compute the similarity of two commands' texts."""
    return [*reading_files(package), package / "metrics" / "texts.py", package / "metrics" / "bleu.py"]


def digest_of_program(distributions: Sequence[str], files: Sequence[Path]) -> str:
    """Return the digest of everything that determines a program's results, except the data that it reads."""
    sources = (path.read_bytes() for path in files)
    versions = [f"{name} {version(name)}" for name in distributions]
    return digest_of(*(fact.encode() for fact in (*versions, sys.version)), *sources)


@cache
def program_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of everything that determines an NLC2CMD score, except the commands."""
    return digest_of_program(PARSERS, program_files(package))


@cache
def text_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of everything that determines a text similarity, except the commands."""
    return digest_of_program(PARSERS, text_files(package))


def score_key(program: str, command: bytes, references: Sequence[bytes]) -> str:
    """Return the storage key of a program's result, such as a score, for a command and these references."""
    return digest_of(program.encode(), command, *references)


def cached_nlc2cmd_scores(store: Store, commands: Iterable[tuple[Task, bytes]]) -> dict[tuple[str, bytes], float]:
    """Return the NLC2CMD score of each command for its task."""
    program = program_digest()
    tasks = {(task.id, command): task for task, command in commands}
    keys = {name: score_key(program, name[1], task.references) for name, task in tasks.items()}
    known = store.scores(keys.values())
    missing = [name for name, key in keys.items() if key not in known]
    if missing:
        from evaluator.metrics.nlc2cmd import score_candidate

        fresh = {keys[name]: score_candidate(name[1], tasks[name].references) for name in missing}
        store.add_scores(fresh)
        known |= fresh
    return {name: known[key] for name, key in keys.items()}


def cached_text_metrics(store: Store, commands: Iterable[tuple[Task, bytes]]) -> dict[tuple[str, bytes], TextMetrics]:
    """Return the text similarity of each command to the references of its task."""
    program = text_digest()
    tasks = {(task.id, command): task for task, command in commands}
    keys = {name: score_key(program, name[1], task.references) for name, task in tasks.items()}

    def compute(name: tuple[str, bytes]) -> TextMetrics:
        from evaluator.metrics.texts import compare_texts

        return compare_texts(name[1], tasks[name].references)

    return cached_values(store, keys, compute, _TEXTS)


def reference_calls(store: Store, tasks: Iterable[Task]) -> dict[str, dict[str, float]]:
    """Map each task's id to the utilities that its references call, with the mean number of calls per reference."""
    program = f"calls {text_digest()}"
    references = {task.id: task.references for task in tasks}
    keys = {task: score_key(program, b"", commands) for task, commands in references.items()}

    def compute(task: str) -> dict[str, float]:
        from evaluator.metrics.texts import calls_of_references

        return calls_of_references(references[task])

    return cached_values(store, keys, compute, _CALLS)


def cached_values(
    store: Store, keys: Mapping[Name, str], compute: Callable[[Name], Value | None], form: TypeAdapter[list[Value]]
) -> dict[Name, Value]:
    """Return the stored values under these keys. Compute missing values with `compute`, and store them.

    If `compute` returns None, the value is left out, and the next call computes the value again.
    """
    known = load_values(store, keys.values(), form)
    fresh: dict[str, str] = {}
    for name, key in keys.items():
        if key not in known and (value := compute(name)) is not None:
            fresh[key] = form.dump_json([value]).decode()[1:-1]
            known |= _parse({key: fresh[key]}, form)
    if fresh:
        store.add_figures(fresh)
    return {name: known[key] for name, key in keys.items() if key in known}


def load_values(store: Store, keys: Iterable[str], form: TypeAdapter[list[Value]]) -> dict[str, Value]:
    """Return the stored values under these keys. A key without a value is left out."""
    return _parse(store.figures(keys), form)


def _parse(texts: Mapping[str, str], form: TypeAdapter[list[Value]]) -> dict[str, Value]:
    """Parse JSON texts as one list, which takes a fraction of the time of a call for each text."""
    return dict(zip(texts, form.validate_json(f"[{','.join(texts.values())}]"), strict=True))
