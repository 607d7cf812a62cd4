"""Labels of real answers: their commands are found by digest, and every invalid line is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError
from evaluator.judges import find_judge
from evaluator.pipeline.boards.scored_boards import read_validation
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.answer_labels import (
    answer_labels_path,
    answer_part,
    availability_note,
    real_answers_of,
    report_missing_suites,
)
from evaluator.pipeline.maintenance.judge_metrics_file import save_metrics
from evaluator.pipeline.maintenance.judge_validation import Results, validate_judges
from evaluator.pipeline.maintenance.pair_sources import PairSelection, selected_pairs
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Part, Validation, command_digest
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import FINGERPRINT, FakeExecutor

ROOT = Path(__file__).parents[2]
TASKS = [small_task(f"files-{number}", references=("right", "right too")) for number in range(1, 7)]
HALF = {task.id: answer_part("tiny", task.id) for task in TASKS}
OURS = [task for task, part in HALF.items() if part is Part.WRITTEN_FROM]
HELD = [task for task, part in HALF.items() if part is Part.HELD_BACK]
SHOWN = {"right": "yes\n", "right too": "yes\n", "also right": "yes\n", "differs": "yes \n", "wrong": "no\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    answers = {"local": {task.id: ["also right", "differs", "wrong"] for task in TASKS}}
    return small_checkout(tmp_path, TASKS, answers)


def label(task: str, labelled: str, given: str = "yes", **fields: Any) -> dict[str, Any]:
    digest = command_digest(labelled.encode())
    return {"format": 1, "label_set": 1, "task": task, "command_digest": digest, "label": given, **fields}


def write(project: Project, *labels: dict[str, Any] | str) -> Path:
    """Write each label to the file of its half, and return the file of the half that rules may be written from."""
    for part in (Part.WRITTEN_FROM, Part.HELD_BACK):
        path = answer_labels_path(project, "tiny", part)
        path.parent.mkdir(parents=True, exist_ok=True)
        of_part = [one for one in labels if isinstance(one, str) or HALF.get(one["task"], Part.WRITTEN_FROM) is part]
        lines = (one if isinstance(one, str) else json.dumps(one) for one in of_part)
        path.write_text("".join(f"{line}\n" for line in lines))
    return answer_labels_path(project, "tiny", Part.WRITTEN_FROM)


def measured(project: Project, *kinds: str, held_back: bool = True) -> Results:
    """Measure `consensus` on the real answers, with evidence of imaginary executions."""
    selection = PairSelection(kinds=kinds or ("real-answers",), held_back=held_back)
    pairs = selected_pairs(project, selection, NullProgress())
    for suite_pairs in pairs:
        suite = suite_pairs.suite
        store = Store(project.store_path)
        store.set_fingerprint(image_reference(suite.manifest), FINGERPRINT)
        executor = FakeExecutor(SHOWN)
        grader = Grader(suite, find_judge("consensus"), store, FINGERPRINT, executor, NullProgress(), spacing_s=0)
        every = [pair for of_kind in suite_pairs.pairs.values() for pair in of_kind]
        grader.grade(GradingItem(pair.task, pair.command, pair.without) for pair in every)
        store.close()
    return validate_judges(project, pairs, NullProgress(), judges=["consensus"])


def test_both_halves_of_the_tasks_are_used_here() -> None:
    assert OURS
    assert HELD


def test_commands_are_found_in_local_submissions_and_in_labels(project: Project) -> None:
    write(
        project,
        label(OURS[0], "also right"),
        label(OURS[0], "wrong", "no"),
        label(HELD[0], "published", command="published"),
        label(OURS[0], "on no machine"),
        label(OURS[0], "unclear", "ambiguous"),
    )
    found = real_answers_of(project, project.suite("tiny"))
    assert found is not None
    assert {(pair.task, pair.command, pair.equivalent) for pair in found.pairs} == {
        (OURS[0], b"also right", True),
        (OURS[0], b"wrong", False),
        (HELD[0], b"published", True),
    }
    numbers = found.numbers
    assert (numbers.right, numbers.wrong, numbers.left_out, numbers.unavailable) == (3, 1, 1, 1)
    assert availability_note(numbers) == (
        "real answers of tiny: 1 unclear or disputed answer left out; 1 command of 4 not available; "
        "run: bashboard submit import tiny CLONE"
    )


def test_a_suite_without_labels_has_no_real_answers(project: Project) -> None:
    assert real_answers_of(project, project.suite("tiny")) is None


def test_labels_of_a_suite_that_is_not_here_are_reported(project: Project) -> None:
    folder = project.root / "fixtures" / "overrides" / "other"
    folder.mkdir(parents=True)
    (folder / "real_answers.jsonl").write_text("")
    said: list[str] = []
    report_missing_suites(project, project.suites(), said.append)
    assert said == ["real answers of other: not available without the suite; run: bashboard suite add other"]


def test_every_invalid_line_is_named_with_file_and_line(project: Project) -> None:
    path = write(
        project,
        label(OURS[0], "also right"),
        label("files-99", "wrong"),
        label(OURS[0], "also right", "no"),
        label(OURS[0], "wrong", "perhaps"),
        label(OURS[0], "wrong", command="another"),
        label(OURS[0], "wrong", label_set=2),
    )
    with path.open("a") as file:
        file.write('{"format": 1, "task"')
    with pytest.raises(FormatError) as caught:
        real_answers_of(project, project.suite("tiny"))
    problems = {problem.line: problem.message for problem in caught.value.problems if problem.path == path}
    assert set(problems) == {2, 3, 4, 5, 6, 7}
    assert "has no task 'files-99'" in problems[2]
    assert "labels the command of real_answers.jsonl:1" in problems[3]
    assert "label" in problems[4]
    assert "expected the SHA-256 of the bytes of `command`" in problems[5]
    assert problems[6] == "label_set: expected 1, as in the first line of the set"


def test_a_held_back_answer_does_not_stand_among_the_others(project: Project) -> None:
    path = answer_labels_path(project, "tiny", Part.WRITTEN_FROM)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(label(HELD[0], "wrong", "no")))
    with pytest.raises(FormatError, match=r"move the line to real_answers\.held_back\.jsonl"):
        real_answers_of(project, project.suite("tiny"))


def test_each_half_has_its_results_and_held_back_mistakes_are_not_shown(project: Project) -> None:
    """The judge fails a trailing blank here. The label says that the answer is right, in both halves."""
    write(project, *(label(task, command) for task in (OURS[0], HELD[0]) for command in ("also right", "differs")))
    found = measured(project)
    assert found.figures == []
    assert [(row.part, row.right_passed.part, row.right_failed.part) for row in found.answers] == [
        (Part.WRITTEN_FROM, 1, 1),
        (Part.HELD_BACK, 1, 1),
    ]
    assert [(mistake.task, mistake.command) for mistake in found.mistakes] == [(OURS[0], b"differs")]


def test_held_back_answers_can_be_left_out(project: Project) -> None:
    write(project, *(label(task, "also right") for task in (OURS[0], HELD[0])))
    assert [row.part for row in measured(project, held_back=False).answers] == [Part.WRITTEN_FROM]
    write(project, label(HELD[0], "also right"))
    assert measured(project, held_back=False).answers == []


def test_results_are_kept_beside_those_of_other_sets(project: Project) -> None:
    write(project, label(OURS[0], "also right"))
    for kind in ("real-answers", "table-4", "real-answers"):
        path = save_metrics(project, measured(project, kind).validation(()), publish=True)
    kept = read_validation(path)
    assert [(row.suite, row.judge) for row in kept.answers] == [("tiny", "consensus")]
    assert [numbers.suite for numbers in kept.answer_sets] == ["tiny"]
    assert {row.kind.value for row in kept.figures} == {"table-4"}


def test_a_file_of_the_earlier_format_is_read(tmp_path: Path) -> None:
    (tmp_path / "judges.json").write_text('{"format": 1, "figures": [], "agreements": []}')
    assert read_validation(tmp_path / "judges.json") == Validation(format=1)


def test_the_committed_labels_quote_no_text_of_another_publisher() -> None:
    """The page says how many labels there are. Only commands of our own submission are in the files."""
    files = sorted((ROOT / "fixtures" / "overrides").glob("*/real_answers*.jsonl"))
    labels = [(path.parent.name, json.loads(line)) for path in files for line in path.read_text().splitlines()]
    assert len(labels) == 222
    assert f"gave the {len(labels)} labels above" in (ROOT / "site" / "judges.md").read_text()
    fields = {suite: {name for of_suite, one in labels if of_suite == suite for name in one} for suite, _ in labels}
    named = {"format", "label_set", "task", "command_digest", "label"}
    assert fields == {"intercode": named, "nl2sh-alfa": named | {"command"}}
