"""The interface of a judge, the case it decides, and the registry of judges by name.

A judge takes evidence and returns a finding. It never sees the world, the clock or another submission. A finding can
therefore be derived again from stored evidence at any time, and any other judge can decide the same case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from evaluator.errors import UsageError
from evaluator.records import Finding, Outcome, Step, Task, Trial

_COMPARING: Final = frozenset({Step.FILES, Step.SHELL, Step.PROCESSES, Step.EXIT, Step.STDERR, Step.OUTPUT, Step.SCORE})


def needs_second_run(finding: Finding) -> bool:
    """Return whether the candidate needs a second, spaced run before this finding counts.

    This is so if the candidate did not pass and the judge decided by comparing evidence: a field that changes from run
    to run may be the cause. An over-long, unreadable, missing or verified command would get the same finding again.
    """
    return finding.outcome in (Outcome.FAIL, Outcome.UNDECIDED) and finding.step in _COMPARING


@dataclass(frozen=True, slots=True)
class Executed:
    """A command and its trials by variant name. There are no trials if the command was not executed."""

    command: bytes
    trials: Mapping[str, Trial]


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate for a task, with the task's references. `candidate` is None if the submission has no command.

    `scratch` holds the suite's scratch paths, in which `~` means the directory `home`. Commands start in the directory
    `cwd`. The caller must leave the judged command out of the references. `is_known_mutant` is true if the candidate's
    text is a known mutant of a reference that no maintainer has marked as harmless.
    """

    task: Task
    references: tuple[Executed, ...]
    candidate: Executed | None
    home: str
    scratch: tuple[str, ...]
    cwd: str = "/"
    is_known_mutant: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """Return the names of all variants in which a reference ran, in execution order."""
        return tuple(dict.fromkeys(name for reference in self.references for name in reference.trials))


class EvidenceNeed(StrEnum):
    """The evidence that a judge reads, so that the engine executes nothing that the judge ignores.

    `TEXT`: only the commands. Its cases may have no evidence. `RUN`: the first run of each command. `REPEATS`: also the
    second run of a candidate that did not pass, which shows the nondeterministic fields.
    """

    TEXT = "text"
    RUN = "run"
    REPEATS = "repeats"


class Judge(Protocol):
    """A functional-equivalence heuristic. Every change of its rules must raise its `version`.

    `judge` is pure: the same case always gives the same finding. A candidate's behaviour, even a hostile one, never
    makes it raise an exception. Missing evidence is an infra-error and never a score.
    """

    @property
    def name(self) -> str:
        """Return the name by which a user selects this judge."""
        ...

    @property
    def version(self) -> int:
        """Return the version. It is part of the verdict key, so a newer version makes older verdicts outdated."""
        ...

    @property
    def basis(self) -> EvidenceNeed:
        """Return the evidence that this judge reads."""
        ...

    def judge(self, case: Case) -> Finding:
        """Return this judge's finding about the candidate."""
        ...


JUDGES: Final[dict[str, Judge]] = {}
"""All judges by name, in the order of registration."""


def register(judge: Judge) -> Judge:
    """Add a judge under its own name and return it. Raises ValueError if the name is in use."""
    if judge.name in JUDGES:
        raise ValueError(f"a judge named {judge.name!r} is registered already")
    JUDGES[judge.name] = judge
    return judge


def find_judge(name: str) -> Judge:
    """Return the judge with this name. Raises UsageError, which lists the available names."""
    if name not in JUDGES:
        raise UsageError(f"no judge is named {name!r}; there are: {', '.join(JUDGES)}")
    return JUDGES[name]
