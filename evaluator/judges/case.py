"""Define the interface of a judge, the case that a judge decides, and the registry of judges by name.

A judge takes evidence and returns a finding. It has no access to the world, the clock or other submissions. So any
judge can decide a case again at any time from stored evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol

from evaluator.errors import UsageError
from evaluator.records import Finding, Instructions, Outcome, Step, Task, Trial
from evaluator.wording import name_hint

_COMPARING: Final = frozenset({Step.FILES, Step.SHELL, Step.PROCESSES, Step.EXIT, Step.STDERR, Step.OUTPUT, Step.SCORE})


def needs_second_run(finding: Finding) -> bool:
    """Return whether the candidate must be run a second time before this finding is final.

    The answer is yes if the candidate did not pass a comparison of evidence: a nondeterministic field may be the cause.
    The answer is no for other findings, for example after a timeout or a syntax error, and for open tasks, whose rules
    do not use a second run of the candidate.
    """
    is_compared = finding.step in _COMPARING and not finding.rule
    return is_compared and finding.outcome in (Outcome.FAIL, Outcome.UNDECIDED)


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

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of all variants in which at least one reference ran, in the order of execution."""
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
        )


class EvidenceNeed(StrEnum):
    """The evidence that a judge reads. The engine does not execute commands for evidence that the judge ignores.

    `TEXT`: the judge reads only the commands and needs no evidence. `RUN`: it reads the first run of each command.
    `REPEATS`: it also reads a second run of candidates that did not pass, to find nondeterministic fields.
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
