"""What a judge is given and what it is: evidence in, finding out, nothing else.

A judge never sees the world, the clock or another submission, so a finding can be derived again from
stored evidence at any time and by any other judge.

Which findings ask for a second, spaced run of the candidate before they count.

Judges by name, so that a board can be graded again by any of them and they can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from evaluator.errors import UsageError
from evaluator.records import Finding, Outcome, Step, Task, Trial

_COMPARED: Final = frozenset({Step.FILES, Step.SHELL, Step.PROCESSES, Step.EXIT, Step.STDERR, Step.OUTPUT, Step.SCORE})


def needs_second_run(finding: Finding) -> bool:
    """True where the candidate did not pass and comparing evidence decided so.

    Only there can a field that changes from run to run be at fault. Over-long, unreadable, missing and
    verified commands would say the same again.
    """
    return finding.outcome in (Outcome.FAIL, Outcome.UNDECIDED) and finding.step in _COMPARED


@dataclass(frozen=True, slots=True)
class Executed:
    """A command and its trials, by the name of the world's variant. No trials where nothing was run."""

    command: bytes
    trials: Mapping[str, Trial]


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate of one task beside the task's references; `candidate` is None where none was given.

    `home` is the directory that `~` means in `scratch`, the suite's scratch paths, and `cwd` the one that commands
    start in. Whoever is judged is never among the references: leaving them out is the caller's part. `slip` tells
    that the candidate's text is a reference's with one slip in it, and that nobody has found that slip harmless.
    """

    task: Task
    references: tuple[Executed, ...]
    candidate: Executed | None
    home: str
    scratch: tuple[str, ...]
    cwd: str = "/"
    slip: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants any reference ran in, in the order they were run."""
        return tuple(dict.fromkeys(name for reference in self.references for name in reference.trials))


class EvidenceNeed(StrEnum):
    """What a judge looks at, so that nothing is executed that it would not see.

    `TEXT`: the commands themselves; its cases may come without any evidence. `RUN`: a command's first run.
    `REPEATS`: also the second run of a candidate that did not pass, which tells what changes by itself.
    """

    TEXT = "text"
    RUN = "run"
    REPEATS = "repeats"


class Judge(Protocol):
    """A functional-equivalence heuristic. A change of its rules is a change of its `version`.

    `judge` is pure: the same case gives the same finding, whatever was judged before. What the candidate
    did, hostile or not, is never an exception; evidence that is missing is an infra-error, never a score.
    """

    @property
    def name(self) -> str:
        """The name a board is graded under."""
        ...

    @property
    def version(self) -> int:
        """Part of a verdict's key: a newer version makes older verdicts stale."""
        ...

    @property
    def basis(self) -> EvidenceNeed:
        """What it looks at."""
        ...

    def judge(self, case: Case) -> Finding:
        """What this heuristic says of the candidate."""
        ...


JUDGES: Final[dict[str, Judge]] = {}
"""Every judge by its name, in the order of registration."""


def register(judge: Judge) -> Judge:
    """Add a judge under its own name and return it. Raises ValueError where the name is taken."""
    if judge.name in JUDGES:
        raise ValueError(f"a judge named {judge.name!r} is registered already")
    JUDGES[judge.name] = judge
    return judge


def find_judge(name: str) -> Judge:
    """The judge of that name. Raises UsageError, which lists the names there are."""
    if name not in JUDGES:
        raise UsageError(f"no judge is named {name!r}; there are: {', '.join(JUDGES)}")
    return JUDGES[name]
