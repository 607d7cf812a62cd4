"""Tests of cache keys: every input of evidence or of a verdict changes its key, and no other input does.

A verdict is stale if its key differs from the current key of its task and command.
"""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.records import Task, Timing
from evaluator.sandbox.requests import Request, TaskKeys, evidence_key, machine_digest
from evaluator.testing.checkouts import small_task
from evaluator.testing.evidence import evidence
from tests.pipeline.grading_bench import GradingHarness

EXECUTION: list[dict[str, Any]] = [
    {"command": b"other"},
    {"task": {"setup": b"touch /srv/x"}},
    {"task": {"wall_s": 20}},
    {"task": {"verify": b"test -e /srv/x"}},
    {"task": {"observe": ("shell",)}},
    {"task": {"observe": ("processes",)}},
    {"task": {"text_files": ("/srv/x",)}},
    {"task": {"world": "elsewhere"}},
    {"suite": {"build": b"mkdir -p /srv/data\n"}},
    {"suite": {"start": b"sleep inf &\n"}},
    {"suite": {"variants": {"one": 9, "two": 2}}},
    {"suite": {"cpu_s": 3.0}},
    {"suite": {"clock": "2025-03-14T09:30:01Z"}},
    {"suite": {"environment": {"PATH": "/usr/bin:/bin", "HOME": "/"}}},
    {"suite": {"environment": {"PATH": "/usr/bin:/bin", "HOME": "/root", "TZ": "UTC"}}},
    {"fingerprint": "e" * 64},
]
COMPARISON: list[dict[str, Any]] = [
    {"task": {"nl": "Other words"}},
    {"task": {"output": "lines"}},
    {"task": {"observe": ("exit",)}},
    {"task": {"observe": ("stderr",)}},
    {"task": {"references": (b"right", b"another")}},
    {"task": {"references": (b"right", b"right too", b"another")}},
    {"judge": "exact"},
    {"without": 0},
    {"suite": {"instructions": "open"}},
    {"suite": {"contested": ("two",)}},
]
WITHOUT_EFFECT: list[dict[str, Any]] = [
    {"task": {"near_misses": (b"wrong",)}},
    {"task": {"difficulty": 5}},
    {"task": {"timing": Timing(human_s=10, provenance="estimated")}},
    {"task": {"volatile": "the time of day"}},
    {"suite": {"version": "2.0.0"}},
    {"suite": {"environment": {"HOME": "/root", "PATH": "/usr/bin:/bin"}}},
    {"before": [small_task("files-0")]},
]


def identify(change: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in change.items())


def keys(harness: GradingHarness, change: dict[str, Any]) -> tuple[str, str]:
    """Return the key of a command's evidence in variant `one`, and the key of the command's verdict."""
    task: Task = small_task("files-1", **change.get("task", {}))
    harness.tasks = [*change.get("before", []), task]
    fields = {name: change[name] for name in ("fingerprint", "judge") if name in change}
    grader = harness.grader(**fields, **change.get("suite", {}))
    command = change.get("command", b"also right")
    subject = GradingItem("files-1", command, change.get("without"))
    evidence_key, _ = grader.keys.command_runs("files-1", command).requests["one"].run_key
    return evidence_key, grader.keys.plan_item(subject).key


@pytest.mark.parametrize("change", EXECUTION, ids=identify)
def test_what_a_command_shows_may_depend_on_is_in_both_keys(harness: GradingHarness, change: dict[str, Any]) -> None:
    evidence, verdict = keys(harness, {})
    other_evidence, other_verdict = keys(harness, change)
    assert evidence != other_evidence
    assert verdict != other_verdict


@pytest.mark.parametrize("change", COMPARISON, ids=identify)
def test_what_only_the_comparison_depends_on_is_in_the_verdicts_key_alone(
    harness: GradingHarness, change: dict[str, Any]
) -> None:
    evidence, verdict = keys(harness, {})
    other_evidence, other_verdict = keys(harness, change)
    assert evidence == other_evidence
    assert verdict != other_verdict


@pytest.mark.parametrize("change", WITHOUT_EFFECT, ids=identify)
def test_what_nothing_depends_on_is_in_no_key(harness: GradingHarness, change: dict[str, Any]) -> None:
    assert keys(harness, change) == keys(harness, {})


def test_the_slowest_reference_gives_the_expected_duration(harness: GradingHarness) -> None:
    """Without its evidence, the task's limit gives it, because the limit is ten times the time of the reference."""
    harness.tasks = [small_task("files-1", wall_s=20)]
    item = harness.grader().keys.plan_item(GradingItem("files-1", b"wrong"))
    assert item.candidate is not None
    assert {(each.job.wall_s, each.expected_s) for each in item.candidate.requests.values()} == {(20, 2.0)}
    assert item.expected_s({}) == 2.0
    times_ms = {(key, 0): evidence("yes\n", wall_ms=400.0) for key in item.references[0].evidence_keys}
    slower = {(key, 0): evidence("yes\n", wall_ms=700.0) for key in item.references[1].evidence_keys}
    assert item.expected_s(times_ms | slower) == 0.7


