"""A candidate beside its references, variant by variant, as the rules of `consensus` look at them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.collateral import scratch_leftovers
from evaluator.judges.consensus.effects import Key
from evaluator.judges.consensus.file_effects import unset_keys
from evaluator.judges.consensus.views import View, view
from evaluator.records import Evidence, Observation, OutputMode, Step, Task


@dataclass(frozen=True, slots=True)
class Sight:
    """One variant. `unset` are modes and owners that no reference sets, `leftovers` candidate's facts in scratch."""

    variant: str
    candidate: View
    references: tuple[View, ...]
    unset: frozenset[Key]
    leftovers: frozenset[Key]

    def without_own_masks(self) -> Sight:
        """The same, with nothing masked that only the candidate's own second run shows as volatile."""
        return replace(self, candidate=self.candidate.without_masks())

    def ignored(self, step: Step, references: tuple[View, ...]) -> set[Key]:
        """Facts that are not compared with these references: volatile in any of them, or set by none."""
        keys = set(self.unset) if step is Step.FILES else set()
        return keys.union(*(seen.changing.get(step, frozenset()) for seen in (self.candidate, *references)))


def sights_of(case: Case, candidate: Executed, references: tuple[Executed, ...]) -> list[Sight]:
    """Every variant of the case, seen."""
    return [_sight(case, variant, candidate, references) for variant in case.variants]


def _sight(case: Case, variant: str, candidate: Executed, references: tuple[Executed, ...]) -> Sight:
    ours = view(candidate.trials[variant], case.task)
    theirs = tuple(view(reference.trials[variant], case.task) for reference in references)
    left = scratch_leftovers(case, variant)
    return Sight(
        variant=variant,
        candidate=ours,
        references=theirs,
        unset=frozenset(unset_keys(ours.evidence, [seen.evidence for seen in theirs])),
        leftovers=frozenset(key for key in ours.facts[Step.FILES] if key.subject in left),
    )


def same_bytes(task: Task, candidate: Executed, reference: Executed, variants: tuple[str, ...]) -> bool:
    """True where everything the task compares is the same to the byte: the common case, settled cheaply."""
    return all(
        _same_evidence(task, candidate.trials[variant].first, reference.trials[variant].first) for variant in variants
    )


def _same_evidence(task: Task, ours: Evidence, theirs: Evidence) -> bool:
    observe = task.observe
    return (
        (task.output is OutputMode.NONE or ours.stdout.digest == theirs.stdout.digest)
        and not ours.changes_truncated
        and not theirs.changes_truncated
        and ours.changes == theirs.changes
        and (Observation.EXIT not in observe or (ours.status == 0) == (theirs.status == 0))
        and (Observation.STDERR not in observe or ours.stderr.digest == theirs.stderr.digest)
        and (Observation.SHELL not in observe or ours.shell == theirs.shell)
        and (Observation.PROCESSES not in observe or ours.processes == theirs.processes)
    )
