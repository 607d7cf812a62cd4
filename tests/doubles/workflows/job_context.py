"""The context of a running job: machine, token, secrets, the results of its steps, and cleanup functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles.github import GitHubServer, WorkflowRun
from tests.doubles.workflows.artifact_store import Shelf
from tests.doubles.workflows.caches import CacheStore
from tests.doubles.workflows.commands import Log
from tests.doubles.workflows.expressions import Contexts, StrictDict, Value, WorkflowError
from tests.doubles.workflows.job_machine import PATH, JobMachine
from tests.doubles.workflows.load_workflow import JobDefinition, Workflow
from tests.doubles.workflows.triggers import Event


@dataclass(slots=True)
class JobContext:
    """A running job. `permissions` are those of its token. Functions in `after` run after the steps, last one first."""

    github: GitHubServer
    event: Event
    workflow: Workflow
    job: JobDefinition
    run: WorkflowRun
    machine: JobMachine
    caches: CacheStore
    site: Path
    token: str
    permissions: Mapping[str, str]
    secrets: Mapping[str, str]
    needs: Mapping[str, Value]
    matrix: Mapping[str, Value]
    inputs: Mapping[str, Value]
    log: Log = field(default_factory=Log)
    env: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    summary: str = ""
    failed: bool = False
    after: list[Callable[[], None]] = field(default_factory=list)

    @property
    def shelf(self) -> Shelf:
        """The artifacts of the job's run."""
        return Shelf(self.github, self.run)

    def may(self, permission: str, level: str) -> None:
        """Raise WorkflowError if the job's token lacks a permission."""
        if self.permissions.get(permission) not in {level, "write"}:
            raise WorkflowError(f"job {self.job.id} lacks the permission {permission}: {level}")

    def variables(self) -> dict[str, str]:
        """Return the environment of a step, without the variables that the step itself sets."""
        about = about_run(self.github, self.event, self.workflow, self.run)
        about |= {"event_path": str(self.machine.temp / "event.json"), "job": self.job.id}
        variables = {f"GITHUB_{name.upper()}": value for name, value in about.items()}
        return {**self.machine.environment(), "PATH": ":".join([*self.paths, PATH]), **variables, **self.env}

    def github_context(self) -> StrictDict:
        """Return the context `github`. The environment of a step has most of it too."""
        about = about_run(self.github, self.event, self.workflow, self.run)
        return StrictDict({**about, "token": self.token, "event": self.event.payload, "job": self.job.id})

    def contexts(
        self, steps: Mapping[str, Value], inputs: Mapping[str, Value] | None = None, *, secrets: bool = True
    ) -> Contexts:
        """Return the contexts of a step. An `if:` and the steps of a composite action have no context `secrets`."""
        contexts: dict[str, Mapping[str, Value]] = {
            "github": self.github_context(),
            "needs": StrictDict(self.needs),
            "matrix": StrictDict(self.matrix),
            "inputs": StrictDict(self.inputs if inputs is None else inputs),
            "runner": StrictDict({"os": "Linux", "arch": "X64", "name": "runner", "temp": str(self.machine.temp)}),
            "env": self.env,
            "steps": StrictDict(steps),
        }
        return {**contexts, "secrets": {**self.secrets, "GITHUB_TOKEN": self.token}} if secrets else contexts


def about_run(github: GitHubServer, event: Event, workflow: Workflow, run: WorkflowRun) -> dict[str, str]:
    """Return the values that the context `github` and the variables `GITHUB_…` share. All jobs of a run have the same.

    As on GitHub, the jobs of a called workflow have the values of the caller.
    """
    hosted = event.hosted
    return {
        "event_name": event.name,
        "sha": event.commit,
        "ref": event.ref,
        "ref_name": event.ref.removeprefix("refs/heads/").removeprefix("refs/pull/"),
        "ref_type": "branch",
        "head_ref": event.head[1] if event.name == "pull_request" else "",
        "base_ref": event.base_ref,
        "repository": hosted.full_name,
        "repository_id": str(hosted.id),
        "repository_owner": hosted.owner.login,
        "repository_owner_id": str(hosted.owner.id),
        "actor": event.actor.login,
        "actor_id": str(event.actor.id),
        "triggering_actor": event.actor.login,
        "run_id": str(run.id),
        "run_number": "1",
        "run_attempt": str(run.attempt),
        "workflow": workflow.name,
        "workflow_ref": f"{hosted.full_name}/{workflow.path}@{event.ref}",
        "workflow_sha": event.commit,
        "server_url": github.url,
        "api_url": github.url,
    }
