"""The blind set: its lines are checked, its halves are computed, and the held half is measured only on request."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError
from evaluator.judges import find_judge
from evaluator.metrics.answer_shares import JudgedAnswer, blind_counts
from evaluator.pipeline.boards.scored_boards import read_validation
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.blind_set import FILE_NAME, blind_part, read_attack, read_blind_set
from evaluator.pipeline.maintenance.judge_metrics_file import save_metrics
from evaluator.pipeline.maintenance.judge_validation import Results, validate_judges
from evaluator.pipeline.maintenance.pair_sources import HALVES, PairSelection, selected_pairs
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import EstimatedShare, Finding, Outcome, Part, Tier, Validation, json_lines
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import FINGERPRINT, FakeExecutor
from tests.own_suites import own_suites, packages_of_core

TASKS = [
    small_task(f"files-{number}", tier="everyday" if number % 2 else "advanced", wall_s=10) for number in range(1, 13)
]
DEV = [task.id for task in TASKS if blind_part(task.id) is Part.WRITTEN_FROM]
HELD = [task.id for task in TASKS if blind_part(task.id) is Part.HELD_BACK]
SHOWN = {"right": "yes\n", "right too": "yes\n", "also right": "yes\n", "differs": "yes \n", "wrong": "no\n"}


def line(task: str, kind: str, command: str, **fields: Any) -> dict[str, Any]:
    row = {"format": 1, "label_set": 1, "task": task, "kind": kind, "command": command, "reader": kind}
    return {**row, "differs": "an empty file", **fields}


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    return path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout whose suite has six everyday tasks and six advanced ones."""
    made = small_checkout(tmp_path, TASKS, {})
    folder = tmp_path / "fixtures" / "tiny" / "tasks"
    (folder / "files.jsonl").unlink()
    for tier in (Tier.EVERYDAY, Tier.ADVANCED):
        (folder / tier.value).mkdir()
        lines = json_lines(task for task in TASKS if task.tier is tier)
        (folder / tier.value / "files.jsonl").write_text(lines)
    return made


def set_of(project: Project, *lines: dict[str, Any] | str) -> Path:
    return write(project.suite("tiny").folder / FILE_NAME, *lines)


def measured(project: Project, *halves: str) -> Results:
    """Measure `consensus` on the blind set, with evidence of imaginary executions."""
    wanted = [HALVES[name] for name in halves or ("dev",)]
    (pairs,) = selected_pairs(project, PairSelection(kinds=("blind",), halves=wanted), NullProgress())
    store = Store(project.store_path)
    store.set_fingerprint(image_reference(pairs.suite.manifest), FINGERPRINT)
    executor = FakeExecutor(SHOWN)
    grader = Grader(pairs.suite, find_judge("consensus"), store, FINGERPRINT, executor, NullProgress(), spacing_s=0)
    grader.grade(GradingItem(pair.task, pair.command) for of_kind in pairs.pairs.values() for pair in of_kind)
    store.close()
    return validate_judges(project, [pairs], NullProgress(), judges=["consensus"])


def test_a_suite_without_the_file_has_no_blind_set(project: Project) -> None:
    assert read_blind_set(project.suite("tiny")) is None
    assert measured(project).blind == []


def test_every_invalid_line_is_named_with_file_and_line(project: Project) -> None:
    good = line("files-1", "wrong", "ls")
    without = line("files-2", "wrong", "ls")
    del without["differs"]
    path = set_of(
        project,
        good,
        line("files-99", "wrong", "ls"),
        line("files-2", "maybe", "ls", reader="wrong"),
        line("files-2", "wrong", "if true"),
        without,
        line("files-2", "wrong", "ls", reader="perhaps"),
        line("files-1", "wrong", "ls -a"),
        line("files-1", "right", "ls"),
        line("files-3", "wrong", "ls", label_set=2),
        line("files-4", "wrong", " "),
        line("files-5", "wrong", "ls", format=2),
        '{"format": 1',
    )
    with pytest.raises(FormatError) as caught:
        read_blind_set(project.suite("tiny"))
    problems = {problem.line: problem.message for problem in caught.value.problems if problem.path == path}
    assert "has no task 'files-99'" in problems[2]
    assert problems[3] == "kind: Input should be 'wrong' or 'right', found 'maybe'"
    assert problems[4].startswith("command: line 2: syntax error")
    assert problems[5] == "differs: Field required"
    assert problems[6] == "reader: Input should be 'wrong', 'right' or 'unsure', found 'perhaps'"
    again = f"the first is in {FILE_NAME}:1: keep one of both lines"
    assert problems[7] == f"has a second wrong answer to files-1; {again}"
    assert problems[8] == f"has the command of an answer to files-1; {again}"
    assert problems[9] == "label_set: expected 1, as in the first line of the set"
    assert problems[10] == "command: the reply contains no command"
    assert "this bashboard reads format 1: upgrade bashboard" in problems[11]
    assert set(problems) == set(range(2, 13))