def test_the_order_of_variants_is_not_in_evidences_key(harness: GradingHarness) -> None:
    """The order of variants changes no evidence key.

    It changes a verdict's key, because a verdict names the first variant that shows a difference.
    """
    assert keys(harness, {"suite": {"variants": {"two": 2, "one": 1}}})[0] == keys(harness, {})[0]


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ({"observe": ("exit", "stderr", "shell")}, {"observe": ("shell", "stderr", "exit")}),
        ({"text_files": ("/srv/a", "/srv/b")}, {"text_files": ("/srv/b", "/srv/a")}),
    ],
    ids=["observe", "text_files"],
)
def test_the_order_of_what_is_compared_is_in_no_key(
    harness: GradingHarness, there: dict[str, Any], back: dict[str, Any]
) -> None:
    assert keys(harness, {"task": there}) == keys(harness, {"task": back})


def test_variants_have_keys_of_their_own(harness: GradingHarness) -> None:
    one, two = harness.grader().keys.command_runs("files-1", b"also right").evidence_keys
    assert one != two


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"command": b"new"}, "never judged"),
        ({"judge": "exact"}, "judge changed"),
        ({"task": {"references": (b"right", b"new")}}, "references or their worlds changed"),
        ({"task": {"output": "lines"}}, "comparison changed"),
        (
            {"suite": {"build": b"mkdir -p /srv/data\n"}},
            "world, limits, clock or base changed; references or their worlds changed",
        ),
        ({"fingerprint": "e" * 64}, "world, limits, clock or base changed; references or their worlds changed"),
    ],
    ids=["never", "judge", "references", "comparison", "world", "base"],
)
def test_a_plan_says_why_a_verdict_is_stale(harness: GradingHarness, change: dict[str, Any], why: str) -> None:
    harness.grader().grade([GradingItem("files-1", b"also right")])
    harness.tasks = [small_task("files-1", **change.get("task", {}))]
    fields = {name: change[name] for name in ("fingerprint", "judge") if name in change}
    grader = harness.grader(**fields, **change.get("suite", {}))
    plan = grader.plan([GradingItem("files-1", change.get("command", b"also right"))])
    assert [stale.why for stale in plan.stale] == [why]


def test_what_was_only_verified_was_never_judged_for_a_board(harness: GradingHarness) -> None:
    """A verdict of `suite verify` on a reference does not count as an earlier verdict for a board.

    `suite verify` compares the reference with the other references only, so its verdict has another key.
    """
    harness.grader().grade([GradingItem("files-1", b"right", 0)])
    plan = harness.grader().plan([GradingItem("files-1", b"right")])
    assert [stale.why for stale in plan.stale] == ["never judged"]


def test_a_plan_counts_the_executions_it_would_take(harness: GradingHarness) -> None:
    """At least the candidate's first variant, and the references' first runs. Nothing is executed without an answer."""
    subjects = [GradingItem("files-1", b"also right"), GradingItem("files-1", None)]
    assert harness.grader().plan(subjects).executions == 1 + 2 * 2
    assert harness.grader().plan(subjects[1:]).executions == 0


def test_a_plan_of_what_is_known_is_empty(harness: GradingHarness) -> None:
    subjects = [GradingItem("files-1", b"also right"), GradingItem("files-1", None)]
    harness.grader().grade(subjects)
    assert harness.grader().plan(subjects) == ((), 0, None)


def test_submissions_share_the_keys_of_the_known_variants(
    harness: GradingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is computed once for each known variant, and once for each seed in the fresh variant.

    So a board does not compute the keys of all references again for each submission.
    """
    asked: list[str] = []
    compute = TaskKeys.of

    def counted(keys: TaskKeys, command: bytes) -> dict[str, str]:
        computed = compute(keys, command)
        asked.extend(computed)
        return computed

    monkeypatch.setattr(TaskKeys, "of", counted)
    grader = harness.grader(fresh={"world": "two"})
    made = grader.keys
    first, second = (made.command_runs("files-1", b"right", seed) for seed in ("a", "b"))
    assert sorted(asked) == ["fresh", "fresh", "one", "two"]
    assert list(first.requests) == ["one", "two", "fresh"]
    assert first.evidence_keys[:2] == second.evidence_keys[:2] != made.command_runs("files-1", b"x").evidence_keys
    assert first.evidence_keys[2] != second.evidence_keys[2]
    machine = machine_digest(grader.suite.manifest, grader.fingerprint)
    assert [evidence_key(request, machine) for request in first.requests.values()] == list(first.evidence_keys)


def test_only_executions_need_requests(harness: GradingHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all verdicts are stored, no request is made."""
    made: list[bytes] = []

    def counted(*values: Any, **named: Any) -> Request:
        request = Request(*values, **named)
        made.append(request.job.command)
        return request

    monkeypatch.setattr("evaluator.pipeline.grading.cache_keys.Request", counted)
    items = [GradingItem("files-1", command) for command in (b"right", b"wrong")]
    first = harness.grader().grade(items)
    assert set(made) >= {b"right", b"wrong"}
    made.clear()
    assert harness.grader().grade(items) == first
    assert made == []
