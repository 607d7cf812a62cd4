"""Compare the effects of a candidate with required effects (in every reference) and allowed effects (in at least one).

The evidence has several dimensions: files, shell, processes, exit. Each dimension is converted to facts. A *fact* is
the value of one field. The key of a field names a subject (such as a path), a facet (such as the mode) and, if
necessary, a part (such as a member of an archive). The candidate must have every field that all references have, and no
value that no reference has. A caller can exclude single fields from the comparison, but never a whole dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from heapq import heapify, heappop
from typing import NamedTuple, TypeAlias

from evaluator.records import Evidence, Observation, Step, Task


class Facet(IntEnum):
    """One property of a subject, such as the mode of a path. Differences are reported in the order of the members.

    The hash of a member is the hash of its number, because the usual hash of an enumeration is slow.
    """

    __hash__ = int.__hash__


class EffectKey(NamedTuple):
    """The key of one field: its subject (a path, a variable), its facet (such as the mode), and its part if needed."""

    subject: bytes
    facet: Facet
    part: bytes = b""


Facts: TypeAlias = Mapping[EffectKey, Hashable]
Ignored: TypeAlias = Callable[[EffectKey], bool]


Counts: TypeAlias = Callable[[EffectKey, Sequence[Facts]], bool]
"""A test that tells whether a field counts, from the facts of all references."""


def never(key: EffectKey) -> bool:
    """Return False for every field. `differences` uses this test by default, so that it ignores no field."""
    return False


def always(key: EffectKey, references: Sequence[Facts]) -> bool:
    """Return True for every field. A dimension uses this test by default, so that all of its fields count."""
    return True


def is_agreed(key: EffectKey, references: Sequence[Facts]) -> bool:
    """Return whether all references show the same value of a field, or none of them shows the field."""
    return len({(key in facts, facts.get(key)) for facts in references}) == 1


def is_taught(key: EffectKey, references: Sequence[Facts]) -> bool:
    """Return whether two or more references agree about a field. A single reference may show it by accident."""
    return len(references) > 1 and is_agreed(key, references)


class Difference(NamedTuple):
    """A field in which the candidate differs from the references.

    `present` is true if the candidate shows the field. `expected` holds the field's values in the references, and is
    empty if no reference shows the field.
    """

    key: EffectKey
    present: bool
    actual: Hashable
    expected: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of evidence that the judge compares as facts, such as file changes or the final shell state.

    The judge compares this kind only in tasks that list `observation`, or in every task if `observation` is None.
    `counts` tells whether a field counts: some fields count only if all references agree about them.
    """

    step: Step
    observation: Observation | None
    facts: Callable[[Evidence, Task], Facts]
    describe: Callable[[Difference], str]
    name: Callable[[EffectKey], str]
    counts: Counts = always

    def is_observed(self, task: Task) -> bool:
        """Return whether the task compares this kind of evidence."""
        return self.observation is None or self.observation in task.observe


def differences(candidate: Facts, references: Sequence[Facts], is_ignored: Ignored = never) -> Iterator[Difference]:
    """Yield the fields in which the candidate differs from the references, sorted by key.

    The candidate differs if it lacks a field that all references show, or if it shows a value that no reference shows.
    """
    keys = list(_differing(candidate, references, is_ignored))
    heapify(keys)
    while keys:
        key = heappop(keys)
        expected = tuple(dict.fromkeys(facts[key] for facts in references if key in facts))
        yield Difference(key, key in candidate, candidate.get(key), expected)


def same_facts(candidate: Facts, reference: Facts, is_ignored: Ignored = never) -> bool:
    """Return whether all fields that are not ignored have equal values in candidate and reference."""
    return next(_differing(candidate, [reference], is_ignored), None) is None


def _differing(candidate: Facts, references: Sequence[Facts], is_ignored: Ignored) -> Iterator[EffectKey]:
    if all(candidate == facts for facts in references):
        return
    required = set(references[0]).intersection(*references[1:])
    for key in required.difference(candidate):
        if not is_ignored(key):
            yield key
    for key, value in candidate.items():
        if not is_ignored(key) and all(key not in facts or facts[key] != value for facts in references):
            yield key


def changing(first: Facts, again: Facts) -> frozenset[EffectKey]:
    """Return the keys of fields that differ between two runs of one command."""
    if first == again:
        return frozenset()
    return frozenset(
        key for key in first.keys() | again.keys() if key not in first or key not in again or first[key] != again[key]
    )
