"""What one job has while it runs: its machine, token and secrets, what its steps said, what waits for its end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator.testing.github import GitHubServer, Run
from evaluator.testing.workflows.caches import CacheStore
from evaluator.testing.workflows.commands import Log
from evaluator.testing.workflows.expressions import Known, Scope, Value, WorkflowError, from_json
from evaluator.testing.workflows.machine import PATH, Machine
from evaluator.testing.workflows.reading import Job, Workflow
from evaluator.testing.workflows.shelf import Shelf
from evaluator.testing.workflows.triggers import Event

_STEP_CONTEXTS: Final = ("github", "needs", "matrix", "inputs", "job", "runner", "env", "steps")


@dataclass(slots=True)
class Seat:
    """One job while it runs. `permissions` are its token's; `after` is done when its steps are, last come first."""

    github: GitHubServer
    event: Event
    workflow: Workflow
    job: Job
    run: Run
    machine: Machine
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
        """The artifacts of its run."""
        return Shelf(self.github, self.run)

    def may(self, permission: str, level: str) -> None:
        """Raises WorkflowError where the job's token may not."""
        if self.permissions.get(permission) not in {level, "write"}:
            raise WorkflowError(f"job {self.job.id} lacks the permission {permission}: {level}")

    def variables(self) -> dict[str, str]:
        """The environment of a step, but for what the step itself names."""
        told = about_run(self.github, self.event, self.workflow, self.run)
        told |= {"event_path": str(self.machine.temp / "event.json"), "job": self.job.id}
        about = {f"GITHUB_{name.upper()}": value for name, value in told.items()}
        return {**self.machine.environment(), "PATH": ":".join([*self.paths, PATH]), **about, **self.env}

    def github_context(self) -> Known:
        """The context `github`, most of which a step finds in its environment too."""
        mine = {"token": self.token, "event": self.event.payload, "job": self.job.id}
        places = {"workspace": str(self.machine.workspace), "event_path": str(self.machine.temp / "event.json")}
        return Known({**about_run(self.github, self.event, self.workflow, self.run), **mine, **places})

    def contexts(self, steps: Mapping[str, Value], inputs: Mapping[str, Value] | None = None) -> dict[str, Any]:
        """Every context there is in a job."""
        runner = {"os": "Linux", "arch": "X64", "name": "runner", "temp": str(self.machine.temp)}
        return {
            "github": self.github_context(),
            "needs": Known(self.needs),
            "matrix": Known(self.matrix),
            "inputs": Known(self.inputs if inputs is None else inputs),
            "job": Known(status="failure" if self.failed else "success"),
            "runner": Known(runner),
            "env": self.env,
            "secrets": {**self.secrets, "GITHUB_TOKEN": self.token},
            "steps": Known(steps),
        }

    def scope(self, contexts: Mapping[str, Any], *, secret: bool) -> Scope:
        """What a step's expressions may name; an `if:` sees no secret."""
        names = (*_STEP_CONTEXTS, "secrets") if secret else _STEP_CONTEXTS
        functions: dict[str, Callable[..., Value]] = {
            "always": lambda: True,
            "success": lambda: not self.failed,
            "failure": lambda: self.failed,
            "cancelled": lambda: False,
            "fromjson": from_json,
            "hashfiles": self._hash_files,
        }
        return Scope({name: contexts[name] for name in names}, functions)

    def _hash_files(self, *patterns: str) -> str:
        """`hashFiles`: one digest of the digests of files, empty where no file fits."""
        root = self.machine.workspace
        files = sorted({file for each in patterns for file in root.glob(each) if file.is_file()})
        digest = hashlib.sha256()
        for file in files:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest() if files else ""


def about_run(github: GitHubServer, event: Event, workflow: Workflow, run: Run) -> dict[str, str]:
    """What the context `github` and the variables `GITHUB_…` both tell, whichever the job."""
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


def job_scope(contexts: Mapping[str, Any], results: Sequence[str] = ()) -> Scope:
    """What a job's own expressions may name. `results` are of all jobs before it, which the status functions ask."""
    functions: dict[str, Callable[..., Value]] = {
        "always": lambda: True,
        "success": lambda: all(each == "success" for each in results),
        "failure": lambda: "failure" in results,
        "cancelled": lambda: False,
        "fromjson": from_json,
    }
    return Scope(contexts, functions)
