"""Schedule evidence: read it from the store, and execute the missing runs.

    scheduler.submit(work, requests)
    for work in scheduler.completed():
        ...  # Every run of `work` has evidence or has failed. The caller may submit more work here.

All workers take their executions from one queue, so that a caller that submits a candidate's next variant, second run
or successor never waits for other candidates. The second run of a command starts some time after its first run. In the
meantime, the workers execute other commands, and the caller judges the work that is complete.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from evaluator.errors import InfraError
from evaluator.progress import Progress
from evaluator.records import Evidence, Trial
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import RunKey, Store

Execute = Callable[[Sequence[Request]], Iterator[tuple[Request, ExecutionResult]]]
"""Executes requests, including those that the caller appends while it takes results."""

Work = TypeVar("Work")


@dataclass(slots=True)
class _Pending(Generic[Work]):
    """A piece of the caller's work that waits for the results of the runs in `missing`."""

    work: Work
    missing: set[RunKey]


@dataclass
class EvidenceScheduler(Generic[Work]):
    """Loads evidence into memory and executes missing runs.

    `spacing_s` is the minimum pause between a command's two runs. `failures` holds the infrastructure error of each run
    that failed in its latest execution.
    """

    store: Store
    execute: Execute
    progress: Progress
    spacing_s: float
    evidence: dict[RunKey, Evidence] = field(init=False, default_factory=dict)
    failures: dict[RunKey, InfraError] = field(init=False, default_factory=dict)
    _finished_at: dict[str, float] = field(init=False, default_factory=dict)
    _queue: list[Request] = field(init=False, default_factory=list)
    _requested: dict[RunKey, Request] = field(init=False, default_factory=dict)
    _answered: set[RunKey] = field(init=False, default_factory=set)
    _pending: dict[RunKey, list[_Pending[Work]]] = field(init=False, default_factory=dict)
    _ready: deque[Work] = field(init=False, default_factory=deque)

    def load_cached(self, keys: Iterable[str]) -> None:
        """Load the stored evidence of the first and second runs with these evidence keys."""
        # a difference of sets would take time for each run in memory, and this is called for each item
        runs = {(key, repeat) for key in keys for repeat in (0, 1) if (key, repeat) not in self.evidence}
        self.evidence |= self.store.evidence(runs)

    def trials(self, keys: Mapping[str, str], only: Container[RunKey] | None = None) -> dict[str, Trial]:
        """Return a command's evidence in each variant, whose key `keys` has.

        Leave out variants without evidence, and runs not in `only`.
        """
        trials = {}
        for variant, key in keys.items():
            runs = ((key, 0), (key, 1))
            first, again = (self.evidence.get(run) if only is None or run in only else None for run in runs)
            if first is not None:
                trials[variant] = Trial(first=first, again=again)
        return trials

    def failure(self, keys: Iterable[str]) -> InfraError | None:
        """Return the first infrastructure error in the runs with these evidence keys, or None if no run failed."""
        errors = (self.failures.get((key, repeat)) for key in keys for repeat in (0, 1))
        return next((error for error in errors if error is not None), None)

    def request(self, requests: Iterable[Request]) -> None:
        """Queue requests for runs without evidence. A command's second run waits for the result of its first run."""
        for request in requests:
            run = request.run_key
            if run in self.evidence or run in self._requested:
                continue
            self._requested[run] = request
            first = (run[0], 0)
            if run == first or first not in self._requested or first in self._answered:
                self._enqueue(request)

    def _enqueue(self, request: Request) -> None:
        key, repeat = request.run_key
        finished_at = self._finished_at.get(key)
        due = finished_at + self.spacing_s if repeat and finished_at is not None else 0.0
        self._queue.append(replace(request, not_before=due))

    def submit(self, work: Work, requests: Sequence[Request]) -> None:
        """Request the runs that `work` needs. When every run has a result, `completed` yields `work`."""
        self.request(requests)
        runs = {request.run_key for request in requests}
        missing = {run for run in runs if run not in self.evidence and run not in self._answered}
        pending = _Pending(work, missing)
        for run in missing:
            self._pending.setdefault(run, []).append(pending)
        if not missing:
            self._ready.append(work)

    def completed(self) -> Generator[Work, None, None]:
        """Execute the requested runs and store their evidence. Yield each piece of work when its runs have results."""
        try:
            yield from self._take_ready()
            if self._queue:
                yield from self._execute()
        finally:
            for state in (self._queue, self._requested, self._answered, self._pending, self._ready):
                state.clear()

    def finish(self) -> None:
        """Execute the requested runs and store their evidence. Yield nothing, unlike `completed`."""
        for _ in self.completed():
            pass

    def _execute(self) -> Iterator[Work]:
        planned = set(self._requested)
        added = 0
        self.progress.stage("executing", len(planned))
        for request, result in self.execute(self._queue):
            self._record(request, result)
            yield from self._take_ready()
            if request.run_key in planned:
                self.progress.advance()
            if len(self._requested) - len(planned) > added:
                added = len(self._requested) - len(planned)
                self.progress.note(f"and {added} more")

    def _record(self, request: Request, result: ExecutionResult) -> None:
        """Store the result of one run. Queue the second run of the command if it was requested.

        If no run of a piece of work is missing now, mark this piece of work as ready.
        """
        run = key, repeat = request.run_key
        self._answered.add(run)
        if isinstance(result, InfraError):
            self.failures[run] = result
        else:
            self.failures.pop(run, None)
            self.evidence[run] = result
            self.store.add_evidence(run, result, request.origin)
        if repeat == 0:
            self._finished_at[key] = time.monotonic()
            if (key, 1) in self._requested:
                self._enqueue(self._requested[key, 1])
        for pending in self._pending.pop(run, ()):
            pending.missing.discard(run)
            if not pending.missing:
                self._ready.append(pending.work)

    def _take_ready(self) -> Iterator[Work]:
        while self._ready:
            yield self._ready.popleft()
