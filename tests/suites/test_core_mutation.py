"""The mutation test of a suite with real executions: failing mutants, equivalence marks, and the reuse of evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import UsageError
from evaluator.pipeline.maintenance.mutate_suite import mark_mutant, mutate_suite, select_tasks
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.suites.mutation_report import equivalences_path, read_equivalences
from evaluator.testing.checkouts import copy_checkout

ROOT = Path(__file__).parents[2]
SUITES = ("core", "programs")
TASK = "text-011"
SAMPLE = 20


class Stages(NullProgress):
    """A progress display that records the names of its stages."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str, total: int) -> None:
        self.names.append(name)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the checkout without equivalence marks, with a store of its own."""
    project = copy_checkout(ROOT, tmp_path_factory.mktemp("mutated"))
    equivalences_path(project.root / "fixtures", "core").unlink(missing_ok=True)
    return project


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the checkout with its equivalence marks."""
    return copy_checkout(ROOT, tmp_path_factory.mktemp("marked"))


@pytest.mark.engine
def test_mutants_are_executed_once_and_every_slip_is_told_apart(core: Project) -> None:
    """Every mutant of the task fails, and a second call executes and judges nothing.

    The task is to print lines 10 to 15 of a log.
    """
    stages = Stages()
    first = mutate_suite(core, core.suite("core"), stages, tasks=[TASK])
    assert (first.tasks, first.score, first.survivors) == (1, 1.0, ())
    assert first.failed == first.mutants > 15
    assert stages.names[-1] == "mutants"
    sampled = mutate_suite(core, core.suite("core"), NullProgress(), tasks=[TASK], sample=5)
    assert (sampled.sample, sampled.mutants, sampled.failed, sampled.stale) == (5, 5, 5, ())
    again = Stages()
    assert mutate_suite(core, core.suite("core"), again, tasks=[TASK]) == first
    assert again.names == ["mutating"]


@pytest.mark.engine
def test_a_mark_that_a_variant_refutes_is_told(core: Project) -> None:
    """An equivalence mark on a mutant that fails is reported as stale, and the mutant still counts as failed."""
    before = mutate_suite(core, core.suite("core"), NullProgress(), tasks=[TASK])
    mark_mutant(core, core.suite("core"), TASK, b"sed -n 10,16p /var/log/web/access.log", "one line more is no harm")
    after = mutate_suite(core, core.suite("core"), NullProgress(), tasks=[TASK])
    assert (after.failed, after.equivalent) == (before.failed, 0)
    assert [each.mark.task for each in after.stale] == [TASK]
    assert not after.is_clean


@pytest.mark.engine
@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "world"), [(name, world) for name in SUITES for world in Project(ROOT).suite(name).worlds]
)
def test_worlds_tell_slips_from_answers(marked: Project, name: str, world: str) -> None:
    """At least 95 % of the unmarked mutants in each world fail, and no equivalence mark is stale.

    The references of a driver are long scripts. So a sample of the mutants of each such task is executed.
    """
    suite = marked.suite(name)
    tasks = [task for task in suite.tasks if task.world == world]
    sample = SAMPLE if any(task.driver for task in tasks) else None
    found = mutate_suite(marked, suite, NullProgress(), tasks=[task.id for task in tasks], sample=sample)
    assert found.stale == ()
    assert found.infra == 0
    assert found.score is not None
    assert found.score >= (0.95 if sample is None else 0.9), [each.command for each in found.survivors]


def test_what_is_no_mutant_cannot_be_marked() -> None:
    project = Project(ROOT)
    with pytest.raises(UsageError, match="is no mutant of text-011"):
        mark_mutant(
            project, project.suite("core"), TASK, b"sed -n 1,99p /var/log/web/access.log", "never made by a slip"
        )


def test_tasks_are_chosen_by_topic_and_by_name() -> None:
    suite = Project(ROOT).suite("core")
    chosen = select_tasks(suite, ["text"], ["files-003"])
    assert {task.topic.value for task in chosen} == {"text", "files"}
    assert [task.id for task in chosen if task.topic.value == "files"] == ["files-003"]
    assert select_tasks(suite, [], []) == suite.tasks
    with pytest.raises(UsageError, match="no topic 'txt'; it has: archives"):
        select_tasks(suite, ["txt"], [])


@pytest.mark.parametrize("name", SUITES)
def test_the_marks_read_and_each_is_of_a_task_that_is_there(name: str) -> None:
    """Every equivalence mark of a suite names an existing task that was not reworded since.

    `suite mutate` checks whether the marks still hold.
    """
    suite = Project(ROOT).suite(name)
    digests = {task.id: task.digest for task in suite.tasks}
    marks = read_equivalences(equivalences_path(ROOT / "fixtures", name))
    assert [mark.task for mark in marks if digests.get(mark.task) != mark.task_digest] == []
