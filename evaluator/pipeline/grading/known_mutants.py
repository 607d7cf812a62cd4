"""The slips of a suite's references that nobody has found harmless: what a pass by equal evidence alone is doubted for.

Mutants of the references as `suite mutate` makes them, less those that a maintainer marked equivalent. They depend on
the references and on the program that makes them, so they are made once and kept under the digest of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from evaluator.pipeline.grading.text_metrics import PARSERS, cached_values, digest_of_program, reading_files, score_key
from evaluator.pipeline.project import Project
from evaluator.records import Task, command_digest
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import Mark, equivalences_path, marks_of, read_equivalences

_PACKAGE: Final = Path(__file__).parents[2]
_DIGESTS: Final = TypeAdapter(frozenset[str])


@cache
def mutation_digest(package: Path = _PACKAGE) -> str:
    """Digest of everything but the references that their mutants depend on."""
    return digest_of_program(PARSERS, [*reading_files(package), *sorted((package / "shell" / "mutation").glob("*.py"))])


@dataclass
class KnownMutants:
    """The slips of a suite's tasks, by task and references. `marks` are those found harmless."""

    store: Store
    marks: frozenset[Mark]
    _known: dict[tuple[str, tuple[bytes, ...]], frozenset[str]] = field(default_factory=dict)

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Have the slips of whole tasks at hand, in one go: what is kept is read, the rest is made and kept."""
        self._learn({(task.id, task.references): task for task in tasks})

    def __call__(self, task: Task, references: tuple[bytes, ...]) -> frozenset[str]:
        """Digests of the commands that are one slip away from one of these references, and not marked."""
        place = (task.id, references)
        if place not in self._known:
            self._learn({place: task})
        return self._known[place]

    def _learn(self, asked: dict[tuple[str, tuple[bytes, ...]], Task]) -> None:
        program = f"slips {mutation_digest()}"
        keys = {place: score_key(program, b"", place[1]) for place in asked}
        made = cached_values(self.store, keys, lambda place: _mutant_digests(place[1]), _DIGESTS)
        for place, digests in made.items():
            task = asked[place]
            self._known[place] = frozenset(each for each in digests if (task.digest, each) not in self.marks)


def _mutant_digests(references: Sequence[bytes]) -> frozenset[str]:
    from evaluator.shell.mutation import mutants_of

    return frozenset(command_digest(mutant.command) for each in references for mutant in mutants_of(each))


def known_mutants_of(project: Project, suite: Suite, store: Store) -> KnownMutants:
    """The slips of a suite here. Raises FormatError for a file of marks that does not read."""
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    known_mutants = KnownMutants(store, marks_of(marks))
    known_mutants.prepare(suite.tasks)
    return known_mutants
