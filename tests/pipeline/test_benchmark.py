"""The load of `bench score` has the requested size, repeats no candidate, and half of its candidates are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.benchmarks.score_benchmark import Load, repeat_suite
from evaluator.pipeline.project import Project

CORE = Project(Path(__file__).parents[2]).suite("core")
EXECUTIONS = 12 * len(CORE.tasks)
"""So many that each task gets several candidates, right and wrong ones."""


@pytest.fixture(scope="module", params=[False, True], ids=["without processes", "with processes"])
def load(request: pytest.FixtureRequest) -> Load:
    return repeat_suite(CORE, EXECUTIONS, with_processes=request.param)


def test_every_candidate_has_a_text_of_its_own_that_is_no_reference(load: Load) -> None:
    again = load.with_suffix(b" again").candidates.values()
    texts = [*load.candidates.values(), *again, *load.references]
    assert len(set(texts)) == len(texts)


def test_variants_of_candidates_are_as_many_as_asked_and_no_task_more(load: Load) -> None:
    last = len(CORE.variants(load.suite.tasks[-1]))
    assert EXECUTIONS <= load.variants < EXECUTIONS + last
    assert load.variants == sum(len(CORE.variants(load.suite.task(task))) for task in load.candidates)


def test_half_of_the_candidates_are_near_misses_and_both_halves_are_of_all_tasks(load: Load) -> None:
    own = {task.id: task for task in CORE.tasks}
    wrong = {"right": set[str](), "wrong": set[str]()}
    counts = {"right": 0, "wrong": 0}
    for name, command in load.candidates.items():
        task = own[name.rsplit(".", 1)[0]]
        kind = "wrong" if command.rsplit(b"\n", 1)[0] in task.near_misses else "right"
        wrong[kind].add(task.id)
        counts[kind] += 1
    assert abs(counts["right"] - counts["wrong"]) <= 1
    assert wrong["right"] == wrong["wrong"]


def test_references_count_once_however_often_their_task_is_repeated(load: Load) -> None:
    assert len(load.suite.tasks) > load.tasks
    assert load.references == {each for task in load.suite.tasks for each in task.references}


def test_tasks_that_start_or_watch_processes_are_taken_when_asked(load: Load) -> None:
    everything = repeat_suite(CORE, EXECUTIONS, with_processes=True)
    assert everything.tasks == len(CORE.tasks)
    assert repeat_suite(CORE, EXECUTIONS, with_processes=False).tasks < everything.tasks


def test_a_load_is_a_submission_to_its_suite(load: Load) -> None:
    submission = load.submission()
    task = load.suite.tasks[0].id
    assert [each.command for each in submission.candidates("core", task)] == [load.candidates[task]]
