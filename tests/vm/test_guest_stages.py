"""A stage that passed is not repeated with the same inputs, and evidence that differs is found."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.records import Observation
from evaluator.suites.load import Suite
from tests.vm.guest_disk import StepError
from tests.vm.guest_machine import end_earlier
from tests.vm.guest_stages import Stages
from tests.vm.topic_evidence import TASKS_A_TOPIC, compare


def run_twice(cache: Path, inputs: str, *again: str) -> list[bool]:
    """Run the stage `one` with the inputs "a" and then with `inputs`, and return which runs did its work."""
    worked = []
    for given, repeated in (("a", ()), (inputs, again)):
        calls: list[Path] = []
        assert Stages(cache, repeated).run("one", given, lambda log, calls=calls: calls.append(log) or "")  # type: ignore[misc]
        worked.append(bool(calls))
    return worked


def test_a_stage_that_passed_is_not_repeated(tmp_path: Path) -> None:
    assert run_twice(tmp_path, "a") == [True, False]


def test_other_inputs_repeat_a_stage(tmp_path: Path) -> None:
    assert run_twice(tmp_path, "b") == [True, True]


def test_a_stage_is_repeated_if_it_is_named(tmp_path: Path) -> None:
    assert run_twice(tmp_path, "a", "one") == [True, True]


def test_a_stage_that_failed_runs_again(tmp_path: Path) -> None:
    def fail(log: Path) -> str:
        raise StepError("no disk\nlast lines")

    stages = Stages(tmp_path, [])
    assert not stages.run("one", "a", fail)
    assert "FAILED" in stages.table()
    assert stages.done("one", "a") is None


def test_a_guest_that_a_killed_run_left_is_ended(tmp_path: Path) -> None:
    """A process with the same number that is not the guest stays."""
    waits = [sys.executable, "-c", "import time; time.sleep(60)"]
    guest, other = (subprocess.Popen([*waits, argument]) for argument in (f"file={tmp_path}/disk", "none"))
    with guest, other:
        while str(tmp_path).encode() not in Path(f"/proc/{guest.pid}/cmdline").read_bytes():
            time.sleep(0.01)  # the new process is still a copy of this one
        for process in (guest, other):
            (tmp_path / "qemu.pid").write_text(f"{process.pid}\n")
            end_earlier(tmp_path)
        assert guest.wait(10) != 0
        assert other.poll() is None
        other.kill()


def evidence_file(path: Path, core: Suite, *, changed: str = "", without: str = "", noisy: str = "") -> Path:
    """Write a file with one line for each task, and none for `without`.

    The task `changed` has another ending, and the task `noisy` has another exit status.
    """
    lines = [
        {
            "task": task.id,
            "topic": task.topic,
            "variant": "plain",
            "command": "true",
            "shows": {
                "ending": "timeout" if task.id == changed else "exited",
                "status": int(task.id == noisy),
                "cpu_ms": float(len(str(path))),
            },
        }
        for task in core.tasks
        if task.id != without
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_equal_evidence_of_all_tasks_holds(tmp_path: Path, core: Suite) -> None:
    """Durations may differ."""
    comparison = compare(evidence_file(tmp_path / "a", core), evidence_file(tmp_path / "the other", core))
    assert comparison.holds
    assert min(comparison.equal_tasks.values()) >= TASKS_A_TOPIC - 1  # one topic has no more


@pytest.mark.parametrize("how", ["changed", "without"])
def test_one_difference_is_found_and_named(tmp_path: Path, core: Suite, how: str) -> None:
    task = core.tasks[7]
    here = evidence_file(tmp_path / "here", core)
    comparison = compare(here, evidence_file(tmp_path / "guest", core, **{how: task.id}))
    assert not comparison.holds
    assert [text.split()[0] for text in comparison.differences] == [task.id]
    assert comparison.equal_tasks[task.topic.value] == comparison.tasks[task.topic.value] - 1


@pytest.mark.parametrize("observed", [False, True])
def test_a_field_counts_if_the_task_compares_it(tmp_path: Path, core: Suite, observed: bool) -> None:
    """Another difference is counted and reported, because it may be the first sign of a real one."""
    task = next(task for task in core.tasks if (Observation.EXIT in task.observe) is observed)
    comparison = compare(evidence_file(tmp_path / "here", core), evidence_file(tmp_path / "guest", core, noisy=task.id))
    assert comparison.holds is not observed
    found, others = comparison.differences, comparison.uncompared
    assert [text.split()[0] for text in (found if observed else others)] == [task.id]
    assert not (others if observed else found)
    assert f"raw differences: 1, of them in compared fields: {int(observed)}" in str(comparison)


@pytest.mark.parametrize(("members", "counts"), [(["same"], False), (None, True)])
def test_the_bytes_of_an_archive_do_not_count(
    tmp_path: Path, core: Suite, members: list[str] | None, counts: bool
) -> None:
    """Two archives with equal members are compared as equal, and two other files with unequal bytes are not."""
    files = []
    for name in ("here", "guest"):
        path = evidence_file(tmp_path / name, core)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line["shows"]["changes"] = [{"path": "/a.zip", "members": members, "content": name, "size": len(name)}]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        files.append(path)
    comparison = compare(*files)
    assert comparison.holds is not counts
    assert len(comparison.differences if counts else comparison.uncompared) == len(core.tasks)
