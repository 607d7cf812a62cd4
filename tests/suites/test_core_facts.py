"""What can be said of the core suite without running it."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from evaluator.records import OutputMode, Task
from evaluator.suites.load import load_suite

ROOT = Path(__file__).parents[2]
CORE = load_suite(ROOT / "fixtures" / "core")

tasks = pytest.mark.parametrize("task", CORE.tasks, ids=[task.id for task in CORE.tasks])


def repeated(values: list[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_it_asks_at_least_150_tasks_over_at_least_six_topics() -> None:
    assert len(CORE.tasks) >= 150
    assert len({task.topic for task in CORE.tasks}) >= 6


def test_it_has_at_least_five_worlds_of_three_variants_and_uses_them_all() -> None:
    assert len(CORE.worlds) >= 5
    assert [name for name, world in CORE.worlds.items() if len(world.manifest.variants) < 3] == []
    assert {task.world for task in CORE.tasks} == CORE.worlds.keys()


def test_a_task_is_named_by_its_topic_and_a_number() -> None:
    assert [task.id for task in CORE.tasks if not task.id.startswith(f"{task.topic.value}-")] == []


def test_no_instruction_stands_twice() -> None:
    assert repeated([" ".join(task.nl.lower().split()) for task in CORE.tasks]) == []


@tasks
def test_a_task_has_references_and_near_misses_enough(task: Task) -> None:
    assert len(task.references) >= (3 if task.output is OutputMode.SET else 2)
    assert len(task.near_misses) >= 2


@tasks
def test_no_command_of_a_task_stands_twice(task: Task) -> None:
    assert repeated([command.decode() for command in (*task.references, *task.near_misses)]) == []


@tasks
def test_references_differ_in_more_than_blanks_and_quotes(task: Task) -> None:
    assert repeated([re.sub(r"[\s'\"]", "", command.decode()) for command in task.references]) == []


@tasks
def test_bash_reads_every_command_and_script(task: Task) -> None:
    scripts = [*task.references, *task.near_misses, *(each for each in (task.setup, task.verify) if each)]
    unread = [script for script in scripts if _complaint(script)]
    assert unread == []


@pytest.mark.parametrize("world", CORE.worlds)
def test_bash_reads_every_world(world: str) -> None:
    scripts = [CORE.worlds[world].build, CORE.worlds[world].start or b""]
    assert [_complaint(script) for script in scripts] == ["", ""]


def _complaint(script: bytes) -> str:
    """What `bash -n` says; options that change how bash reads are no part of any command here."""
    return subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False).stderr.decode()
