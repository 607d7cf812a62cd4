"""Required and allowed: what every reference does, and what any of them does.

A dimension of evidence (files, shell, processes, exit) becomes *facts*: one value per subject, facet and
part. On facts all rules are the same: a fact that every reference shows must be there, and what is there
must be what some reference shows. Fields, never whole dimensions, are left out of the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from evaluator.records import Evidence, Observation, Step, Task


class EffectKey(NamedTuple):
    """Names one comparable field: of which subject (a path, a variable), which facet, which part of it."""

    subject: bytes
    facet: IntEnum
    part: bytes = b""


Facts: TypeAlias = Mapping[EffectKey, Hashable]


class Difference(NamedTuple):
    """A field that is not as the references have it.

    `present` tells whether the candidate shows the field at all; `expected` holds the values of the
    references that show it, none where no reference does.
    """

    key: EffectKey
    present: bool
    found: Hashable
    expected: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of evidence compared by facts; `observation` is None where it is always compared."""

    step: Step
    observation: Observation | None
    facts: Callable[[Evidence, Task], Facts]
    describe: Callable[[Difference], str]
    name: Callable[[EffectKey], str]

    def is_observed(self, task: Task) -> bool:
        """True where the task asks for this dimension."""
        return self.observation is None or self.observation in task.observe


def differences(
    candidate: Facts, references: Sequence[Facts], ignored: Collection[EffectKey] = ()
) -> Iterator[Difference]:
    """Every required field missing and every field present that no reference allows, in order of keys."""
    if all(candidate == facts for facts in references):
        return
    required = set(references[0]).intersection(*references[1:])
    for key in sorted((required | candidate.keys()).difference(ignored)):
        expected = tuple(dict.fromkeys(facts[key] for facts in references if key in facts))
        present = key in candidate
        if not present or candidate[key] not in expected:
            yield Difference(key, present, candidate.get(key), expected)


def changing(first: Facts, again: Facts) -> frozenset[EffectKey]:
    """Fields that two runs of one command do not show alike."""
    if first == again:
        return frozenset()
    return frozenset(
        key for key in first.keys() | again.keys() if key not in first or key not in again or first[key] != again[key]
    )
