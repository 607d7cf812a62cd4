"""Facts about the suites of this repository that need no execution of their commands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from evaluator.pipeline.maintenance.verified_tasks import read_records
from evaluator.pipeline.project import Project
from evaluator.records import OutputMode, Task, Tier
from evaluator.sandbox.image_recipe import image_reference
from evaluator.suites.edition import make_edition
from evaluator.suites.installed_utilities import installed_utilities
from evaluator.suites.load import Suite
from tests.bash_reader import complaints_of
from tests.own_suites import ROOT, own_suites

CORE, PROGRAMS = own_suites()
MOST_WORDS = 120
"""The most words of an instruction in core. The longer instructions are in programs."""


@pytest.fixture(params=own_suites(), ids=lambda suite: suite.manifest.name)
def suite(request: pytest.FixtureRequest) -> Suite:
    found: Suite = request.param
    return found


def repeated(values: Iterable[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_it_asks_at_least_150_tasks_over_at_least_six_topics(suite: Suite) -> None:
    assert len(suite.tasks) >= 150
    assert len({task.topic for task in suite.tasks}) >= 6


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


def test_it_has_at_least_five_worlds_of_three_variants_and_uses_them_all(suite: Suite) -> None:
    assert len(suite.worlds) >= 5
    assert [name for name, world in suite.worlds.items() if len(world.manifest.variants) < 3] == []
    assert {task.world for task in suite.tasks} == suite.worlds.keys()


def test_an_edition_replaces_the_names_of_every_world(suite: Suite) -> None:
    """Each declared name occurs in its world, and no new name clashes with a word of the world."""
    edition = make_edition(suite, "the-seed-of-an-edition")
    assert all(edition.words[name].names for name in suite.worlds)


def test_a_task_is_named_by_its_topic_and_a_number(suite: Suite) -> None:
    assert [task.id for task in suite.tasks if not task.id.startswith(f"{task.topic.value}-")] == []


def test_no_id_and_no_instruction_stands_twice() -> None:
    """Core and programs have no task in common, so that an answer can move between them by its id alone."""
    tasks = [task for suite in own_suites() for task in suite.tasks]
    assert repeated(task.id for task in tasks) == []
    assert repeated(" ".join(task.nl.lower().split()) for task in tasks) == []


def test_every_task_has_references_and_near_misses_enough(suite: Suite) -> None:
    few = [task.id for task in suite.tasks if len(task.references) < (3 if task.output is OutputMode.SET else 2)]
    assert few + [task.id for task in suite.tasks if len(task.near_misses) < 2] == []


def test_no_command_of_a_task_stands_twice(suite: Suite) -> None:
    found = {task.id: repeated(map(repr, (*task.references, *task.near_misses))) for task in suite.tasks}
    assert {name: commands for name, commands in found.items() if commands} == {}


def test_references_differ_in_more_than_blanks_and_quotes(suite: Suite) -> None:
    bare = {task.id: [re.sub(rb"[\s'\"]", b"", command) for command in task.references] for task in suite.tasks}
    assert [name for name, commands in bare.items() if len(set(commands)) < len(commands)] == []


@pytest.mark.slow
def test_bash_reads_every_command_and_script(suite: Suite) -> None:
    """Bash reports nothing about a script that it accepts."""
    scripts = {f"{task.id}: {script!r}": script for task in suite.tasks for script in _scripts_of(task)}
    scripts |= {f"build.sh of {name}": world.build for name, world in suite.worlds.items()}
    scripts |= {f"start.sh of {name}": world.start for name, world in suite.worlds.items() if world.start}
    complaints = dict(zip(scripts, complaints_of(list(scripts.values())), strict=True))
    assert {name: complaint for name, complaint in complaints.items() if complaint} == {}


def test_what_bash_cannot_read_is_told_of_that_text_alone() -> None:
    said = complaints_of(
        [b"true", b"if", b"touch $(", b"cat <<a\nb", b"exit 3", b"a() { exit; }; a", b"echo \xff", b""]
    )
    assert [bool(each) for each in said] == [False, True, True, True, False, False, False, False]


def test_every_line_of_the_verified_tasks_is_valid(suite: Suite) -> None:
    """A header of another judge or runner is none of these problems: it makes all tasks due."""
    assert [str(problem) for problem in read_records(Project(ROOT), suite)[1] if problem.line > 1] == []


def _scripts_of(task: Task) -> list[bytes]:
    return [*task.references, *task.near_misses, *filter(None, (task.setup, task.verify, task.driver))]
