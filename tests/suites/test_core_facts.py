"""Facts about the core suite that need no execution of its commands."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from evaluator.records import OutputMode, Task
from evaluator.suites.edition import make_edition
from evaluator.suites.load import load_suite
from tests.bash_reader import complaints_of

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


def test_an_edition_replaces_the_names_of_every_world() -> None:
    """Each declared name occurs in its world, and no new name clashes with a word of the world."""
    edition = make_edition(CORE, "the-seed-of-an-edition")
    assert all(edition.words[name].names for name in CORE.worlds)


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


@pytest.fixture(scope="module")
def complaints() -> dict[bytes, str]:
    """The messages of bash about each script of the suite, which are empty if bash accepts the script."""
    texts = {text for task in CORE.tasks for text in _scripts_of(task)}
    texts |= {text for world in CORE.worlds.values() for text in (world.build, world.start or b"")}
    ordered = sorted(texts)
    return dict(zip(ordered, complaints_of(ordered), strict=True))


@tasks
def test_bash_reads_every_command_and_script(task: Task, complaints: dict[bytes, str]) -> None:
    unread = {script: complaints[script] for script in _scripts_of(task) if complaints[script]}
    assert unread == {}


@pytest.mark.parametrize("world", CORE.worlds)
def test_bash_reads_every_world(world: str, complaints: dict[bytes, str]) -> None:
    scripts = [CORE.worlds[world].build, CORE.worlds[world].start or b""]
    assert [complaints[script] for script in scripts] == ["", ""]


def test_what_bash_cannot_read_is_told_of_that_text_alone() -> None:
    said = complaints_of(
        [b"true", b"if", b"touch $(", b"cat <<a\nb", b"exit 3", b"a() { exit; }; a", b"echo \xff", b""]
    )
    assert [bool(each) for each in said] == [False, True, True, True, False, False, False, False]


def _scripts_of(task: Task) -> list[bytes]:
    return [*task.references, *task.near_misses, *(each for each in (task.setup, task.verify) if each)]
