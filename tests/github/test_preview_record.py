"""A preview may be forged. An inconsistent one is refused, and the error repeats no text that could act as markup."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evaluator.errors import FormatError
from evaluator.pipeline.pull_requests.report import PREVIEW_BYTES, read_preview
from evaluator.records import schema_of
from evaluator.records.preview import NAMED, PATHS, TOLD
from tests.github.preview_examples import contested, document, preview, rival, tasks

SLUG = "my-system"


def refusal(data: bytes, submission: str = SLUG) -> list[str]:
    """Return the messages of the error that refuses this preview."""
    with pytest.raises(FormatError) as caught:
        read_preview(data, submission)
    return [problem.message for problem in caught.value.problems]


def written(**fields: Any) -> bytes:
    """Return the bytes of a preview document. Numbers that JSON lacks are written as Python writes them."""
    return json.dumps(document(**fields)).encode()


def test_a_sound_one_is_read_as_it_was_written() -> None:
    for record in (preview(), contested()):
        assert read_preview(record.model_dump_json().encode(), SLUG) == record


def test_what_is_written_is_of_its_schema() -> None:
    checks = Draft202012Validator(schema_of("preview"))
    for record in (preview(), contested()):
        assert [each.message for each in checks.iter_errors(record.model_dump(mode="json"))] == []


UNTRUE: list[dict[str, Any]] = [
    {"format": 3},
    {"rejections": [{"task": "a"}]},
    {"rejections": [{"task": "a", "reason": "x"}] * 13},
    {"rejections": [{"task": "a", "reason": "x" * 501}]},
    {"passed": 25},
    {"passed": -1},
    {"passed": 10**30},
    {"asked": 0},
    {"asked": 41},
    {"accuracy": 0.9, "accuracy_high": 0.95},
    {"accuracy": float("nan")},
    {"accuracy_high": float("inf")},
    {"accuracy_low": 0.7},
    {"accuracy_high": 0.5},
    {"accuracy_upper": 0.9},
    {"rank_low": 0},
    {"rank_low": None},
    {"rank_low": 5},
    {"rank_high": 10},
    {"tie_group": 10},
    {"unranked": "control"},
    {"unranked": "@everyone"},
    {"topics": {"text": {"asked": 30, "passed": 24}}},
    {"topics": {"text": {"asked": 20, "passed": 24}, "files": {"asked": 20, "passed": 0}}},
    {"topics": {"<b>": {"asked": 40, "passed": 24}}},
    {"submission": "<b>x</b>"},
    {"suite": "core; reboot"},
    {"suite_version": "1.0.0\n# x"},
    {"suite_version": "1.0." + "9" * 10},
    {"judge": "x" * 501},
    {"judge": 7},
    {"collateral": 41},
    {"undecided": 1},
    {"open_verdicts": [{"task": "a"}]},
    {"open_verdicts": [{"task": "a b"}], "undecided": 1, "failed": 11, "accuracy_upper": 0.625},
    {"touched": [{"task": "a"}]},
    {"touched": [{"task": "a", "total": 1, "paths": ["x", "y"]}], "collateral": 1},
    {"touched": [{"task": "a", "total": 9, "paths": ["x"] * (PATHS + 1)}], "collateral": 1},
    {"touched": [{"task": "a"}] * (TOLD + 1), "collateral": 40},
    {"alone": {"total": 25, "tasks": []}},
    {"alone": {"total": 1, "tasks": ["a", "b"]}},
    {"alone": {"total": 24, "tasks": ["x" * 65]}},
    {"alone": {"total": NAMED + 1, "tasks": ["x"] * (NAMED + 1)}},
    {"rivals": [rival(SLUG, "leader", passed=35, gained=1, lost=12)]},
    {"rivals": [rival("a", "leader", passed=35, gained=1, lost=1), rival("b", "leader", passed=35, gained=1, lost=1)]},
    {"rivals": [rival("a", "leader", passed=35, gained=1, lost=1), rival("a", "worse", passed=35, gained=1, lost=1)]},
    {"rivals": [rival("a", "leader", "leader", passed=35, gained=1, lost=1)]},
    {"rivals": [rival("a", passed=35, gained=1, lost=1)]},
    {"rivals": [rival("a", "friend", passed=35, gained=1, lost=1)]},
    {"rivals": [rival("a", "leader", passed=35, gained=25, lost=1)]},
    {"rivals": [rival("a", "leader", passed=12, gained=1, lost=13)]},
    {"rivals": [rival("a", "leader", passed=35, gained=1, lost=1, difference_low=0.1)]},
    {"rivals": [rival("a", "leader", passed=35, gained=1, lost=1, p_value=1.1)]},
    {"rivals": [rival(f"r{each}", "leader", passed=35, gained=1, lost=1) for each in range(4)]},
    {"surprise": "x"},
]


@pytest.mark.parametrize("fields", UNTRUE, ids=[", ".join(each) for each in UNTRUE])
def test_what_does_not_add_up_is_refused(fields: dict[str, Any]) -> None:
    assert refusal(written(**fields))


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"{}", b"{", b"\xff\xfe", b"[" * 100_000, b'"' + b"x" * 1000 + b'"', b"9" * 10_000],
    ids=lambda data: repr(data[:8]),
)
def test_what_is_no_preview_is_refused(data: bytes) -> None:
    assert refusal(data)


def test_what_is_too_long_is_not_read() -> None:
    assert refusal(b" " * (PREVIEW_BYTES + 1)) == ["2,097,153 bytes: expected at most 2,097,152"]


def test_another_submissions_preview_is_refused() -> None:
    assert refusal(written(), "other") == ["is of submission 'my-system': expected 'other'"]


def test_a_refusal_repeats_nothing_that_could_act_and_is_short() -> None:
    fields = {f"\x1b[2J\u202e{'x' * 1000}{number}": 1 for number in range(50)}
    told = refusal(written(**fields))
    assert len(told) == 10
    assert all(each.isprintable() and len(each) <= 200 for each in told)


def test_no_list_is_longer_than_a_preview_may_be() -> None:
    """The longest consistent preview is read."""
    name, words = "t" * 64, "x" * 500
    every = {"total": 24, "tasks": [name] * 24}
    rivals = [
        rival(role, role, passed=35, gained=0, lost=0) | {"gained": every, "lost": tasks(0)}
        for role in ("leader", "better", "worse")
    ]
    found = written(
        rivals=rivals,
        collateral=40,
        touched=[{"task": name, "total": 5, "paths": [words] * 5}] * 40,
        failed=0,
        timeout=0,
        invalid=0,
        unanswered=0,
        undecided=16,
        accuracy_upper=1.0,
        open_verdicts=[{"task": name, "reason": words, "variant": words}] * 16,
    )
    assert read_preview(found, SLUG).collateral == 40
