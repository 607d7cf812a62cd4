"""Compare the effects of a candidate with required effects (in every reference) and allowed effects (in at least one).

Each dimension of evidence (files, shell, processes, exit) is converted to *facts*. A fact is the value of one field.
The key of the field names a subject (such as a path), a facet (such as the mode) and, if necessary, a part (such as a
member of an archive). The same rules apply to all facts. A field that every reference shows is required. A value that
no reference shows is not allowed. Single fields can be excluded from the comparison, but never a whole dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from evaluator.records import Evidence, Observation, Step, Task


class EffectKey(NamedTuple):
    """The key of one field: its subject (a path, a variable), its facet (such as the mode), and its part if needed."""

    subject: bytes
    facet: IntEnum
    part: bytes = b""


Facts: TypeAlias = Mapping[EffectKey, Hashable]


class Difference(NamedTuple):
    """A field that differs from the references.

    `present` is true if the candidate shows the field. `expected` holds the field's values in the references, and is
    empty if no reference shows the field.
    """

    key: EffectKey
    present: bool
    actual: Hashable
    expected: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of evidence that is compared as facts. `observation` is None if every task compares this kind."""

    step: Step
    observation: Observation | None
    facts: Callable[[Evidence, Task], Facts]
    describe: Callable[[Difference], str]
    name: Callable[[EffectKey], str]

    def is_observed(self, task: Task) -> bool:
        """Return whether the task compares this dimension."""
        return self.observation is None or self.observation in task.observe


def differences(
    candidate: Facts, references: Sequence[Facts], ignored: Collection[EffectKey] = ()
) -> Iterator[Difference]:
    """Yield, sorted by key, each required field that is missing and each field whose value is in no reference."""
    if all(candidate == facts for facts in references):
        return
    required = set(references[0]).intersection(*references[1:])
    for key in sorted((required | candidate.keys()).difference(ignored)):
        expected = tuple(dict.fromkeys(facts[key] for facts in references if key in facts))
        present = key in candidate
        if not present or candidate[key] not in expected:
            yield Difference(key, present, candidate.get(key), expected)


def changing(first: Facts, again: Facts) -> frozenset[EffectKey]:
    """Return the keys of fields that differ between two runs of one command."""
    if first == again:
        return frozenset()
    return frozenset(
        key for key in first.keys() | again.keys() if key not in first or key not in again or first[key] != again[key]
    )
