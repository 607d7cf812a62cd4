"""The precision of the instructions of a suite and of single tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluator.errors import FormatError
from evaluator.records import Instructions
from evaluator.suites.load import load_suite
from evaluator.testing.checkouts import small_suite, small_task, write_suite

ROOT = Path(__file__).parents[2]
TASKS = [small_task("files-1"), small_task("files-2")]


def override(root: Path, *lines: object) -> None:
    folder = root / "fixtures" / "overrides" / "tiny"
    folder.mkdir(parents=True)
    (folder / "kinds.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def line(task: str = "files-1", **fields: object) -> dict[str, object]:
    return {"format": 1, "task": task, "instructions": "open", "because": "asks for any report", **fields}


def test_the_suite_decides_for_its_tasks(tmp_path: Path) -> None:
    suite = small_suite(tmp_path, TASKS, instructions="open", variants={"one": 1, "odd": 2}, contested=("odd",))
    assert suite.instructions(suite.task("files-1")) is Instructions.OPEN
    assert suite.contested(suite.task("files-1")) == {"odd"}


def test_a_task_may_override_its_suite(tmp_path: Path) -> None:
    folder = write_suite(tmp_path, TASKS)
    override(tmp_path, line("files-2"))
    suite = load_suite(folder)
    assert [suite.instructions(task) for task in suite.tasks] == [Instructions.PRECISE, Instructions.OPEN]


BROKEN: dict[str, tuple[object, str]] = {
    "an unknown task": (line("files-9"), "2: task: expected a task of the suite, found 'files-9'"),
    "twice": (line(), "2: task files-1 stands twice: expected one line for a task"),
    "without a reason": (line("files-2", because=""), "2: because: String should have at least 8 characters"),
    "another word": (line("files-2", instructions="vague"), "2: instructions: Input should be 'precise' or 'open'"),
    "a newer format": (line("files-2", format=2), "2: kinds.jsonl has format 2"),
    "no object": (3, "2: "),
}


@pytest.mark.parametrize(("spoiled", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_override_is_reported_with_its_line(tmp_path: Path, spoiled: object, problem: str) -> None:
    folder = write_suite(tmp_path, TASKS)
    override(tmp_path, line(), spoiled)
    with pytest.raises(FormatError) as caught:
        load_suite(folder)
    assert [problem in str(found) for found in caught.value.problems] == [True]


def test_every_task_of_core_is_precise() -> None:
    """The judge may leave fewer answers undecided for a precise task, so an instruction of core may not be open."""
    suite = load_suite(ROOT / "fixtures" / "core")
    assert [task.id for task in suite.tasks if suite.instructions(task) is Instructions.OPEN] == []
