"""A runner of a repository's workflow files. It uses the double of GitHub, and really executes `run:` steps.

Jobs run one after the other, in an order that their `needs` allow. Like GitHub, the runner keeps secrets from untrusted
code. A fork's pull request gets no secret and a read-only token. Only a job that names an environment gets the secrets
of the environment. A token has the permissions of its job, and becomes invalid at the end of the job.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.doubles.github import Annotation, GitHubServer, HostedRepo, WorkflowRun
from tests.doubles.workflows.caches import CacheStore
from tests.doubles.workflows.calls import check_calls, interface, outputs_of, passed_inputs, passed_secrets
from tests.doubles.workflows.expressions import (
    Contexts,
    StrictDict,
    Value,
    WorkflowError,
    condition,
    filled,
    filled_text,
)
from tests.doubles.workflows.job_context import JobContext, about_run
from tests.doubles.workflows.job_machine import JobMachine
from tests.doubles.workflows.load_workflow import Call, JobDefinition, Workflow, read_workflow
from tests.doubles.workflows.steps import StandIn, StepResult, Steps
from tests.doubles.workflows.triggers import Event, dispatch_inputs, triggered

_FOLDER: Final = ".github/workflows"
_MATRIX_JOBS: Final = 256
"""The maximum number of jobs that GitHub makes from a matrix."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job. `conclusion` is `success`, `failure` or `skipped`.

    The name of a job in a called workflow is `<calling job> / <job>`. `permissions` are those of the job's token.
    `secrets` are the names of the secrets that the job could read.
    """

    name: str
    conclusion: str
    outputs: Mapping[str, str]
    log: str = ""
    steps: tuple[StepResult, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    summary: str = ""
    permissions: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run. `run` is the run's object in the double of GitHub, with the artifacts."""

    workflow: str
    run: WorkflowRun
    concurrency: str
    jobs: Mapping[str, JobResult]

    @property
    def conclusion(self) -> str:
        """`success`, or `failure` if a job failed."""
        return str(self.run.conclusion)

    @property
    def log(self) -> str:
        """The logs of all jobs."""
        return "".join(f"--- {job.name}: {job.conclusion}\n{job.log}" for job in self.jobs.values())


@dataclass(slots=True)
class Actions:
    """The workflows of a repository.

    `secrets` are the secrets of the repository, and `environments` has the secrets of each environment. `variables` are
    added to the environment of every step. `stand_ins` maps the beginning of a script to a function that replaces the
    script. `escapes` maps the name of a job to an attack by code that left the job's sandbox. The attack runs after the
    steps of the job. `site` is the folder of the deployed site.
    """

    github: GitHubServer
    hosted: HostedRepo
    folder: Path
    secrets: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, StandIn] = field(default_factory=dict)
    escapes: dict[str, Callable[[JobContext], None]] = field(default_factory=dict)
    caches: CacheStore = field(init=False)
    site: Path = field(init=False)

    def __post_init__(self) -> None:
        self.caches = CacheStore(self.folder / "caches")
        self.site = self.folder / "site"

    def waiting(self, event: Event) -> list[Workflow]:
        """Return the workflows that an event starts, in the order of their file names."""
        return [workflow for workflow in self._files(event).values() if triggered(workflow, event)]

    def _files(self, event: Event) -> dict[str, Workflow]:
        """Return the workflows of an event's commit, by path. Raises WorkflowError if GitHub would refuse a file."""
        git = event.hosted.git
        blobs = (
            entry
            for entry in git.tree(event.commit, recursive=True)
            if entry.path.startswith(f"{_FOLDER}/") and entry.size
        )
        files = {blob.path: read_workflow(blob.path, git.blob(blob.sha).decode()) for blob in blobs}
        for workflow in files.values():
            check_calls(workflow, files)
        return files

    def trigger(self, event: Event, *, only: Sequence[str] = ()) -> dict[str, RunResult]:
        """Run the workflows that an event starts, or only those of `only`, and return the results by name.

        Raises WorkflowError if the event does not start a workflow of `only`, or if a workflow file is refused.
        """
        waiting = {workflow.name: workflow for workflow in self.waiting(event)}
        missing = sorted(set(only) - set(waiting))
        if missing:
            raise WorkflowError(f"{event.name} starts {', '.join(waiting) or 'nothing'}, and not {', '.join(missing)}")
        return {name: self.run(workflow, event) for name, workflow in waiting.items() if name in only or not only}

    def run(self, workflow: Workflow, event: Event) -> RunResult:
        """Run one workflow."""
        run = self.github.start(self.hosted, Path(workflow.path).stem, event.name, *event.head)
        return _Runner(self, workflow, event, run, self._files(event)).run()