def test_writers_may_answer_a_task_twice_but_not_with_one_command(project: Project, tmp_path: Path) -> None:
    def answer(command: str) -> dict[str, str]:
        return {"task": "files-1", "kind": "wrong", "command": command, "differs": "an empty file"}

    first = write(tmp_path / "1.jsonl", answer("ls"), answer("ls -a"))
    second = write(tmp_path / "2.jsonl", answer("ls"))
    assert [found.command for found in read_attack(project.suite("tiny"), [first])] == [b"ls", b"ls -a"]
    with pytest.raises(FormatError) as caught:
        read_attack(project.suite("tiny"), [first, second])
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (second, 1)
    assert "the first is in 1.jsonl:1" in problem.message


def test_the_half_of_a_task_follows_from_the_digest_of_its_id() -> None:
    for task in ("files-001", "text-117", "a"):
        is_held = int(hashlib.sha256(task.encode()).hexdigest(), 16) < 2**255
        assert (blind_part(task) is Part.HELD_BACK) == is_held
    for suite in own_suites():
        held = [task.id for task in suite.tasks if blind_part(task.id) is Part.HELD_BACK]
        assert 0.4 < len(held) / len(suite.tasks) < 0.6


def test_the_held_half_is_executed_only_on_request(project: Project) -> None:
    set_of(project, *(line(task, "wrong", "wrong") for task in (*DEV, *HELD)))
    found = {
        names: {pair.task for pair in pairs.pairs[kind]}
        for names in (("dev",), ("held",), ("dev", "held"))
        for pairs in selected_pairs(
            project, PairSelection(kinds=("blind",), halves=[HALVES[name] for name in names]), NullProgress()
        )
        for kind in pairs.pairs
    }
    assert found == {("dev",): set(DEV), ("held",): set(HELD), ("dev", "held"): {*DEV, *HELD}}
    (by_default,) = selected_pairs(project, PairSelection(), NullProgress())
    assert {pair.task for kind, pairs in by_default.pairs.items() if kind.value == "blind" for pair in pairs} == {*DEV}


def test_results_are_by_half_and_tier_and_disputed_answers_are_left_out(project: Project) -> None:
    """The judge fails a trailing blank here. The label says that the answer is right."""
    wrong = [line(task, "wrong", "also right" if task == DEV[0] else "wrong") for task in DEV]
    right = [line(task, "right", "differs") for task in DEV[1:]]
    disputed = [line(DEV[0], "right", "differs", reader="unsure")]
    set_of(project, *wrong, *right, *disputed)
    found = measured(project).blind
    tiers = {task.id: task.tier for task in TASKS}
    for row in found:
        tasks = [task for task in DEV if row.tier in (None, tiers[task])]
        shares = (row.wrong_passed.part, row.wrong_passed.whole, row.right_failed.part, row.right_failed.whole)
        with_first = DEV[0] in tasks
        assert shares == (int(with_first), len(tasks), len(tasks) - with_first, len(tasks) - with_first)
        assert (row.part, row.left_out, row.tasks) == (Part.WRITTEN_FROM, int(with_first), len(tasks))
    assert [row.tier for row in found] == [None, Tier.EVERYDAY, Tier.ADVANCED]


def test_mistakes_on_the_held_half_are_not_shown(project: Project) -> None:
    set_of(project, *(line(task, "wrong", "also right") for task in (*DEV, *HELD)))
    found = measured(project, "dev", "held")
    assert [(row.part, row.wrong_passed.part) for row in found.blind if row.tier is None] == [
        (Part.WRITTEN_FROM, len(DEV)),
        (Part.HELD_BACK, len(HELD)),
    ]
    assert {mistake.task for mistake in found.mistakes} == set(DEV)


