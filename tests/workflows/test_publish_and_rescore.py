"""The jobs of publish, rescore and the workflow that both call, with a stand-in for every command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.doubles.workflows import JobContext, RunResult, completed, dispatched, pushed
from tests.doubles.workflows.steps import StandIn
from tests.workflows.workflow_bench import WorkflowHarness
from tests.workflows.workflow_yaml import FOLDER, ROOT

DIGEST: Final = "d" * 64
FILES: Final = {
    path.relative_to(ROOT).as_posix(): path.read_bytes() for path in FOLDER.rglob("*.yml") if "ISSUE" not in str(path)
}


class Commands:
    """Stand-ins for the commands of all steps. `calls` lists the executed commands with their jobs and environments."""

    def __init__(self, fail: str = "", submissions: str = '["one", "two"]') -> None:
        self.calls: list[tuple[str, str, Mapping[str, str]]] = []
        self._fail, self._submissions = fail, submissions

    def stand_ins(self) -> dict[str, StandIn]:
        return {
            "python -m pip": self._answer("install", ""),
            "bashboard suite add": self._answer("suites", ""),
            "bashboard fetch": self._answer("fetch", ""),
            "bashboard image reference": self._answer("reference", "", reference="bashboard:1", sha256="a" * 64),
            "bashboard image load": self._answer("load", "../temp/image/image.tar.gz", sha256="b" * 64),
            "bashboard publish plan": self._answer("plan", "", submissions=self._submissions, judged=self._submissions),
            "bashboard evidence make --references": self._answer("references", "references/r", sha256="c"),
            "bashboard evidence import": self._answer("import", ""),
            "bashboard evidence make": self._answer("execute", "evidence/e"),
            "bashboard publish collect": self._answer("collect", ""),
            "bashboard publish judge": self._answer("judge", "published.tar.gz", published=DIGEST),
            "bashboard publish commit": self._answer("commit", ""),
            "bashboard publish propose": self._answer("propose", ""),
            "bashboard build": self._answer("build", "build/site/index.html"),
            "bashboard contested": self._answer("contested", ""),
        }

    def _answer(self, command: str, file: str, **outputs: str) -> StandIn:
        def run(seat: JobContext, variables: Mapping[str, str]) -> dict[str, str]:
            self.calls.append((seat.job.id, command, variables))
            if self._fail in (command, variables.get("SUBMISSION", command)):
                seat.failed = True
                return {}
            if file:
                path = seat.machine.workspace / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(command)
            return outputs

        return run

    def environments(self, command: str) -> list[Mapping[str, str]]:
        """Return the environment variables of each call of a command."""
        return [variables for _, name, variables in self.calls if name == command]


def publish(harness: WorkflowHarness, commands: Commands, only: str = "publish", **inputs: str) -> RunResult:
    """Run a workflow of this repository: for a push, or as a run by hand if there are inputs."""
    harness.actions.stand_ins = commands.stand_ins()
    harness.actions.environments = {"judge": {"BASHBOARD_PANEL_KEY": "hush"}, "publish": {}}
    harness.board.git.commit("main", {**FILES, "fixtures/x": b""})
    owner = harness.board.owner
    event = dispatched(harness.board, f"{only}.yml", owner, inputs) if inputs else pushed(harness.board, None, owner)
    return harness.actions.trigger(event, only=[only])[only]


def site(harness: WorkflowHarness, after: RunResult) -> RunResult:
    """Run the workflow `site`, which the end of another run starts."""
    event = completed(harness.github, harness.board, after.run, after.workflow)
    return harness.actions.trigger(event, only=["site"])["site"]


def conclusions(result: RunResult) -> dict[str, str]:
    return {name: job.conclusion for name, job in result.jobs.items()}


def test_publish_commits_the_archive_of_the_judge(harness: WorkflowHarness) -> None:
    commands = Commands()
    assert set(conclusions(publish(harness, commands)).values()) == {"success"}
    (environment,) = commands.environments("commit")
    assert environment["PUBLISHED"] == DIGEST
    assert [variables["STALE"] for name in ("plan", "judge") for variables in commands.environments(name)] == ["", ""]


def test_one_failed_submission_leaves_the_others_published(harness: WorkflowHarness) -> None:
    """If the job of one submission fails, the run fails, and the archive of the others is still committed."""
    commands = Commands(fail="two")
    result = publish(harness, commands)
    assert conclusions(result) == {
        "derive / restore": "success",
        "derive / prepare": "success",
        "derive / execute (one)": "success",
        "derive / execute (two)": "failure",
        "derive / judge": "success",
        "commit": "success",
    }
    assert result.conclusion == "failure"


@pytest.mark.parametrize("failing", ["plan", "judge"])
def test_nothing_is_committed_without_an_archive(harness: WorkflowHarness, failing: str) -> None:
    """Without an archive nothing is committed. The site is still deployed, because it is built only from main."""
    result = publish(harness, Commands(fail=failing))
    assert conclusions(result)["commit"] == "skipped"
    assert conclusions(site(harness, result)) == {"build": "success", "deploy": "success"}


def test_a_run_of_a_fork_builds_no_site(harness: WorkflowHarness) -> None:
    """The run of a fork starts no build of the site, even if its workflow is named `publish` and its branch `main`."""
    result = publish(harness, Commands())
    fork = harness.github.fork(harness.board, harness.github.user("contributor"))
    run = harness.github.start(
        harness.board, "publish", "pull_request", fork.git.resolve("refs/heads/main"), "main", fork
    )
    assert conclusions(site(harness, replace(result, run=run))) == {"build": "skipped", "deploy": "skipped"}
    assert conclusions(site(harness, result)) == {"build": "success", "deploy": "success"}


def test_only_the_judge_reads_the_key(harness: WorkflowHarness) -> None:
    """Only the job of the judge reads the key.

    The environment `judge` has the key's value, and the caller passes only the key's name.
    """
    commands = Commands()
    result = publish(harness, commands)
    assert {name: set(job.secrets) for name, job in result.jobs.items() if job.secrets} == {
        "derive / judge": {"BASHBOARD_PANEL_KEY"}
    }
    with_key = {name for _, name, variables in commands.calls if variables.get("BASHBOARD_PANEL_KEY")}
    assert with_key == {"judge"}


def test_rescore_proposes_stale_verdicts(harness: WorkflowHarness) -> None:
    commands = Commands()
    result = publish(harness, commands, "rescore")
    assert list(conclusions(result))[-1] == "propose"
    assert set(conclusions(result).values()) == {"success"}
    stale = [variables["STALE"] for name in ("plan", "judge") for variables in commands.environments(name)]
    assert stale == ["stale", "stale"]


@pytest.mark.parametrize(("plan_only", "later"), [("true", "skipped"), ("false", "success")])
def test_a_rescore_by_hand_may_stop_after_the_plan(harness: WorkflowHarness, plan_only: str, later: str) -> None:
    results = conclusions(publish(harness, Commands(), "rescore", plan_only=plan_only))
    assert {results.pop(f"derive / {name}") for name in ("restore", "prepare")} == {"success"}
    assert set(results.values()) == {later}


def test_a_submission_that_needs_no_execution_is_judged(harness: WorkflowHarness) -> None:
    """If no submission needs an execution, the job `execute` is skipped and the submissions are still judged.

    GitHub refuses an empty matrix, so the condition of the job `execute` requires a submission.
    """
    results = conclusions(publish(harness, Commands(submissions="[]")))
    assert "derive / execute (one)" not in results
    assert (results["derive / judge"], results["commit"]) == ("success", "success")
