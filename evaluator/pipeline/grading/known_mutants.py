"""Find the known mutants of a suite's references: the commands that differ from a reference by one small change.

For a known mutant, evidence that equals the references' evidence is not enough to pass. `suite mutate` generates the
same mutants. A mutant that a maintainer marked as equivalent to its reference is not a known mutant. Commands are
compared by their canonical forms, so another spelling of a mutant is a known mutant too. The mutants depend on the
references and on the source of the mutation program, so they are stored under the digest of both.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
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

LONGEST: Final = 2_000
"""The length, in bytes, up to which a mutant is compared by its form. The mutants of long programs are 99 % of all
text, and to parse them takes minutes. They are compared by their text without white space at both ends."""

_PACKAGE: Final = Path(__file__).parents[2]
_KEYS: Final = TypeAdapter(list[tuple[str, ...]])
_DIGESTS: Final = TypeAdapter(list[str])
_KEY: Final = 64
_STEP: Final = 2 * _KEY + 2
"""The number of characters of a form key, and from the start of a mutant in the text to the start of the next one."""


@cache
def mutation_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of the mutation program: of everything that determines the mutants, except the references."""
    return digest_of_program(PARSERS, [*reading_files(package), *sorted((package / "shell" / "mutation").glob("*.py"))])


@cache
def reading_digest(package: Path = _PACKAGE) -> str:
    """Return the digest of everything that determines the canonical form of a command."""
    return digest_of_program(PARSERS, reading_files(package))


@dataclass(frozen=True, slots=True)
class TaskMutants:
    """The known mutants of one task's references: a container of form keys.

    `digests` is one text with blanks between the mutants, sorted. Each is a form key, a colon and the digest of the
    mutant's bytes. A suite has more than 100,000 mutants. To make a set of them, or to search the text from its start,
    takes longer than all questions of a board.
    """

    task: Task
    digests: str
    marks: frozenset[Mark]

    def __contains__(self, key: object) -> bool:
        """Return whether a mutant has this form key, and no mutant with this key is marked as equivalent."""
        mutants = self._mutants_with(key) if isinstance(key, str) else []
        return bool(mutants) and not any((self.task.digest, mutant) in self.marks for mutant in mutants)

    def _mutants_with(self, key: str) -> list[str]:
        """Return the digests of the mutants with a form key."""
        count = (len(self.digests) + 1) // _STEP
        first = bisect_left(range(count), key, key=self._key_at)
        same = itertools.takewhile(lambda number: self._key_at(number) == key, range(first, count))
        return [self.digests[number * _STEP : (number + 1) * _STEP - 1].partition(":")[2] for number in same]

    def _key_at(self, number: int) -> str:
        return self.digests[number * _STEP : number * _STEP + _KEY]


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
        """Return the form keys of all mutants of these references, except mutants that are marked as equivalent."""
        question = (task.id, references)
        if question not in self._known:
            stored = self._stored.get(_key(references))
            digests = self._compute(references) if stored is None else stored
            self._known[question] = TaskMutants(task, digests, self.marks)
        return self._known[question]

    def form_keys(self, commands: Collection[bytes]) -> Mapping[bytes, tuple[str, ...]]:
        """Return the form keys of each command. Compute and store those that the store lacks."""
        program = f"form keys {reading_digest()}"
        return cached_values(self.store, {each: score_key(program, each, ()) for each in commands}, _form_keys, _KEYS)

    @cached_property
    def _stored(self) -> dict[str, str]:
        """The stored mutants of all tasks, by the storage key of the references."""
        return load_values(self.store, (_key(task.references) for task in self.tasks), _DIGESTS)

    def _compute(self, references: tuple[bytes, ...]) -> str:
        """Return the mutants of references. Compute and store them if the store lacks them."""
        return cached_values(self.store, {references: _key(references)}, _mutant_digests, _DIGESTS)[references]


def _form_keys(command: bytes) -> tuple[str, ...]:
    from evaluator.shell.canonical import form_keys

    return form_keys(command)


def _key(references: Sequence[bytes]) -> str:
    return score_key(f"known mutants {mutation_digest()}", b"", references)


def _mutant_digests(references: Sequence[bytes]) -> str:
    from evaluator.shell.canonical import form_digest, form_keys, text_digest
    from evaluator.shell.mutation import mutants_of

    # a candidate that no reader accepts is no more right for that, so the mutants are not read
    mutants = {mutant.command for command in references for mutant in mutants_of(command, only_readable=False)}
    own = {key for command in references for key in form_keys(command)}
    keys = {each: form_digest(each) if len(each) <= LONGEST else text_digest(each) for each in mutants}
    return " ".join(sorted(f"{key}:{command_digest(each)}" for each, key in keys.items() if key not in own))


def known_mutants_of(project: Project, suite: Suite, store: Store) -> KnownMutants:
    """Return the known mutants of a suite. Raises FormatError if the file of equivalent mutants cannot be read."""
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    return KnownMutants(store, marks_of(marks), suite.tasks)
