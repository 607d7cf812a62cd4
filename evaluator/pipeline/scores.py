"""NLC2CMD scores of commands, computed once.

A score depends on the command's and the references' bytes and on the program that reads them: a score's key is the
digest of all of it. The program's part is the digest of its own sources and of its parsers' versions, so that no
number has to be raised by hand when a rule changes, and nothing of it is imported where every score is known.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from evaluator.records import Task, digest_of
from evaluator.store import Store

PARSERS: Final = ("bashlex", "tree-sitter", "tree-sitter-bash")
"""Distributions whose reading of a command decides a score."""

_PACKAGE: Final = Path(__file__).parents[1]


def program_files(package: Path = _PACKAGE) -> list[Path]:
    """The files that a score is computed by: the metric's and those of the reading of commands."""
    reading = sorted(path for path in (package / "shell").iterdir() if path.suffix in {".py", ".toml"})
    return [*reading, package / "metrics" / "nlc2cmd.py"]


@cache
def program_digest(package: Path = _PACKAGE) -> str:
    """Digest of everything but its input that a score depends on."""
    sources = (path.read_bytes() for path in program_files(package))
    versions = [f"{name} {version(name)}" for name in PARSERS]
    return digest_of(*(fact.encode() for fact in (*versions, sys.version)), *sources)


def score_key(program: str, command: bytes, references: Sequence[bytes]) -> str:
    """The key that a command's score against these references is kept under."""
    return digest_of(program.encode(), command, *references)


def nlc2cmd_scores(store: Store, asked: Iterable[tuple[Task, bytes]]) -> dict[tuple[str, bytes], float]:
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
