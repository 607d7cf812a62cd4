"""Facts about the suites of the repository that need no execution of their commands."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from evaluator.records import OutputMode, Task, Tier
from evaluator.sandbox.image_recipe import image_reference
from evaluator.suites.edition import make_edition
from evaluator.suites.installed_utilities import installed_utilities
from evaluator.suites.load import Suite, load_suite
from tests.bash_reader import complaints_of

ROOT = Path(__file__).parents[2]
CORE, PROGRAMS = (load_suite(ROOT / "fixtures" / name) for name in ("core", "programs"))
SUITES = (CORE, PROGRAMS)
TASKS = [task for suite in SUITES for task in suite.tasks]
WORLDS = {**CORE.worlds, **PROGRAMS.worlds}
MOST_WORDS = 120
"""The most words of an instruction in core. The longer instructions are in programs."""

suites = pytest.mark.parametrize("suite", SUITES, ids=[suite.manifest.name for suite in SUITES])
tasks = pytest.mark.parametrize("task", TASKS, ids=[task.id for task in TASKS])


def repeated(values: list[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_it_asks_at_least_150_tasks_over_at_least_six_topics() -> None:
    assert len(CORE.tasks) >= 150
    assert len({task.topic for task in CORE.tasks}) >= 6


def test_a_task_of_core_is_a_short_instruction_without_a_driver() -> None:
    """Core is the translation of an instruction to a command, and its runs are short enough for a first look."""
    assert [task.id for task in CORE.tasks if len(task.nl.split()) > MOST_WORDS] == []
    assert [task.id for task in CORE.tasks if task.driver is not None] == []
    assert {task.tier for task in CORE.tasks} == {Tier.EVERYDAY, Tier.ADVANCED}


def test_a_task_of_programs_has_a_driver_or_a_long_instruction() -> None:
    assert [task.id for task in PROGRAMS.tasks if task.driver is None and len(task.nl.split()) <= MOST_WORDS] == []
    assert {task.tier for task in PROGRAMS.tasks} == {Tier.ADVANCED, Tier.EXPERT}


def test_the_suites_share_an_image_and_the_list_of_its_utilities() -> None:
    assert image_reference(CORE.manifest) == image_reference(PROGRAMS.manifest)
    assert installed_utilities(CORE) == installed_utilities(PROGRAMS) is not None


@suites
def test_it_has_at_least_five_worlds_of_three_variants_and_uses_them_all(suite: Suite) -> None:
    assert len(suite.worlds) >= 5
    assert [name for name, world in suite.worlds.items() if len(world.manifest.variants) < 3] == []
    assert {task.world for task in suite.tasks} == suite.worlds.keys()


@suites
def test_an_edition_replaces_the_names_of_every_world(suite: Suite) -> None:
    """Each declared name occurs in its world, and no new name clashes with a word of the world."""
    edition = make_edition(suite, "the-seed-of-an-edition")
    assert all(edition.words[name].names for name in suite.worlds)


def test_a_task_is_named_by_its_topic_and_a_number() -> None:
    assert [task.id for task in TASKS if not task.id.startswith(f"{task.topic.value}-")] == []


def test_no_id_and_no_instruction_stands_twice() -> None:
    """Core and programs have no task in common, so that an answer can move between them by its id alone."""
    assert repeated([task.id for task in TASKS]) == []
    assert repeated([" ".join(task.nl.lower().split()) for task in TASKS]) == []


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
    """The messages of bash about each script of the suites, which are empty if bash accepts the script."""
    texts = {text for task in TASKS for text in _scripts_of(task)}
    texts |= {text for world in WORLDS.values() for text in (world.build, world.start or b"")}
    ordered = sorted(texts)
    return dict(zip(ordered, complaints_of(ordered), strict=True))


@tasks
def test_bash_reads_every_command_and_script(task: Task, complaints: dict[bytes, str]) -> None:
    unread = {script: complaints[script] for script in _scripts_of(task) if complaints[script]}
    assert unread == {}


@pytest.mark.parametrize("world", WORLDS)
def test_bash_reads_every_world(world: str, complaints: dict[bytes, str]) -> None:
    scripts = [WORLDS[world].build, WORLDS[world].start or b""]
    assert [complaints[script] for script in scripts] == ["", ""]


def test_what_bash_cannot_read_is_told_of_that_text_alone() -> None:
    said = complaints_of(
        [b"true", b"if", b"touch $(", b"cat <<a\nb", b"exit 3", b"a() { exit; }; a", b"echo \xff", b""]
    )
    assert [bool(each) for each in said] == [False, True, True, True, False, False, False, False]


def _scripts_of(task: Task) -> list[bytes]:
    return [*task.references, *task.near_misses, *(each for each in (task.setup, task.verify) if each)]
