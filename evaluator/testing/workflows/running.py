"""Runs the workflows of a repository's own files over the double of GitHub, each `run:` for real.

Jobs run one after the other, in the order that their `needs` allow. What GitHub does to keep strangers from secrets is
done too: a fork's pull request gets no secret and a token that reads; an environment's secrets are for the jobs that
name it; a token has what its job was given and nothing else, and ends with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.testing.github import Annotation, GitHubServer, Hosted, Run
from evaluator.testing.workflows.caches import CacheStore
from evaluator.testing.workflows.expressions import Known, Scope, Value, WorkflowError, condition, filled, filled_text
from evaluator.testing.workflows.machine import Machine
from evaluator.testing.workflows.reading import Job, Workflow, read_workflow
from evaluator.testing.workflows.seat import Seat, about_run, job_scope
from evaluator.testing.workflows.steps import StandIn, StepResult, Steps
from evaluator.testing.workflows.triggers import Event, given_inputs, triggered

_FOLDER: Final = ".github/workflows"
_MOST: Final = 256
"""Jobs that GitHub makes of a matrix at most."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job went: `success`, `failure` or `skipped`. `permissions` and `secrets` (their names) are what it had."""

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
    """How a run of a workflow went; `run` is what the double says of it, with its artifacts."""

    workflow: str
    run: Run
    concurrency: str
    jobs: Mapping[str, JobResult]

    @property
    def conclusion(self) -> str:
        """`success`, or `failure` where a job failed."""
        return str(self.run.conclusion)

    @property
    def log(self) -> str:
        """All jobs' logs."""
        return "".join(f"--- {each.name}: {each.conclusion}\n{each.log}" for each in self.jobs.values())


@dataclass(slots=True)
class Actions:
    """A repository's workflows. `secrets` are the repository's, `environments` by name those of environments.

    `variables` is what every step's environment has besides GitHub's. `stand_ins` take the place of scripts, by how
    these begin; `escapes` are what somebody does who breaks out of the job of that name, when its steps are done.
    `site` is where a deployed site lies.
    """

    github: GitHubServer
    hosted: Hosted
    folder: Path
    secrets: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, StandIn] = field(default_factory=dict)
    escapes: dict[str, Callable[[Seat], None]] = field(default_factory=dict)
    caches: CacheStore = field(init=False)
    site: Path = field(init=False)

    def __post_init__(self) -> None:
        self.caches = CacheStore(self.folder / "caches")
        self.site = self.folder / "site"

    def waiting(self, event: Event) -> list[Workflow]:
        """The workflows that an event starts, by their files' names."""
        git = event.hosted.git
        found = (
            each for each in git.tree(event.commit, recursive=True) if each.path.startswith(f"{_FOLDER}/") and each.size
        )
        read = (read_workflow(each.path, git.blob(each.sha).decode()) for each in found)
        return [each for each in read if triggered(each, event)]

    def trigger(self, event: Event, *, only: Sequence[str] = ()) -> dict[str, RunResult]:
        """Run what an event starts, or those of a name among them; the results by the workflow's name.

        Raises WorkflowError for a name in `only` that the event does not start, and what a workflow may not hold.
        """
        waiting = {each.name: each for each in self.waiting(event)}
        missing = sorted(set(only) - set(waiting))
        if missing:
            raise WorkflowError(f"{event.name} starts {', '.join(waiting) or 'nothing'}, and not {', '.join(missing)}")
        return {name: self.run(each, event) for name, each in waiting.items() if name in only or not only}

    def run(self, workflow: Workflow, event: Event) -> RunResult:
        """Run one workflow."""
        name = Path(workflow.path).stem
        run = self.github.start(self.hosted, name, event.name, *event.head)
        return _Runner(self, workflow, event, run).all()


