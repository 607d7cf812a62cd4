"""Records of verified tasks: what makes a task due, and what an invalid line of the file does."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, InfraError, UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance import verified_tasks, write_verification
from evaluator.pipeline.maintenance.verified_tasks import DueTasks, records_path, select_due, write_records
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress, Progress
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import small_checkout, small_task, write_suite
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, RequestedExecution, Shows

NAMES = [f"files-{number}" for number in range(1, 7)]
TASKS = [small_task(name, near_misses=(b"near",), world="hall" if name < "files-4" else "yard") for name in NAMES]
UNRECORDED = "it has no current record"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout whose tasks all have a current record."""
    small_checkout(tmp_path, TASKS, {})
    record(Project(tmp_path), NAMES)
    return Project(tmp_path)


def record(project: Project, names: list[str], failing: tuple[str, ...] = ()) -> int:
    return write_records(project, project.suite("tiny"), names, failing)


def due(project: Project, **options: Any) -> DueTasks:
    return select_due(project, project.suite("tiny"), **options)


def lines_of(project: Project) -> list[str]:
    return records_path(project.suite("tiny")).read_text().splitlines()


def write_lines(project: Project, lines: list[str], end: str = "\n") -> None:
    records_path(project.suite("tiny")).write_text("\n".join(lines) + end)


def problems_of(found: DueTasks) -> list[str]:
    return [f"{problem.path.name}:{problem.line}: {problem.message}" for problem in found.problems]


def test_no_task_is_due_after_all_were_recorded(project: Project) -> None:
    assert due(project) == DueTasks({}, (), ())
    assert [json.loads(line).get("task") for line in lines_of(project)] == [None, *NAMES]


def test_without_records_all_tasks_are_due(project: Project) -> None:
    records_path(project.suite("tiny")).unlink()
    assert due(project, every=2) == DueTasks(dict.fromkeys(NAMES, UNRECORDED), (), ())


def reworded(**fields: Any) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        write_suite(root, [TASKS[0].model_copy(update=fields), *TASKS[1:]])
        replace("suite.toml", "format = 1", "format = 8")(root)

    return change


