"""Evidence brought to hand: from the store, and by execution what is not there.

What is wanted is told together with what is to be done once it is there, and that may want more. So there is one
stream of executions and no stage that waits for another: while a command's second run is not due yet, workers
execute others, and what is complete is judged meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evaluator.errors import InfraError
from evaluator.progress import Progress
from evaluator.records import Evidence
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import RunKey, Store

Execute = Callable[[Sequence[Request]], Iterator[tuple[Request, ExecutionResult]]]
"""Executes requests, those too that are appended while its answers are taken."""


@dataclass(eq=False)
class _Want:
    """Something to be done once these runs are answered."""

    missing: set[RunKey]
    then: Callable[[], None]


@dataclass
class EvidenceScheduler:
    """The evidence at hand. A second run is executed no sooner than `spacing_s` after the first.

    `failures` holds the failure of ours that kept a run from having evidence, when it was last tried.
    """

    store: Store
    execute: Execute
    progress: Progress
    spacing_s: float
    evidence: dict[RunKey, Evidence] = field(init=False, default_factory=dict)
    failures: dict[RunKey, InfraError] = field(init=False, default_factory=dict)
    _finished_at: dict[str, float] = field(init=False, default_factory=dict)
    _requests: list[Request] = field(init=False, default_factory=list)
    _runs: dict[int, RunKey] = field(init=False, default_factory=dict)
    _asked: dict[RunKey, Request] = field(init=False, default_factory=dict)
    _answered: set[RunKey] = field(init=False, default_factory=set)
    _wants: dict[RunKey, list[_Want]] = field(init=False, default_factory=dict)
    _ready: deque[_Want] = field(init=False, default_factory=deque)

    def load_cached(self, keys: Iterable[str]) -> None:
        """Take both runs of these evidence keys from the store, as far as they are there.

        What an earlier judging ran twice belongs to a case as much as what this one does.
        """
        runs = {(key, run) for key in keys for run in (0, 1)}
        self.evidence |= self.store.evidence(runs - self.evidence.keys())

    def when_available(self, runs: Mapping[RunKey, Request], then: Callable[[], None] | None = None) -> None:
        """Have what is missing of these runs executed by `finish`, which calls `then` when all are answered."""
        missing = {run: request for run, request in runs.items() if run not in self.evidence}
        for run, request in missing.items():
            if run not in self._asked:
                self._ask(run, request)
        wanted = _Want(missing.keys() - self._answered, then or _nothing)
        for run in wanted.missing:
            self._wants.setdefault(run, []).append(wanted)
        if not wanted.missing:
            self._ready.append(wanted)

    def _ask(self, run: RunKey, request: Request) -> None:
        """Line a run up, a second one not before the first is answered."""
        self._asked[run] = request
        first = (run[0], 0)
        if run == first or first not in self._asked or first in self._answered:
            self._line_up(run)

    def _line_up(self, run: RunKey) -> None:
        key, number = run
        finished_at = self._finished_at.get(key)
        due = finished_at + self.spacing_s if number and finished_at is not None else 0.0
        # a copy, because answers are told apart by the object that was asked, and a command may be executed twice
        request = replace(self._asked[run], not_before=due)
        self._runs[id(request)] = run
        self._requests.append(request)

    def finish(self) -> None:
        """Execute until nothing that is wanted is missing. Evidence is kept as soon as it is there."""
        try:
            self._settle()
            if self._requests:
                self._execute()
        finally:
            for done in (self._requests, self._runs, self._asked, self._answered, self._wants, self._ready):
                done.clear()

    def _execute(self) -> None:
        planned = set(self._asked)
        more = 0
        self.progress.stage("executing", len(planned))
        for request, answer in self.execute(self._requests):
            run = self._runs[id(request)]
            self._take(run, answer)
            self._settle()
            if run in planned:
                self.progress.advance()
            if len(self._asked) - len(planned) > more:
                more = len(self._asked) - len(planned)
                self.progress.note(f"{more} once more")

    def _take(self, run: RunKey, answer: ExecutionResult) -> None:
        """Keep one answer, line up the second run that was waiting for it, and see who has all they want."""
        key, number = run
        self._answered.add(run)
        if isinstance(answer, InfraError):
            self.failures[run] = answer
        else:
            self.failures.pop(run, None)
            self.evidence[run] = answer
            self.store.add_evidence(run, answer)
        if number == 0:
            self._finished_at[key] = time.monotonic()
            if (key, 1) in self._asked:
                self._line_up((key, 1))
        for wanted in self._wants.pop(run, ()):
            wanted.missing.discard(run)
            if not wanted.missing:
                self._ready.append(wanted)

    def _settle(self) -> None:
        while self._ready:
            self._ready.popleft().then()


def _nothing() -> None:
    """What is to be done where the evidence is all that was wanted."""