def test_the_results_of_the_other_half_stay_in_the_file(project: Project) -> None:
    set_of(project, *(line(task, "wrong", "wrong") for task in (*DEV, *HELD)))
    for half in ("held", "dev", "dev"):
        path = save_metrics(project, measured(project, half).validation(()), publish=True)
    rows = read_validation(path).blind
    assert [(row.part, row.tier) for row in rows] == [
        (part, tier) for part in (Part.WRITTEN_FROM, Part.HELD_BACK) for tier in (None, Tier.EVERYDAY, Tier.ADVANCED)
    ]
    for earlier in (1, 2):
        path.write_text(json.dumps({"format": earlier, "figures": []}))
        assert read_validation(path) == Validation(format=earlier)
    path.write_text(json.dumps({"format": 4, "figures": []}))
    with pytest.raises(FormatError, match="format"):
        read_validation(path)


def test_shares_have_intervals_of_wilson_with_one_answer_less() -> None:
    """With one answer of a kind to each task, the effective number is the number of answers less one.

    3 of 10 wrong answers pass. Wilson's interval of 0.3 with 9 observations at 95 % is 0.1021 to 0.6175:
    (0.3 + 1.9208 / 9 ± 1.96 · √(0.21 / 9 + 0.9604 / 81)) / (1 + 3.8415 / 9). No answer of 10 is undecided: 0 to 0.2775.
    """
    outcomes = [Outcome.PASS] * 3 + [Outcome.FAIL] * 4 + [Outcome.TIMEOUT, Outcome.INVALID, Outcome.FAIL]
    answers = [JudgedAnswer(f"t-{n}", False, Finding(outcome=outcome)) for n, outcome in enumerate(outcomes)]
    broken = JudgedAnswer("t-0", True, Finding(outcome=Outcome.INFRA_ERROR))
    found = blind_counts([*answers, broken])
    assert found == {
        "tasks": 10,
        "infra_errors": 1,
        "wrong_passed": EstimatedShare(part=3, whole=10, low=0.1021, high=0.6175),
        "right_failed": EstimatedShare(part=0, whole=0),
        "undecided": EstimatedShare(part=0, whole=10, low=0.0, high=0.2775),
    }


def test_the_sets_of_the_repository_are_valid() -> None:
    for suite in own_suites():
        blind = read_blind_set(suite)
        assert blind is None or blind.answers


def test_answers_are_executed_and_judged(tmp_path: Path, engine: Engine) -> None:
    """The wrong answer to `files-1` misses hidden files, which the world lacks. That to `files-2` sorts by text."""
    build = b"mkdir -p /srv/box; cd /srv/box; echo 10 >b; echo 9 >a\n"
    tasks = [
        small_task("files-1", references=("ls -A /srv/box", "find /srv/box -mindepth 1 -printf '%f\\n' | sort")),
        small_task("files-2", references=("sort -n /srv/box/[ab]", "cat /srv/box/[ab] | sort -n")),
    ]
    project = small_checkout(tmp_path, tasks, {}, build=build, packages=packages_of_core())
    set_of(
        project,
        line("files-1", "wrong", "cd /srv/box; echo * | tr ' ' '\\n'"),
        line("files-1", "right", "cd /srv/box; printf '%s\\n' *"),
        line("files-2", "wrong", "sort /srv/box/a /srv/box/b"),
        line("files-2", "right", "awk '{ print }' /srv/box/a /srv/box/b | sort -n", reader="unsure"),
    )
    halves = list(HALVES.values())
    pairs = selected_pairs(project, PairSelection(kinds=("blind",), halves=halves), NullProgress())
    rows = validate_judges(project, pairs, NullProgress(), judges=["consensus"], workers=1).blind
    assert sum(row.infra_errors for row in rows) == 0
    assert sum(row.wrong_passed.part for row in rows) == 1
    assert sum(row.wrong_passed.whole for row in rows) == 2
    assert [(row.right_failed.part, row.right_failed.whole) for row in rows if row.right_failed.whole] == [(0, 1)]
    assert sum(row.left_out for row in rows) == 1