def append(name: str, text: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        path = root / "fixtures" / "tiny" / name
        path.write_text((path.read_text() if path.exists() else "") + text)

    return change


def replace(name: str, old: str, new: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        path = root / "fixtures" / "tiny" / name
        path.write_text(path.read_text().replace(old, new, 1))

    return change


TASK, WORLD = "its task changed", "its world changed"
CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, str]]] = {
    "the instruction": (reworded(nl="Say hello."), {"files-1": TASK}),
    "a reference": (reworded(references=(b"right", b"quite right")), {"files-1": TASK}),
    "a near miss": (reworded(near_misses=(b"near", b"far")), {"files-1": TASK}),
    "the variants": (reworded(variants=("one",)), {"files-1": TASK}),
    "another world": (reworded(world="yard"), {"files-1": "its task and world changed"}),
    "the script of a world": (append("worlds/hall/build.sh", "true\n"), dict.fromkeys(NAMES[:3], WORLD)),
    "processes of a world": (append("worlds/yard/start.sh", "true\n"), dict.fromkeys(NAMES[3:], WORLD)),
    "a seed": (replace("worlds/hall/world.toml", "seed = 2", "seed = 3"), dict.fromkeys(NAMES[:3], WORLD)),
    "what precedes all scripts": (append("worlds/prelude.sh", "true\n"), dict.fromkeys(NAMES, WORLD)),
    "a limit": (replace("suite.toml", "cpu_s = 2.0", "cpu_s = 3.0"), dict.fromkeys(NAMES, UNRECORDED)),
    "a package": (replace("suite.toml", "[base]", '[base]\npackages = ["jq"]'), dict.fromkeys(NAMES, UNRECORDED)),
    "the topic's difficulty": (reworded(difficulty=4), {}),
    "an order of variants": (
        replace("worlds/hall/world.toml", "format = 1", 'format = 5\norder = ["two", "one"]'),
        {},
    ),
    "the version": (replace("suite.toml", "1.0.0", "1.0.1"), {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_makes_the_tasks_due_that_depend_on_it(project: Project, name: str) -> None:
    change, expected = CHANGES[name]
    change(project.root)
    assert due(project).due == expected


def test_a_wall_limit_is_a_part_of_the_task(project: Project) -> None:
    replace("suite.toml", "format = 1", "format = 8")(project.root)
    assert due(project).due == {}
    replace("tasks/files.jsonl", '"files-1",', '"files-1","wall_s":10,')(project.root)
    assert due(project).due == {"files-1": TASK}


def test_another_judge_or_runner_makes_all_tasks_due(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified_tasks, "runner_digest", lambda: "0" * 64)
    (project.root / "pyproject.toml").write_text('[tool.bashboard]\njudge = "exact"\n')
    found = due(Project(project.root))
    assert found.due == dict.fromkeys(NAMES, UNRECORDED)
    (message,) = problems_of(found)
    assert message.startswith("verified.jsonl:1: judge: expected exact, found consensus; judge_version: expected ")
    assert message.endswith(
        "runner: expected that of this checkout, found another one, so its 6 records are not current"
    )


INVALID: dict[str, tuple[Callable[[list[str]], list[str]], list[str], str]] = {
    "half written": (lambda lines: [*lines[:-1], lines[-1][:60]], ["files-6"], "verified.jsonl:7: "),
    "a repeated task": (
        lambda lines: [*lines, lines[1]],
        ["files-1"],
        "verified.jsonl:8: task files-1 has a record already, so none of them counts",
    ),
    "an unknown task": (
        lambda lines: [*lines, lines[1].replace("files-1", "files-9")],
        [],
        "verified.jsonl:8: the suite has no task files-9",
    ),
    "nested deeply": (lambda lines: [*lines, "[" * 100_000], [], "verified.jsonl:8: arrays and objects nested"),
    "a field too many": (
        lambda lines: [*lines[:-1], lines[-1].replace("{", '{"wall_s":10,')],
        ["files-6"],
        "verified.jsonl:7: wall_s: Extra inputs are not permitted, found 10: expected the record of a task",
    ),
    "another base": (
        lambda lines: [lines[0].replace("trixie", "bookworm"), *lines[1:]],
        NAMES,
        "verified.jsonl:1: base: expected debian trixie, found debian bookworm, so its 6 records are not current",
    ),
    "another suite": (
        lambda lines: [lines[0].replace("tiny", "core"), *lines[1:]],
        NAMES,
        "verified.jsonl:1: suite: expected tiny, found core, so its 6 records are not current",
    ),
    "no header": (lambda lines: lines[1:], NAMES, "verified.jsonl:1: format: Field required"),
    "an older format": (
        lambda lines: [lines[0].replace('"format":1', '"format":0'), *lines[1:]],
        NAMES,
        "verified.jsonl:1: format: Input should be 1, found 0: expected a header, so no record is current",
    ),
    "nothing": (lambda lines: [], NAMES, "verified.jsonl:1: "),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_line_is_named_and_its_task_is_due(project: Project, name: str) -> None:
    """Writing one record repairs the file, and keeps the valid lines."""
    damage, expected, message = INVALID[name]
    lines = lines_of(project)
    write_lines(project, damage(lines))
    found = due(project)
    assert list(found.due) == expected
    assert [each[: len(message)] for each in problems_of(found)] == [message]
    record(project, ["files-1"])
    assert lines_of(project) == [
        line for line in lines if not any(f'"{each}"' in line for each in {*expected} - {"files-1"})
    ]


def test_a_file_that_is_none_has_no_records(project: Project) -> None:
    path = records_path(project.suite("tiny"))
    path.unlink()
    path.mkdir()
    assert problems_of(due(project)) == ["verified.jsonl:0: cannot be read: Is a directory; no task has a record"]


def test_a_newer_format_is_refused_and_kept(project: Project) -> None:
    lines = [lines_of(project)[0].replace('"format":1', '"format":2'), *lines_of(project)[1:]]
    write_lines(project, lines)
    for work in (lambda: due(project), lambda: record(project, ["files-1"])):
        with pytest.raises(FormatError, match=r"verified.jsonl:1: verified.jsonl has format 2; this bashboard reads"):
            work()
    assert lines_of(project) == lines


def test_a_task_that_no_longer_holds_loses_its_record(project: Project) -> None:
    assert record(project, ["files-2"], failing=("files-3",)) == 5
    assert list(due(project).due) == ["files-3"]


def test_every_nth_other_task_is_selected_in_every_checkout_alike(project: Project) -> None:
    record(project, [], failing=("files-2",))
    halves = due(project, every=2).sampled
    assert len(halves) == 3
    assert "files-2" not in halves
    assert due(project, every=1).sampled == tuple(name for name in NAMES if name != "files-2")
    assert len(due(project, every=20).sampled) == 1
    write_suite(project.root, TASKS[::-1])
    assert set(due(project, every=2).sampled) == set(halves)


def git(project: Project, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=project.root, check=True, capture_output=True)


def test_a_record_that_an_earlier_commit_lacks_does_not_count(project: Project) -> None:
    """A contributor may compute the digests of a changed task, and write its record without executing anything."""
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=all")
    assert due(project, since="HEAD").due == {}
    reworded(nl="Say hello.")(project.root)
    record(project, ["files-1"])
    assert due(project).due == {}
    assert due(project, since="HEAD").due == {"files-1": "its record is not that of HEAD"}
    replace("suite.toml", "cpu_s = 2.0", "cpu_s = 3.0")(project.root)
    record(project, NAMES)
    assert list(due(project, since="HEAD").due) == NAMES
    with pytest.raises(UsageError, match="expected a commit of this checkout"):
        due(project, since="--help")


def test_before_the_first_records_no_record_counts(project: Project) -> None:
    git(project, "init", "--quiet")
    git(project, "commit", "--quiet", "--allow-empty", "--message=none")
    assert list(due(project, since="HEAD").due) == NAMES


def test_wrong_commands_are_counted_in_each_variant_of_worlds_without_an_infra_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the variant `two` of `hall`, a near miss does the same as the references."""

    def play(call: RequestedExecution) -> Shows:
        if call.command == "near":
            if call.world == "yard":
                return InfraError("the engine went away")
            return "right" if call.variant == "two" else "wrong"
        return "right" if call.command in ("right", "right too") else ""

    @contextlib.contextmanager
    def open_fake(project: Project, suite: Suite, progress: Progress, **_: object) -> Iterator[Grader]:
        with contextlib.closing(Store(project.store_path)) as store:
            yield Grader(suite, find_judge("consensus"), store, FINGERPRINT, FakeExecutor(play), progress, spacing_s=0)

    monkeypatch.setattr(write_verification, "open_grader", open_fake)
    suite = project.suite("tiny")
    counts = write_verification.failures_by_variant(project, suite, suite.tasks, NullProgress(), None)
    assert counts == {"hall": {"one": 9, "two": 6}}
