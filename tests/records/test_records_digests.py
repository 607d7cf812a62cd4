"""Tests of the digests that identify evidence and tasks."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.records import (
    Ending,
    Evidence,
    Finding,
    Kind,
    Outcome,
    Output,
    PathChange,
    Process,
    ShellState,
    Task,
    Timing,
    Verdict,
)
from evaluator.testing.evidence import added, evidence, output, task

EVIDENCE = evidence("a\n", changes=[added("/srv/x", "1")])
OTHER_EVIDENCE: dict[str, dict[str, Any]] = {
    "ending": {"ending": Ending.TIMEOUT},
    "status": {"status": 1},
    "stdout": {"stdout": output("b\n")},
    "stdout beyond the cap": {"stdout": Output(data=b"a\n", size=3, digest=output("a\nb").digest)},
    "stderr": {"stderr": output("b\n")},
    "changes": {"changes": ()},
    "a change of time": {"changes": (PathChange(path=b"/srv/x", kind=Kind.TOUCHED, mtime=5),)},
    "changes cut": {"changes_truncated": True},
    "shell": {"shell": ShellState(alive=True)},
    "processes": {"processes": (Process(arguments=b"sleep\0", uid=0, state="S"),)},
    "verifier": {"verifier": 0},
    "verifier's message": {"verifier_message": b"why"},
}
TASK = task(id="files-1", references=(b"a", b"b"))
OTHER_TASK: dict[str, dict[str, Any]] = {
    "id": {"id": "files-2"},
    "nl": {"nl": "Other words"},
    "references": {"references": (b"a",)},
    "near misses": {"near_misses": (b"c",)},
    "world": {"world": "elsewhere"},
    "output": {"output": "lines"},
    "observe": {"observe": ("exit",)},
    "setup": {"setup": b"touch x"},
    "verify": {"verify": b"test -e x"},
    "driver": {"driver": b"./x", "answer": "/x"},
    "text files": {"text_files": ("/srv/x",)},
    "volatile": {"volatile": "the time of day"},
}
SAME_TASK: dict[str, dict[str, Any]] = {
    "timing": {"timing": Timing(human_s=20, provenance="empirical")},
    "difficulty": {"difficulty": 5},
    "topic": {"topic": "text"},
}


def changed(record: Evidence | Task, fields: dict[str, Any]) -> Any:
    return type(record).model_validate({**record.model_dump(), **fields})


def test_evidence_is_named_without_how_long_it_took() -> None:
    assert changed(EVIDENCE, {"cpu_ms": 12.5, "wall_ms": 99.0}).digest == EVIDENCE.digest


@pytest.mark.parametrize("fields", OTHER_EVIDENCE.values(), ids=OTHER_EVIDENCE)
def test_evidence_that_shows_something_else_has_another_name(fields: dict[str, Any]) -> None:
    assert changed(EVIDENCE, fields).digest != EVIDENCE.digest


@pytest.mark.parametrize("fields", SAME_TASK.values(), ids=SAME_TASK)
def test_a_task_is_named_without_what_is_said_about_it(fields: dict[str, Any]) -> None:
    assert changed(TASK, fields).digest == TASK.digest


@pytest.mark.parametrize("fields", OTHER_TASK.values(), ids=OTHER_TASK)
def test_a_task_that_asks_or_compares_otherwise_has_another_name(fields: dict[str, Any]) -> None:
    assert changed(TASK, fields).digest != TASK.digest


def test_a_line_leaves_out_what_holds_its_default() -> None:
    assert Finding(outcome=Outcome.PASS).to_json() == '{"outcome":"pass"}'


def test_a_published_verdict_holds_no_time() -> None:
    assert not {name for name in Verdict.model_fields if name.endswith(("_ms", "_s", "time", "at"))}


@pytest.mark.parametrize(("size", "truncated"), [(2, False), (3, True)])
def test_a_stream_is_cut_where_more_was_printed_than_is_kept(size: int, truncated: bool) -> None:
    assert Output(data=b"ab", size=size).truncated is truncated
