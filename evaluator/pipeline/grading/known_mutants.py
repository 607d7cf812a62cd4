"""Find the known mutants of a suite's references: the commands that differ from a reference by one small change.

For a known mutant, evidence that equals the references' evidence is not enough to pass. `suite mutate` generates the
same mutants. A mutant that a maintainer marked as equivalent to its reference is not a known mutant. Commands are
compared by their canonical forms, so another spelling of a mutant is a known mutant too. An answer depends on the
command, the references and the source of the mutation program, so it is stored under the digest of these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from evaluator.pipeline.grading.cache_keys import MutantQuestion
from evaluator.pipeline.grading.text_metrics import (
    PARSERS,
    cached_values,
    digest_of_program,
    reading_files,
    score_key,
)
from evaluator.pipeline.project import Project
from evaluator.records import Task
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import Mark, equivalences_path, marks_of, read_equivalences

_PACKAGE: Final = Path(__file__).parents[2]
_DIGESTS: Final = TypeAdapter(list[tuple[str, ...]])


@cache
def mutation_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of the mutation program: of everything that determines the mutants, except the references."""
    return digest_of_program(PARSERS, [*reading_files(package), *sorted((package / "shell" / "mutation").glob("*.py"))])


@cache
def reading_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of everything that determines the canonical form of a command."""
    return digest_of_program(PARSERS, reading_files(package))


@dataclass(frozen=True)
class KnownMutants:
    """The known mutants of a suite's references. `marks` lists equivalent mutants, which are left out.

    The answers to questions are stored, and all are loaded in one query. The mutants of a task are made only when the
    store lacks an answer about them.
    """

    store: Store
    marks: frozenset[Mark]

    def __call__(self, asked: Sequence[MutantQuestion]) -> list[bool]:
        """Return for each question whether a mutant has the command's form, and no such mutant is marked."""
        program = f"known mutants {mutation_digest()}"
        # The questions about the same references follow each other, so that the mutants are made once.
        pairs = sorted({(each.references, each.command) for each in asked})
        keys = {pair: score_key(program, pair[1], pair[0]) for pair in pairs}
        digests = cached_values(self.store, keys, _mutants_with_form, _DIGESTS)
        return [self._is_known(each.task, digests[each.references, each.command]) for each in asked]

    def _is_known(self, task: Task, mutants: tuple[str, ...]) -> bool:
        return bool(mutants) and not any((task.digest, mutant) in self.marks for mutant in mutants)

    def form_keys(self, commands: Collection[bytes]) -> Mapping[bytes, tuple[str, ...]]:
        """Return the form keys of each command. Compute and store those that the store lacks."""
        program = f"form keys {reading_digest()}"
        return cached_values(
            self.store, {each: score_key(program, each, ()) for each in commands}, _form_keys, _DIGESTS
        )


def _form_keys(command: bytes) -> tuple[str, ...]:
    from evaluator.shell.canonical import form_keys

    return form_keys(command)


def _mutants_with_form(asked: tuple[tuple[bytes, ...], bytes]) -> tuple[str, ...]:
    from evaluator.shell.mutation.equal_forms import mutants_with_form

    return mutants_with_form(*asked)


def known_mutants_of(project: Project, suite: Suite, store: Store) -> KnownMutants:
    """Return the known mutants of a suite. Raises FormatError if the file of equivalent mutants cannot be read."""
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    return KnownMutants(store, marks_of(marks))
