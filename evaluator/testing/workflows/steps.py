"""A job's steps, one after the other, and those of the composite actions among them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.testing.workflows.commands import read_assignments, read_summary, refuse_reserved
from evaluator.testing.workflows.emulated import ACTIONS
from evaluator.testing.workflows.expressions import Known, Value, WorkflowError, condition, filled_text
from evaluator.testing.workflows.machine import SHELLS
from evaluator.testing.workflows.reading import Step, read_composite
from evaluator.testing.workflows.seat import Seat

StandIn = Callable[[Seat, Mapping[str, str]], dict[str, str]]
"""Takes the place of a step's script: from the seat and the step's environment to its outputs."""

_FILES: Final = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step went: `success`, `failure` or `skipped`, its outputs, and how long it took."""

    place: str
    outcome: str
    outputs: Mapping[str, str]
    took_s: float = 0.0


class Steps:
    """Runs steps in a seat. `stand_ins` are by how a script begins."""

    def __init__(self, seat: Seat, stand_ins: Mapping[str, StandIn]) -> None:
        self._seat, self._stand_ins = seat, stand_ins
        self._known: dict[str, Value] = {}
        self.results: list[StepResult] = []

    def run(self, steps: Sequence[Step]) -> None:
        """Run a job's steps and what they left for the end."""
        (self._seat.machine.temp / "event.json").write_text(json.dumps(self._seat.event.payload))
        self._known = self._all(steps, None, {})
        for each in reversed(self._seat.after):
            each()

    def outputs(self) -> dict[str, str]:
        """The job's outputs; one that holds what is masked is left empty, as GitHub does. Looks at its address too."""
        seat = self._seat
        scope = seat.scope(seat.contexts(self._known), secret=True)
        if not seat.failed:
            filled_text(seat.job.address, scope)
        told = {name: filled_text(value, scope) for name, value in seat.job.outputs.items()}
        return {name: "" if any(each in value for each in seat.log.masks) else value for name, value in told.items()}

    def _all(
        self, steps: Sequence[Step], inputs: Mapping[str, Value] | None, env: Mapping[str, str]
    ) -> dict[str, Value]:
        """Run steps that see each other; the context `steps` as it is then."""
        known: dict[str, Value] = {}
        for step in steps:
            result = self._one(step, known, inputs, env)
            self.results.append(result)
            if result.outcome == "failure" and not step.tolerated:
                self._seat.failed = True
            if step.id:
                conclusion = "success" if step.tolerated and result.outcome == "failure" else result.outcome
                # a step that was not done has no outputs, and nobody's pen slipped
                outputs = Known(result.outputs) if result.outcome == "success" else dict(result.outputs)
                known[step.id] = Known(outputs=outputs, outcome=result.outcome, conclusion=conclusion)
        return known

    def _one(
        self, step: Step, known: Mapping[str, Value], inputs: Mapping[str, Value] | None, env: Mapping[str, str]
    ) -> StepResult:
        seat = self._seat
        contexts = seat.contexts(known, inputs)
        if not condition(step.condition or "success()", seat.scope(contexts, secret=False)):
            return StepResult(step.place, "skipped", {})
        scope = seat.scope(contexts, secret=inputs is None)
        mine = {**env, **{name: filled_text(value, scope) for name, value in step.env.items()}}
        given = {name: filled_text(value, scope) for name, value in step.given.items()}
        before, began = seat.failed, time.monotonic()
        try:
            outputs = self._script(step, mine) if step.run else self._action(step, given, mine)
            outcome = "failure" if seat.failed and not before else "success"
        except _StepFailedError as error:
            outputs, outcome = error.outputs, "failure"
        if step.tolerated:
            seat.failed = before
        seat.log.say(f"[{outcome}] {step.place}")
        return StepResult(step.place, outcome, outputs, time.monotonic() - began)

    def _action(self, step: Step, given: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
        if step.uses.startswith(("./", "$/")):
            return self._composite(step, given, env)
        if step.uses not in ACTIONS:
            raise WorkflowError(f"{step.place}: {step.uses!r} is no action that was looked at")
        try:
            return ACTIONS[step.uses](self._seat, given)
        except WorkflowError as error:
            self._seat.log.say(f"{step.uses}: {error}")
            raise _StepFailedError({}) from error

    def _composite(self, step: Step, given: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
        """An action of the repository: of the workspace (`./`), or of the commit whose workflow runs (`$/`)."""
        seat = self._seat
        path = f"{step.uses[2:]}/action.yml"
        if step.uses.startswith("./"):
            text = (seat.machine.workspace / path).read_text("utf-8")
        else:
            text = seat.event.hosted.git.blob(f"{seat.event.commit}:{path}").decode()
        action = read_composite(path, text)
        unknown, missing = sorted(set(given) - set(action.inputs)), sorted(action.required - set(given))
        if unknown or missing:
            raise WorkflowError(f"{step.place}: {step.uses} has no {unknown} and needs {missing}")
        inputs = {**action.inputs, **given}
        known = self._all(action.steps, inputs, env)
        scope = seat.scope(seat.contexts(known, inputs), secret=False)
        return {name: filled_text(value, scope) for name, value in action.outputs.items()}

    def _script(self, step: Step, env: Mapping[str, str]) -> dict[str, str]:
        seat = self._seat
        if step.shell not in SHELLS:
            raise WorkflowError(f"{step.place}: this runner does not know the shell {step.shell!r}")
        files = {name: seat.machine.temp / name for name in _FILES}
        for file in files.values():
            file.write_bytes(b"")
        around = {**seat.variables(), **{name: str(file) for name, file in files.items()}, **env}
        stand_in = next((each for start, each in self._stand_ins.items() if step.run.startswith(start)), None)
        seat.log.say(f"$ {step.run.strip()}")
        if stand_in is not None:
            return stand_in(seat, around)
        code, printed = seat.machine.execute(step.run, step.shell, step.folder, around)
        seat.log.read(printed)
        outputs = self._taken(files)
        if code:
            seat.log.say(f"the script ended with exit code {code}")
            raise _StepFailedError(outputs)
        return outputs

    def _taken(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Take in what a script wrote to the runner's files; its outputs."""
        seat = self._seat
        env = read_assignments(files["GITHUB_ENV"])
        refuse_reserved(env)
        seat.env.update(env)
        for line in files["GITHUB_PATH"].read_text("utf-8").splitlines():
            seat.paths.insert(0, line)
        seat.summary += read_summary(files["GITHUB_STEP_SUMMARY"])
        return read_assignments(files["GITHUB_OUTPUT"])


class _StepFailedError(Exception):
    """A step failed, with what it had written by then."""

    def __init__(self, outputs: dict[str, str]) -> None:
        super().__init__()
        self.outputs = outputs