class _Runner:
    """A runner of one workflow for one event."""

    def __init__(
        self, actions: Actions, workflow: Workflow, event: Event, run: WorkflowRun, files: Mapping[str, Workflow]
    ) -> None:
        self.actions, self.workflow, self.event, self.github_run, self.files = actions, workflow, event, run, files
        self.results: dict[str, JobResult] = {}

    def run(self) -> RunResult:
        graph = _Graph(self, self.workflow, StrictDict(dispatch_inputs(self.workflow, self.event)))
        group = filled_text(self.workflow.concurrency, {"github": self.github_context(), "inputs": graph.inputs})
        graph.run()
        self.github_run.conclusion = "failure" if "failure" in graph.conclusions() else "success"
        return RunResult(self.workflow.name, self.github_run, group, self.results)

    def github_context(self) -> StrictDict:
        """Return the context `github` for the expressions of jobs."""
        about = about_run(self.actions.github, self.event, self.workflow, self.github_run)
        return StrictDict({**about, "event": self.event.payload})

    def skip(self, name: str) -> None:
        self.actions.github.add_job(self.github_run, name, "skipped")
        self.results[name] = JobResult(name, "skipped", {})


class _Graph:
    """The jobs of one workflow file in a run. A called workflow has a graph of its own.

    `passed` has the secrets that a caller passes. It is None for the workflow that the event started, because that
    workflow has all secrets. `before` has the conclusions of all jobs before a call, because `success()` on GitHub
    considers all earlier jobs, also those outside of a called workflow.
    """

    def __init__(
        self,
        runner: _Runner,
        workflow: Workflow,
        inputs: StrictDict,
        prefix: str = "",
        passed: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self._runner, self._workflow, self.inputs, self._prefix = runner, workflow, inputs, prefix
        self._passed, self._before = passed, before
        self.needed: dict[str, StrictDict] = {}
        self._upstream: dict[str, list[str]] = {}

    def run(self) -> None:
        """Run all jobs. A job runs after the jobs that it needs."""
        waiting = dict(self._workflow.jobs)
        while waiting:
            name = next(name for name, job in waiting.items() if set(job.needs) <= set(self.needed))
            job = waiting.pop(name)
            # a job is skipped if an earlier job did not succeed, unless its condition calls `cancelled()`
            before = [*self._before, *(conclusion for need in job.needs for conclusion in self._upstream[need])]
            self.needed[name], inner = self._job(job, before)
            self._upstream[name] = [*before, *inner, self.needed[name]["result"]]

    def conclusions(self) -> list[str]:
        return [needed["result"] for needed in self.needed.values()]

    def _job(self, job: JobDefinition, before: Sequence[str]) -> tuple[StrictDict, list[str]]:
        """Run a job, once for each combination of its matrix.

        Return the job's entry in the context `needs`, and the conclusions of the jobs in the workflow that it calls.
        """
        needs = StrictDict({name: self.needed[name] for name in job.needs})
        contexts = {"github": self._runner.github_context(), "needs": needs, "inputs": self.inputs}
        holds = condition(job.condition, contexts, success=all(conclusion == "success" for conclusion in before))
        if job.call is not None:
            return self._call(job, job.call, contexts, before, skipped=not holds)
        outputs = dict.fromkeys(job.outputs, "")
        if not holds:
            self._runner.skip(self._prefix + (job.name or job.id))
            return StrictDict(result="skipped", outputs=StrictDict(outputs)), []
        results = [self._one(job, contexts, values) for values in _combinations(job, contexts)]
        for result in results:
            outputs |= {name: value for name, value in result.outputs.items() if value}
        failed = any(result.conclusion == "failure" for result in results)
        return StrictDict(result="failure" if failed else "success", outputs=StrictDict(outputs)), []

    def _call(
        self, job: JobDefinition, call: Call, contexts: Contexts, before: Sequence[str], *, skipped: bool
    ) -> tuple[StrictDict, list[str]]:
        """Run the jobs of a called workflow. If one job fails, the call fails, but the call still has outputs."""
        name = filled_text(job.name or job.id, contexts)
        called = self._runner.files[call.path]
        declared = interface(called)
        if skipped:
            self._runner.skip(name)
            return StrictDict(result="skipped", outputs=StrictDict(dict.fromkeys(declared.outputs, ""))), []
        inputs = StrictDict(passed_inputs(call, declared, contexts))
        passed = passed_secrets(call, {**contexts, "secrets": self._secrets("")})
        graph = _Graph(self._runner, called, inputs, f"{name} / ", passed, before)
        graph.run()
        outputs = outputs_of(declared, graph.needed, {"github": contexts["github"], "inputs": inputs})
        inner = graph.conclusions()
        result = "failure" if "failure" in inner else "success" if "success" in inner else "skipped"
        return StrictDict(result=result, outputs=StrictDict(outputs)), inner

    def _one(self, job: JobDefinition, contexts: Contexts, matrix: Mapping[str, Value]) -> JobResult:
        actions = self._runner.actions
        contexts = {**contexts, "matrix": StrictDict(matrix)}
        name = self._prefix + filled_text(job.name or job.id, contexts)
        if matrix and "${{" not in job.name:
            name += f" ({', '.join(map(str, matrix.values()))})"
        hosted = actions.github.add_job(self._runner.github_run, name, None)
        seat = self._seat(job, contexts, matrix)
        seat.env.update({key: filled_text(value, contexts) for key, value in job.env.items()})
        steps = Steps(seat, actions.stand_ins)
        steps.run(job.steps)
        if name in actions.escapes:
            actions.escapes[name](seat)
        outputs = steps.outputs()
        del actions.github.tokens[seat.token]
        hosted.conclusion = "failure" if seat.failed else "success"
        hosted.annotations += seat.log.annotations
        result = self._runner.results[name] = JobResult(
            name=name,
            conclusion=hosted.conclusion,
            outputs=outputs,
            log=seat.log.text,
            steps=tuple(steps.results),
            annotations=tuple(seat.log.annotations),
            summary=seat.summary,
            permissions=seat.permissions,
            secrets=frozenset(seat.secrets),
        )
        return result

    def _secrets(self, environment: str) -> dict[str, str]:
        """Return the secrets of a job. A job of a called workflow gets only secrets whose names the caller passes."""
        actions = self._runner.actions
        if self._runner.event.from_fork:
            return {}
        own = actions.environments.get(environment, {})
        if self._passed is None:
            return {**actions.secrets, **own}
        return {name: secret for name, value in self._passed.items() if (secret := own.get(name, value))}

    def _seat(self, job: JobDefinition, contexts: Contexts, matrix: Mapping[str, Value]) -> JobContext:
        runner, actions = self._runner, self._runner.actions
        secrets = self._secrets(filled_text(job.environment, contexts))
        permissions = _readable(job.permissions) if runner.event.from_fork else dict(job.permissions)
        token = actions.github.token({**permissions, "metadata": "read"})
        seat = JobContext(
            github=actions.github,
            event=runner.event,
            workflow=runner.workflow,
            job=job,
            run=runner.github_run,
            machine=JobMachine.fresh(actions.folder / "machine", actions.variables),
            caches=actions.caches,
            site=actions.site,
            token=token,
            permissions=permissions,
            secrets=secrets,
            needs=contexts["needs"],
            matrix=matrix,
            inputs=self.inputs,
        )
        for secret in (token, *secrets.values()):
            seat.log.mask(secret)
        return seat


def _readable(permissions: Mapping[str, str]) -> dict[str, str]:
    """Return those of the permissions that a job keeps for a fork's pull request, with level `read`."""
    return {name: "read" for name in permissions if name != "id_token"}


def _combinations(job: JobDefinition, contexts: Contexts) -> Iterator[dict[str, Value]]:
    """Yield the combinations of a job's matrix. A job without a matrix has one empty combination."""
    rows: list[Sequence[Value]] = []
    for name, value in job.matrix.items():
        row = filled(value, contexts)
        if not isinstance(row, list) or not 0 < len(row) <= _MATRIX_JOBS:
            raise WorkflowError(f"job {job.id}: matrix {name}: expected 1 to {_MATRIX_JOBS} values, found {row!r}")
        rows.append(row)
    yield from (dict(zip(job.matrix, values, strict=True)) for values in itertools.product(*rows))
