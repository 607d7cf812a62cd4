"""A runner of the steps of a job, including the steps of composite actions. Steps run one after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.doubles.workflows.actions import ACTIONS
from tests.doubles.workflows.commands import read_assignments, read_summary, refuse_reserved
from tests.doubles.workflows.expressions import StrictDict, Value, WorkflowError, condition, filled_text
from tests.doubles.workflows.job_context import JobContext
from tests.doubles.workflows.job_machine import SHELLS
from tests.doubles.workflows.load_workflow import Step, read_composite

StandIn = Callable[[JobContext, Mapping[str, str]], dict[str, str]]
"""A function that replaces the script of a step. It takes the job and the step's environment, and returns outputs."""

_FILES: Final = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step. `outcome` is `success`, `failure` or `skipped`, and `took_s` is the duration in seconds."""

    place: str
    outcome: str
    outputs: Mapping[str, str]
    took_s: float = 0.0


class Steps:
    """The steps of a job. `stand_ins` maps the beginning of a script to the function that replaces it."""

    def __init__(self, seat: JobContext, stand_ins: Mapping[str, StandIn]) -> None:
        self._seat, self._stand_ins = seat, stand_ins
        self._known: dict[str, Value] = {}
        self.results: list[StepResult] = []

    def run(self, steps: Sequence[Step]) -> None:
        """Run the steps of a job, and then the cleanup functions that they registered."""
        (self._seat.machine.temp / "event.json").write_text(json.dumps(self._seat.event.payload))
        self._known = self._all(steps, None, {})
        for cleanup in reversed(self._seat.after):
            cleanup()

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the job. As on GitHub, an output that contains a masked text is empty."""
        seat = self._seat
        contexts = seat.contexts(self._known)
        if not seat.failed:
            filled_text(seat.job.address, contexts)
        outputs = {name: filled_text(value, contexts) for name, value in seat.job.outputs.items()}
        return {name: "" if any(mask in value for mask in seat.log.masks) else value for name, value in outputs.items()}

    def _all(
        self, steps: Sequence[Step], inputs: Mapping[str, Value] | None, env: Mapping[str, str]
    ) -> dict[str, Value]:
        """Run steps that share one context `steps`, and return that context."""
        known: dict[str, Value] = {}
        for step in steps:
            result = self._one(step, known, inputs, env)
            self.results.append(result)
            if result.outcome == "failure" and not step.tolerated:
                self._seat.failed = True
            if step.id:
                conclusion = "success" if step.tolerated and result.outcome == "failure" else result.outcome
                # a missing output is null if the step did not succeed, and otherwise a mistake
                outputs = StrictDict(result.outputs) if result.outcome == "success" else dict(result.outputs)
                known[step.id] = StrictDict(outputs=outputs, outcome=result.outcome, conclusion=conclusion)
        return known

    def _one(
        self, step: Step, known: Mapping[str, Value], inputs: Mapping[str, Value] | None, env: Mapping[str, str]
    ) -> StepResult:
        seat = self._seat
        if not condition(step.condition, seat.contexts(known, inputs, secrets=False), success=not seat.failed):
            return StepResult(step.place, "skipped", {})
        contexts = seat.contexts(known, inputs, secrets=inputs is None)
        variables = {**env, **{name: filled_text(value, contexts) for name, value in step.env.items()}}
        arguments = {name: filled_text(value, contexts) for name, value in step.inputs.items()}
        before, began = seat.failed, time.monotonic()
        try:
            outputs = self._script(step, variables) if step.run else self._action(step, arguments, variables)
            outcome = "failure" if seat.failed and not before else "success"
        except _StepFailedError as error:
            outputs, outcome = error.outputs, "failure"
        if step.tolerated:
            seat.failed = before
        seat.log.say(f"[{outcome}] {step.place}")
        return StepResult(step.place, outcome, outputs, time.monotonic() - began)

    def _action(self, step: Step, arguments: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
        if step.uses.startswith(("./", "$/")):
            return self._composite(step, arguments, env)
        if step.uses not in ACTIONS:
            raise WorkflowError(f"{step.place}: {step.uses!r} is not an action that a maintainer has reviewed")
        try:
            return ACTIONS[step.uses](self._seat, arguments)
        except WorkflowError as error:
            self._seat.log.say(f"{step.uses}: {error}")
            raise _StepFailedError({}) from error

    def _composite(self, step: Step, arguments: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
        """Run a composite action from the workspace (`./`) or from the commit of the workflow (`$/`)."""
        seat = self._seat
        path = f"{step.uses[2:]}/action.yml"
        if step.uses.startswith("./"):
            text = (seat.machine.workspace / path).read_text("utf-8")
        else:
            text = seat.event.hosted.git.blob(f"{seat.event.commit}:{path}").decode()
        action = read_composite(path, text)
        unknown, missing = sorted(set(arguments) - set(action.inputs)), sorted(action.required - set(arguments))
        if unknown or missing:
            raise WorkflowError(f"{step.place}: {step.uses}: unknown inputs {unknown}, missing inputs {missing}")
        inputs = {**action.inputs, **arguments}
        known = self._all(action.steps, inputs, env)
        contexts = seat.contexts(known, inputs, secrets=False)
        return {name: filled_text(value, contexts) for name, value in action.outputs.items()}

    def _script(self, step: Step, env: Mapping[str, str]) -> dict[str, str]:
        seat = self._seat
        if step.shell not in SHELLS:
            raise WorkflowError(f"{step.place}: this runner does not know the shell {step.shell!r}")
        files = {name: seat.machine.temp / name for name in _FILES}
        for file in files.values():
            file.write_bytes(b"")
        variables = {**seat.variables(), **{name: str(file) for name, file in files.items()}, **env}
        stand_in = next((stand_in for start, stand_in in self._stand_ins.items() if step.run.startswith(start)), None)
        seat.log.say(f"$ {step.run.strip()}")
        if stand_in is not None:
            return stand_in(seat, variables)
        code, printed = seat.machine.execute(step.run, step.shell, step.folder, variables)
        seat.log.read(printed)
        outputs = self._collect(files)
        if code:
            seat.log.say(f"the script ended with exit code {code}")
            raise _StepFailedError(outputs)
        return outputs

    def _collect(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Apply the files by which a script gives commands to the runner, and return the outputs in them."""
        seat = self._seat
        env = read_assignments(files["GITHUB_ENV"])
        refuse_reserved(env)
        seat.env.update(env)
        for line in files["GITHUB_PATH"].read_text("utf-8").splitlines():
            seat.paths.insert(0, line)
        seat.summary += read_summary(files["GITHUB_STEP_SUMMARY"])
        return read_assignments(files["GITHUB_OUTPUT"])


class _StepFailedError(Exception):
    """A step failed. `outputs` are the outputs that the step wrote before it failed."""

    def __init__(self, outputs: dict[str, str]) -> None:
        super().__init__()
        self.outputs = outputs
