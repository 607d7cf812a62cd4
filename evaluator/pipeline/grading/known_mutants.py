"""Find the known mutants of a suite's references: the commands that differ from a reference by one small change.

For a known mutant, evidence that equals the references' evidence is not enough to pass. `suite mutate` generates the
same mutants. A mutant that a maintainer marked as equivalent to its reference is not a known mutant. The mutants depend
on the references and on the source of the mutation program, so they are stored under the digest of both.
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
    """Return the digest of the mutation program: of everything that determines the mutants, except the references."""
    return digest_of_program(PARSERS, [*reading_files(package), *sorted((package / "shell" / "mutation").glob("*.py"))])


@dataclass
class KnownMutants:
    """The known mutants of a suite's references. `marks` lists equivalent mutants, which are left out."""

    store: Store
    marks: frozenset[Mark]
    _known: dict[tuple[str, tuple[bytes, ...]], frozenset[str]] = field(default_factory=dict)

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Load the known mutants of these tasks' references in one query. Compute and store the missing mutants."""
        self._load({(task.id, task.references): task for task in tasks})

    def __call__(self, task: Task, references: tuple[bytes, ...]) -> frozenset[str]:
        """Return the digests of all mutants of these references, except mutants that are marked as equivalent."""
        question = (task.id, references)
        if question not in self._known:
            self._load({question: task})
        return self._known[question]

    def _load(self, tasks: dict[tuple[str, tuple[bytes, ...]], Task]) -> None:
        program = f"slips {mutation_digest()}"  # part of stored keys
        keys = {question: score_key(program, b"", question[1]) for question in tasks}
        mutants = cached_values(self.store, keys, lambda question: _mutant_digests(question[1]), _DIGESTS)
        for question, digests in mutants.items():
            task_digest = tasks[question].digest
            self._known[question] = frozenset(digest for digest in digests if (task_digest, digest) not in self.marks)


def _mutant_digests(references: Sequence[bytes]) -> frozenset[str]:
    from evaluator.shell.mutation import mutants_of

    return frozenset(command_digest(mutant.command) for command in references for mutant in mutants_of(command))


def known_mutants_of(project: Project, suite: Suite, store: Store) -> KnownMutants:
    """Return the known mutants of a suite. Raises FormatError if the file of equivalent mutants cannot be read."""
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    known_mutants = KnownMutants(store, marks_of(marks))
    known_mutants.prepare(suite.tasks)
    return known_mutants
