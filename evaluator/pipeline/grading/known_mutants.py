"""Find the known mutants of a suite's references: the commands that differ from a reference by one small change.

For a known mutant, evidence that equals the references' evidence is not enough to pass. `suite mutate` generates the
same mutants. A mutant that a maintainer marked as equivalent to its reference is not a known mutant. The mutants depend
on the references and on the source of the mutation program, so they are stored under the digest of both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from evaluator.pipeline.grading.text_metrics import (
    PARSERS,
    cached_values,
    digest_of_program,
    load_values,
    reading_files,
    score_key,
)
from evaluator.pipeline.project import Project
from evaluator.records import Task, command_digest
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import Mark, equivalences_path, marks_of, read_equivalences

_PACKAGE: Final = Path(__file__).parents[2]
_DIGESTS: Final = TypeAdapter(list[str])
_STEP: Final = 65
"""The number of characters from the start of a digest in the text to the start of the next one."""


@cache
def mutation_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of the mutation program: of everything that determines the mutants, except the references."""
    return digest_of_program(PARSERS, [*reading_files(package), *sorted((package / "shell" / "mutation").glob("*.py"))])


@dataclass(frozen=True, slots=True)
class TaskMutants:
    """The known mutants of one task's references: a container of command digests.

    `digests` is one text of sorted digests with blanks between them. A suite has more than 100,000 mutants. To make a
    set of them, or to search the text from its start, takes longer than all questions of a board.
    """

    task: Task
    digests: str
    marks: frozenset[Mark]

    def __contains__(self, digest: object) -> bool:
        return isinstance(digest, str) and self._is_listed(digest) and (self.task.digest, digest) not in self.marks

    def _is_listed(self, digest: str) -> bool:
        number = bisect_left(range(len(self.digests) // _STEP + 1), digest, key=self._digest_at)
        return self._digest_at(number) == digest

    def _digest_at(self, number: int) -> str:
        return self.digests[number * _STEP : (number + 1) * _STEP - 1]


@dataclass
class KnownMutants:
    """The known mutants of a suite's references. `marks` lists equivalent mutants, which are left out.

    The first question loads the stored mutants of all `tasks` in one query. The mutants of a task that the store lacks
    are computed when they are first asked for. So a suite without answers costs nothing.
    """

    store: Store
    marks: frozenset[Mark]
    tasks: Sequence[Task] = ()
    _known: dict[tuple[str, tuple[bytes, ...]], TaskMutants] = field(default_factory=dict)

    def __call__(self, task: Task, references: tuple[bytes, ...]) -> TaskMutants:
        """Return the digests of all mutants of these references, except mutants that are marked as equivalent."""
        question = (task.id, references)
        if question not in self._known:
            stored = self._stored.get(_key(references))
            digests = self._compute(references) if stored is None else stored
            self._known[question] = TaskMutants(task, digests, self.marks)
        return self._known[question]

    @cached_property
    def _stored(self) -> dict[str, str]:
        """The stored mutants of all tasks, by the storage key of the references."""
        return load_values(self.store, (_key(task.references) for task in self.tasks), _DIGESTS)

    def _compute(self, references: tuple[bytes, ...]) -> str:
        """Return the mutants of references. Compute and store them if the store lacks them."""
        return cached_values(self.store, {references: _key(references)}, _mutant_digests, _DIGESTS)[references]


def _key(references: Sequence[bytes]) -> str:
    return score_key(f"known mutants {mutation_digest()}", b"", references)


def _mutant_digests(references: Sequence[bytes]) -> str:
    from evaluator.shell.mutation import mutants_of

    # a candidate that no reader accepts is no more right for that, so the mutants are not read
    mutants = (mutant for command in references for mutant in mutants_of(command, only_readable=False))
    return " ".join(sorted({command_digest(mutant.command) for mutant in mutants}))


def known_mutants_of(project: Project, suite: Suite, store: Store) -> KnownMutants:
    """Return the known mutants of a suite. Raises FormatError if the file of equivalent mutants cannot be read."""
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    return KnownMutants(store, marks_of(marks), suite.tasks)
