"""The determinism benchmark runs every reference twice in different orders, and names each field that differs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import InfraError, UsageError
from evaluator.pipeline.benchmarks.determinism import (
    SuiteDeterminism,
    bench_determinism,
    differing_fields,
    measure_suite,
)
from evaluator.progress import NullProgress
from evaluator.records import Task
from evaluator.testing.checkouts import small_checkout, small_suite, small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import FakeExecutor, Shows

STEADY = {f"echo {number}": f"{number}\n" for number in range(12)}


def tasks_of(*commands: str, **fields: Any) -> list[Task]:
    return [
        small_task(f"files-{number}", references=(command, "true"), **fields) for number, command in enumerate(commands)
    ]


def measured(root: Path, tasks: list[Task], *plays: Mapping[str, Shows]) -> tuple[SuiteDeterminism, list[FakeExecutor]]:
    executors = [FakeExecutor({"true": "", **play}) for play in plays]
    openers = [partial(_same, executor) for executor in executors]
    return measure_suite(small_suite(root, tasks), openers, NullProgress()), executors


def _same(executor: FakeExecutor) -> FakeExecutor:
    return executor


def test_both_executors_get_every_reference_in_different_orders(tmp_path: Path) -> None:
    """The tasks share one reference, which is executed only once in each of the two variants."""
    result, (first, second) = measured(tmp_path, tasks_of(*STEADY), STEADY, STEADY)
    assert (result.tasks, result.runs, result.differences) == (12, 48, [])
    orders = [[(call.command, call.variant) for call in executor.calls] for executor in (first, second)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert len(orders[0]) == 26
    assert orders[0] != orders[1]


def test_each_differing_field_is_named(tmp_path: Path) -> None:
    commands = {"echo 1": "a 1\nb\n", "echo 2": "same\n", "echo 3": "1\n2\n"}
    again = {"echo 1": "a 2\nb\n", "echo 2": "same\n", "echo 3": "1\n"}
    result, _ = measured(tmp_path, tasks_of(*commands), commands, again)
    assert {found.reference: found.fields for found in result.differences} == {
        "echo 1": ("stdout line 1, field 2",),
        "echo 3": ("stdout",),
    }
    assert (sorted(result.differing), result.percent) == (["files-0", "files-2"], 66.67)


def test_declared_differences_and_fields_without_a_judge_do_not_count(tmp_path: Path) -> None:
    declared = tasks_of("date", volatile="the time")
    unseen = [small_task("files-9", references=("ps", "true"))]
    first: dict[str, Shows] = {"date": "1\n", "ps": evidence("same\n", stderr="1\n")}
    again: dict[str, Shows] = {"date": "2\n", "ps": evidence("same\n", stderr="2\n")}
    result, _ = measured(tmp_path, declared + unseen, first, again)
    assert (*result.declared, *result.uncompared) == ("files-0", "files-9")
    assert result.percent == 0


def test_a_run_without_evidence_counts(tmp_path: Path) -> None:
    lost = InfraError("the engine went away")
    result, _ = measured(tmp_path, tasks_of("echo 1"), {"echo 1": lost}, {"echo 1": "1\n"})
    assert {found.fields for found in result.differences} == {("not executed: the engine went away",)}
    assert (*result.differing, result.percent) == ("files-0", 100.0)


@pytest.mark.parametrize(
    ("again", "fields"),
    [
        ({"status": 1}, ("status",)),
        ({"stdout": "b\n"}, ("stdout line 1, field 1",)),
        ({"stderr": "x\ny\n"}, ("stderr",)),
        ({"verifier": 3}, ("verifier",)),
        ({"cpu_ms": 9.0}, ()),
    ],
)
def test_fields_have_names(again: dict[str, Any], fields: tuple[str, ...]) -> None:
    first = evidence("a\n")
    raw = evidence(str(again.pop("stdout", "a\n")), **again)
    assert differing_fields(first, raw) == fields


def test_an_unknown_suite_is_refused_before_anything_runs(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, tasks_of("echo 1"), {})
    with pytest.raises(UsageError, match="no suite is named 'other'"):
        next(bench_determinism(project, NullProgress(), ["tiny", "other"]))