class _Runner:
    """One run of one workflow."""

    def __init__(self, actions: Actions, workflow: Workflow, event: Event, run: Run) -> None:
        self._actions, self._workflow, self._event, self._run = actions, workflow, event, run
        self._inputs = given_inputs(workflow, event)
        self._results: dict[str, JobResult] = {}
        self._needed: dict[str, Known] = {}
        self._before: dict[str, set[str]] = {}

    def all(self) -> RunResult:
        """Run every job when its turn comes."""
        about = {"github": self._github(), "inputs": Known(self._inputs)}
        group = filled_text(self._workflow.concurrency, job_scope(about))
        left = dict(self._workflow.jobs)
        while left:
            name = next(name for name, job in left.items() if set(job.needs) <= set(self._needed))
            job = left.pop(name)
            self._before[name] = set(job.needs).union(*(self._before[each] for each in job.needs))
            self._needed[name] = self._job(job)
        failed = any(each["result"] == "failure" for each in self._needed.values())
        self._run.conclusion = "failure" if failed else "success"
        return RunResult(self._workflow.name, self._run, group, self._results)

    def _github(self) -> Known:
        told = about_run(self._actions.github, self._event, self._workflow, self._run)
        return Known({**told, "event": self._event.payload})

    def _contexts(self, job: Job) -> dict[str, Value]:
        """What a job's own expressions may name, before it is one of its matrix."""
        needs = Known({name: self._needed[name] for name in job.needs})
        return {"github": self._github(), "needs": needs, "inputs": Known(self._inputs)}

    def _job(self, job: Job) -> Known:
        """Run a job, once for each of its matrix; what those that need it are told."""
        # a job that was skipped anywhere before it skips a job that does not say otherwise
        before = [self._needed[name]["result"] for name in self._before[job.id]]
        contexts = self._contexts(job)
        scope = job_scope(contexts, before)
        empty = dict.fromkeys(job.outputs, "")
        if not condition(job.condition or "success()", scope):
            self._keep(JobResult(job.name or job.id, "skipped", {}))
            return Known(result="skipped", outputs=Known(empty))
        each = [self._one(job, contexts, values) for values in _combined(job, scope)]
        for result in each:
            empty |= {name: value for name, value in result.outputs.items() if value}
        failed = any(result.conclusion == "failure" for result in each)
        return Known(result="failure" if failed else "success", outputs=Known(empty))

    def _keep(self, result: JobResult) -> None:
        if result.conclusion == "skipped":
            self._actions.github.add_job(self._run, result.name, "skipped")
        self._results[result.name] = result

    def _one(self, job: Job, contexts: Mapping[str, Value], matrix: Mapping[str, Value]) -> JobResult:
        scope = job_scope({**contexts, "matrix": Known(matrix)})
        name = filled_text(job.name or job.id, scope)
        if matrix and "${{" not in job.name:
            name += f" ({', '.join(map(str, matrix.values()))})"
        told = self._actions.github.add_job(self._run, name, None)
        seat = self._seat(job, scope, matrix, contexts["needs"])
        seat.env.update({key: filled_text(value, scope) for key, value in job.env.items()})
        steps = Steps(seat, self._actions.stand_ins)
        steps.run(job.steps)
        if name in self._actions.escapes:
            self._actions.escapes[name](seat)
        outputs = steps.outputs()
        del self._actions.github.tokens[seat.token]
        told.conclusion = "failure" if seat.failed else "success"
        told.annotations += seat.log.annotations
        result = JobResult(
            name=name,
            conclusion=told.conclusion,
            outputs=outputs,
            log=seat.log.text,
            steps=tuple(steps.results),
            annotations=tuple(seat.log.annotations),
            summary=seat.summary,
            permissions=seat.permissions,
            secrets=frozenset(seat.secrets),
        )
        self._keep(result)
        return result

    def _seat(self, job: Job, scope: Scope, matrix: Mapping[str, Value], needs: Known) -> Seat:
        actions, stranger = self._actions, self._event.stranger
        environment = filled_text(job.environment, scope)
        secrets = {} if stranger else {**actions.secrets, **actions.environments.get(environment, {})}
        permissions = _readable(job.permissions) if stranger else dict(job.permissions)
        token = actions.github.token({**permissions, "metadata": "read"})
        seat = Seat(
            github=actions.github,
            event=self._event,
            workflow=self._workflow,
            job=job,
            run=self._run,
            machine=Machine.fresh(actions.folder / "machine", actions.variables),
            caches=actions.caches,
            site=actions.site,
            token=token,
            permissions=permissions,
            secrets=secrets,
            needs=needs,
            matrix=matrix,
            inputs=self._inputs,
        )
        for each in (token, *secrets.values()):
            seat.log.mask(each)
        return seat


def _readable(permissions: Mapping[str, str]) -> dict[str, str]:
    """What is left of permissions for a fork's pull request."""
    return {name: "read" for name in permissions if name != "id_token"}


def _combined(job: Job, scope: Scope) -> Iterator[dict[str, Value]]:
    """A job's matrix, one after the other; nothing at all once where it has none."""
    rows: list[Sequence[Value]] = []
    for name, value in job.matrix.items():
        row = filled(value, scope)
        if not isinstance(row, list) or not 0 < len(row) <= _MOST:
            raise WorkflowError(f"job {job.id}: matrix {name}: expected 1 to {_MOST} values, found {row!r}")
        rows.append(row)
    yield from (dict(zip(job.matrix, values, strict=True)) for values in itertools.product(*rows))
