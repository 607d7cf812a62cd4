"""`bashboard generate`, `check` and `score` with real containers: the methods that execute commands, to a scored row.

The checkout has two tasks of the suite core. Each model below is a double that knows them. The two rows of the last
model show what its methods gain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from typer.testing import Result

from evaluator.pipeline.project import Project
from evaluator.sandbox.engine import Engine
from tests.doubles.model_server import JudgeServer, ReceivedRequest, Said, completion
from tests.generation.generation_harness import bashboard, core_checkout

RIGHT = {
    "files-003": ("mkdir -p reports/2025/{01..12}", 'for m in $(seq -w 1 12); do mkdir -p "reports/2025/$m"; done'),
    "permissions-011": ("chmod 750 kiosk/start.sh", "chmod u=rwx,g=rx,o= kiosk/start.sh"),
}
"""Two right commands for each task."""
WRONG = "true"
SEED = 123
PROBE = "whoami; pwd; ls -A; cat notes.txt; cat missing"
"""A command that shows the machine, and the files of its working directory."""


class Scored(NamedTuple):
    """A checkout with three scored submissions, and the requests of the one that sees what its commands did."""

    project: Project
    accuracy: dict[str, float]
    checks: dict[str, Result]
    asked: list[ReceivedRequest]


def task_of(project: Project) -> Callable[[ReceivedRequest], str]:
    """Return a function that finds the task of a request by its instruction."""
    instructions = {task.nl: task.id for task in project.suite("core").tasks}
    return lambda asked: next(instructions[m["content"]] for m in asked.messages if m["content"] in instructions)


def generated(project: Project, brain: Callable[[ReceivedRequest], str], slug: str, *options: str) -> JudgeServer:
    def answer(asked: ReceivedRequest) -> Said:
        return completion(brain(asked))

    with JudgeServer(answer) as server:
        arguments = ["generate", slug, "--model", "a-model", "--author", "A. Uthor", "--base-url", server.url]
        done = bashboard(project, *arguments, "--key-env", "MY_KEY", "--parallel", "2", *options)
        assert done.exit_code == 0, done.output
    return server


@pytest.fixture(scope="module")
def scored(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Three submissions: the first sample alone, five samples by self-consistency, and a model that sees effects."""
    project = core_checkout(tmp_path_factory.mktemp("generated"), RIGHT)
    task = task_of(project)

    def sampled(asked: ReceivedRequest) -> str:
        """Return a reply by its seed: the most frequent text is wrong, and three of five effects are right."""
        first, second = RIGHT[task(asked)]
        return (WRONG, second, first, WRONG, f"{first} && :")[asked.body["seed"] - SEED]

    def corrects(asked: ReceivedRequest) -> str:
        """Return the right command only if the last message shows what a command did in the scratch world."""
        return RIGHT[task(asked)][0] if "first line\nsecond line" in asked.messages[-1]["content"] else PROBE

    generated(project, sampled, "alone")
    generated(project, sampled, "agreeing", "--method", "self-consistency")
    server = generated(project, corrects, "seeing", "--method", "execute", "--turns", "2")
    slugs = ("alone", "agreeing", "seeing")
    checks = {slug: bashboard(project, "check", f"submissions/{slug}") for slug in slugs}
    done = bashboard(project, "score", "--suite", "core", "--json")
    assert done.exit_code == 0, done.output
    return Scored(
        project, {row["submission"]: row["accuracy"] for row in json.loads(done.stdout)}, checks, server.asked
    )


def lines(scored: Scored, slug: str) -> dict[str, dict[str, Any]]:
    text = (scored.project.root / "submissions" / slug / "core.jsonl").read_text()
    return {line["task"]: line for line in map(json.loads, text.splitlines())}


def test_both_methods_turn_a_wrong_first_reply_into_a_right_row(scored: Scored) -> None:
    assert {slug: check.exit_code for slug, check in scored.checks.items()} == dict.fromkeys(scored.checks, 0)
    assert scored.accuracy == {"alone": 0.0, "agreeing": 1.0, "seeing": 1.0}


@pytest.mark.parametrize("task", RIGHT)
def test_the_effect_that_most_samples_share_comes_first(scored: Scored, task: str) -> None:
    """Three texts share one effect, so their earliest stands for them. No text is as frequent as the wrong one."""
    first, second = lines(scored, "agreeing")[task]["candidates"]
    assert (first["command"], first["confidence"]) == (RIGHT[task][1], 0.6)
    assert (second["command"], second["confidence"]) == (WRONG, 0.4)
    assert lines(scored, "agreeing")[task]["output_tokens"] == 50


@pytest.mark.parametrize("task", RIGHT)
def test_a_model_sees_what_its_command_did_in_a_world_that_is_not_the_tasks(scored: Scored, task: str) -> None:
    """The machine is the task's: its user and its working directory. The files are those of the scratch world."""
    suite = scored.project.suite("core")
    world = suite.worlds[suite.task(task).world].manifest
    (shown,) = (
        asked.messages[-1]["content"]
        for asked in scored.asked
        if len(asked.messages) == 4 and asked.messages[1]["content"] == suite.task(task).nl
    )
    user, cwd = world.user or suite.manifest.user, world.cwd or suite.manifest.cwd
    stdout = re.search(r"Standard output:\n(.*)\nStandard error:", shown, re.DOTALL)
    assert stdout is not None
    expected = [user, cwd, "folder", "notes.txt", "table.csv", "first line", "second line", "third line"]
    assert stdout[1].splitlines() == expected
    assert "Exit status: 1." in shown
    assert "cat: missing: No such file or directory" in shown


def test_the_chat_of_a_model_that_sees_effects_holds_its_own_command(scored: Scored) -> None:
    for task in RIGHT:
        line = lines(scored, "seeing")[task]
        assert [each["command"] for each in line["candidates"]] == [RIGHT[task][0]]
        assert line["output_tokens"] == 20
    assert sorted(len(asked.messages) for asked in scored.asked) == [2, 2, 4, 4]
    assert {asked.messages[2]["content"] for asked in scored.asked if len(asked.messages) == 4} == {PROBE}
