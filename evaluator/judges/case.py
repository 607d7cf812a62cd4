"""Define the interface of a judge, the case that a judge decides, and the registry of judges by name.

A judge takes evidence and returns a finding. It has no access to the world, the clock or other submissions. So any
judge can decide a case again at any time from stored evidence.

A case grows. The caller adds the runs that the judge asks for (`decide`), until the judge needs no more. So a case
has exactly the runs that its verdict depends on, whatever else a store has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, runtime_checkable

from evaluator.errors import UsageError
from evaluator.records import Finding, Instructions, Task, Trial
from evaluator.wording import name_hint


@dataclass(frozen=True, slots=True)
class Executed:
    """A command with its recorded runs.

    `trials` maps the name of each variant of the world to the runs in it, and is empty if the command did not run.
    """

    command: bytes
    trials: Mapping[str, Trial]

    def within(self, variants: Collection[str]) -> Executed:
        """Return the command with its runs in these variants only."""
        return replace(self, trials={name: trial for name, trial in self.trials.items() if name in variants})


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate for a task, with the task's references. `candidate` is None if the submission has no command.

    `scratch` lists the suite's directories for temporary files. In these paths, `~` means the directory `home`.
    Commands start in the directory `cwd`. If the candidate is itself a reference of the suite, the caller must exclude
    it from `references`. `is_known_mutant` is true if the candidate's text is a known mutant (a reference with one
    change), unless a maintainer has marked the mutant as harmless.

    `instructions` is the precision of the task's instruction. Two right commands for an open instruction may differ in
    the variants of the world that `contested` names.

    `planned_variants` names the variants in which the candidate is to run, in the order of execution. It may be empty.
    Then the variants are those in which a reference ran. `fresh` names the variants that are drawn for one submission.
    They come last. All other variants are *known*.
    """

    task: Task
    references: tuple[Executed, ...]
    candidate: Executed | None
    home: str
    scratch: tuple[str, ...]
    cwd: str = "/"
    is_known_mutant: bool = False
    instructions: Instructions = Instructions.PRECISE
    contested: frozenset[str] = frozenset()
    planned_variants: tuple[str, ...] = ()
    fresh: frozenset[str] = frozenset()

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the variants in which the candidate is compared, in the order of execution."""
        if self.planned_variants:
            return self.planned_variants
        return tuple(dict.fromkeys(name for reference in self.references for name in reference.trials))

    @property
    def in_first_variant(self) -> Case:
        """The case with the evidence of the first variant alone. Every candidate that ran at all has this evidence."""
        return self.within(self.variants[:1])

    def within(self, variants: Collection[str]) -> Case:
        """Return the case with the evidence of these variants only."""
        return replace(
            self,
            references=tuple(reference.within(variants) for reference in self.references),
            candidate=self.candidate and self.candidate.within(variants),
            planned_variants=tuple(name for name in self.planned_variants if name in variants),
        )

    def until(self, number: int) -> Case:
        """Return the case with the candidate's runs in the first `number` variants, which are then all its variants.

        The references keep their runs in all known variants, and in those fresh ones that are among the first `number`.
        """
        tried = self.variants[:number]
        behind = self.fresh.difference(tried)
        references = tuple(
            reference.within(reference.trials.keys() - behind) if behind else reference for reference in self.references
        )
        candidate = self.candidate and self.candidate.within(tried)
        return replace(self, references=references, candidate=candidate, planned_variants=tried)


class EvidenceNeed(StrEnum):
    """The evidence that a judge reads. The engine does not execute commands for evidence that the judge ignores.

    `TEXT`: the judge reads only the commands and needs no evidence. `RUN`: it reads the first run of each command in
    every variant. `REPEATS`: it is a `StepwiseJudge`, which may also read second runs to find nondeterministic fields.
    """

    TEXT = "text"
    RUN = "run"
    REPEATS = "repeats"


class Judge(Protocol):
    """A heuristic for functional equivalence. A developer who changes the rules must increase `version`.

    `judge` is a pure function: the same case always gives the same finding. It must not raise an exception because of a
    candidate's behaviour, even if the candidate is hostile. If evidence is missing, the finding is an infra-error.
    """

    @property
    def name(self) -> str:
        """The name by which a user selects this judge."""
        ...

    @property
    def version(self) -> int:
        """The version of the judge's rules. A verdict from another version is out of date."""
        ...

    @property
    def basis(self) -> EvidenceNeed:
        """The kind of evidence that this judge reads."""
        ...

    def judge(self, case: Case) -> Finding:
        """Return this judge's finding about the candidate."""
        ...


class NeededRuns(NamedTuple):
    """The runs that a judge needs next: runs of the candidate or of all references, in `variants`.

    `repeat` is 0 for first runs and 1 for second runs.
    """

    of_candidate: bool
    variants: tuple[str, ...]
    repeat: int = 0


@runtime_checkable
class StepwiseJudge(Judge, Protocol):
    """A judge that asks for one variant after another, and may decide before the candidate has run in all of them."""

    def decide(self, case: Case) -> Finding | tuple[NeededRuns, ...]:
        """Return the finding, or the runs that the case lacks and that the finding may depend on.

        The result depends on the case alone. If the caller adds the runs, the judge may need more of them.
        """
        ...


def decide(judge: Judge, case: Case) -> Finding | tuple[NeededRuns, ...]:
    """Return a judge's finding, or the runs that it needs next.

    A judge that is not a `StepwiseJudge` needs the first run of each command in every variant.
    """
    if isinstance(judge, StepwiseJudge):
        return judge.decide(case)
    if judge.basis is EvidenceNeed.TEXT or case.candidate is None:
        return judge.judge(case)
    return lacking_runs(case, case.variants, case.variants) or judge.judge(case)


def lacking_runs(
    case: Case, of_candidate: Sequence[str], of_references: Sequence[str], repeat: int = 0
) -> tuple[NeededRuns, ...]:
    """Return the runs that the candidate lacks in the variants `of_candidate`, and a reference in `of_references`."""

    def lacks(command: Executed, name: str) -> bool:
        trial = command.trials.get(name)
        return trial is None or (repeat == 1 and trial.again is None)

    candidates = [case.candidate] if case.candidate else []
    commands = ((True, candidates, of_candidate), (False, case.references, of_references))
    needed = (
        NeededRuns(is_candidate, tuple(name for name in names if any(lacks(each, name) for each in group)), repeat)
        for is_candidate, group, names in commands
    )
    return tuple(runs for runs in needed if runs.variants)


JUDGES: Final[dict[str, Judge]] = {}
"""All judges by name, in the order of registration."""


def register(judge: Judge) -> Judge:
    """Register a judge under its own name and return the judge. Raises ValueError if the name is in use."""
    if judge.name in JUDGES:
        raise ValueError(f"a judge named {judge.name!r} is registered already")
    JUDGES[judge.name] = judge
    return judge


def find_judge(name: str) -> Judge:
    """Return the judge with this name. Raises UsageError with the available names if there is no such judge."""
    if name not in JUDGES:
        raise UsageError(f"no judge is named {name!r}{name_hint(name, JUDGES, 'bashboard judges list')}")
    return JUDGES[name]
