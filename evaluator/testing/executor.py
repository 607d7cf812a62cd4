"""An executor for tests that runs no command. It takes results from a dictionary or a function, and records requests.

    execution = FakeExecutor({"date": "today", "reboot": InfraError("the engine went away")})
    Grader(suite, judge, store, fingerprint, execution, NullProgress())

The executor serves tests of the pipeline. The tests of the sandbox cover the real evidence of commands.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.scored_boards import board_of
from evaluator.pipeline.evidence.required_runs import reference_items, submitted_items
from evaluator.pipeline.grading.adjudications import rulings_of
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import Evidence
from evaluator.sandbox.image_recipe import image_reference
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import Store
from evaluator.testing.evidence import Raw, evidence

FINGERPRINT: Final = "f" * 64
"""The fingerprint of an imaginary base image."""

Shows = ExecutionResult | Raw
"""The result of a command: evidence, an infrastructure error, or standard output alone."""


class RequestedExecution(NamedTuple):
    """A request for an execution. `before` is the number of earlier executions of the command in this variant."""

    command: str
    world: str
    variant: str
    before: int
    at: float


Play = Callable[[RequestedExecution], Shows]


class FakeExecutor:
    """An executor that takes results from `play`: a function of the request, or a dictionary from command to result.

    `calls` records the requests in order. To simulate an interruption, the executor raises `breaks_with` after
    `breaks_after` results.
    """

    def __init__(
        self,
        play: Play | Mapping[str, Shows],
        *,
        breaks_after: int | None = None,
        breaks_with: type[BaseException] = KeyboardInterrupt,
    ) -> None:
        self._play: Play = play if callable(play) else lambda call: play[call.command]
        self._breaks_after, self._breaks_with = breaks_after, breaks_with
        self.calls: list[RequestedExecution] = []

    def __call__(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        """Yield every request with its result, in the order of the requests. Wait until each request is due."""
        for request in requests:
            time.sleep(max(0.0, request.not_before - time.monotonic()))
            if len(self.calls) == self._breaks_after:
                raise self._breaks_with
            yield request, self._result(request)

    def _result(self, request: Request) -> ExecutionResult:
        command, variant = request.job.command.decode(), request.world.variant
        call = RequestedExecution(command, request.world.name, variant, self.counts[command, variant], time.monotonic())
        self.calls.append(call)
        result = self._play(call)
        return result if isinstance(result, Evidence | InfraError) else evidence(result)

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of executions for each pair of command and variant."""
        return Counter((call.command, call.variant) for call in self.calls)

    @property
    def commands(self) -> set[str]:
        """Return the executed commands."""
        return {call.command for call in self.calls}


def fake_boards(
    project: Project, play: Play | Mapping[str, Shows], judge: str = "consensus", *, everything: bool = False
) -> list[SuiteBoard]:
    """Grade the submissions of a checkout without an engine, and return the boards.

    If `everything` is true, all references and candidates are executed in every variant, also if this decides nothing.
    """
    submissions = load_submissions(project)
    boards = []
    store = Store(project.store_path)
    for suite in project.suites():
        store.set_fingerprint(image_reference(suite.manifest), FINGERPRINT)
        rulings, executor, suite_judge = rulings_of(project, suite), FakeExecutor(play), find_judge(judge)
        grader = Grader(suite, suite_judge, store, FINGERPRINT, executor, NullProgress(), spacing_s=0, rulings=rulings)
        if everything:
            submitted = [item for submission in submissions for item in submitted_items(suite, submission)]
            grader.ensure_evidence([*reference_items(suite, submissions), *submitted])
        boards.append(board_of(suite, submissions, grader))
    store.close()
    return boards
