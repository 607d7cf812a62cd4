"""Tests of bytes and records as JSON: a record is equal after a round trip, and invalid input is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from evaluator.records import (
    SCHEMAS,
    Bytes,
    Candidate,
    Ending,
    Evidence,
    Finding,
    Kind,
    Member,
    Outcome,
    Output,
    PathChange,
    Prediction,
    Process,
    Record,
    ShellState,
    Step,
    Trial,
    Verdict,
    canonical_json,
    digest_of,
    json_lines,
    read_format,
)
from evaluator.records.evidence import FileType

BYTES: TypeAdapter[bytes] = TypeAdapter(Bytes)

digests = st.binary(max_size=4).map(digest_of)
names = st.sampled_from(["", "a", "é", "/srv/x y"]).map(str.encode) | st.binary(max_size=12)
numbers = st.integers(0, 2**40)
members = st.builds(
    Member, name=names, type=st.sampled_from(FileType), mode=st.integers(0, 0o7777), content=st.none() | digests
)
changes = st.builds(
    PathChange,
    path=names,
    kind=st.sampled_from(Kind),
    type=st.none() | st.sampled_from(FileType),
    mode=st.none() | st.integers(0, 0o7777),
    size=st.none() | numbers,
    target=st.none() | names,
    text=st.none() | names,
    members=st.none() | st.lists(members, max_size=2).map(tuple),
    mtime=st.none() | st.integers(-(2**33), 2**33),
)
outputs = st.builds(Output, data=names, size=numbers, digest=digests)
shells = st.builds(
    ShellState,
    alive=st.booleans(),
    cwd=names,
    variables=st.dictionaries(st.text(max_size=4), names, max_size=2),
    options=st.lists(st.text(max_size=4), max_size=2).map(tuple),
    traps=st.lists(names, max_size=2).map(tuple),
)
pieces = st.builds(Process, arguments=names, uid=numbers, state=st.sampled_from("RSDZT"))
evidences = st.builds(
    Evidence,
    ending=st.sampled_from(Ending),
    status=st.none() | st.integers(0, 255),
    stdout=outputs,
    stderr=outputs,
    changes=st.lists(changes, max_size=3).map(tuple),
    shell=st.none() | shells,
    processes=st.none() | st.lists(pieces, max_size=2).map(tuple),
    cpu_ms=st.floats(0, 1e9),
    wall_ms=st.floats(0, 1e9),
)
findings = st.builds(
    Finding,
    outcome=st.sampled_from(Outcome),
    step=st.none() | st.sampled_from(Step),
    reason=st.text(max_size=10),
    place=st.none() | names,
    collateral=st.booleans(),
)
verdicts = st.builds(
    Verdict,
    key=digests,
    suite=st.just("core"),
    task=st.just("files-1"),
    command=digests,
    judge=st.just("exact"),
    judge_version=numbers,
    finding=findings,
)
candidates = st.builds(Candidate, command=names, confidence=st.floats(0, 1))
predictions = st.builds(
    Prediction,
    task=st.just("files-1"),
    candidates=st.lists(candidates, max_size=5).map(tuple),
    output=st.none(),
    latency_s=st.none() | st.floats(0, 1e6),
    energy_j=st.none() | st.floats(0, 1e6),
    input_tokens=st.none() | numbers,
    output_tokens=st.none() | numbers,
)
trials = st.builds(Trial, first=evidences, again=st.none() | evidences)
records = st.one_of(evidences, verdicts, predictions, trials)


@given(st.binary())
def test_bytes_come_back_from_json_as_they_went(data: bytes) -> None:
    assert BYTES.validate_json(BYTES.dump_json(data)) == data


@given(st.text())
def test_bytes_that_are_utf8_are_a_plain_string(text: str) -> None:
    assert json.loads(BYTES.dump_json(text.encode())) == text


@given(st.binary().filter(lambda data: not _is_utf8(data)))
def test_bytes_that_are_not_utf8_are_base64(data: bytes) -> None:
    assert set(json.loads(BYTES.dump_json(data))) == {"base64"}


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("\ud800", "lone surrogate"),
        ("echo \udcff", "lone surrogate"),
        ({"base64": "not base64!"}, "not base64"),
        ({"base64": "AA"}, "not base64"),
        ({"base64": 7}, "expected a string"),
        ({"base64": "AA==", "more": 1}, "expected a string"),
        ({}, "expected a string"),
        (7, "expected a string or .*, found int"),
        (None, "found NoneType"),
        (["ls"], "found list"),
    ],
)
def test_what_is_no_bytes_is_refused_with_what_was_expected(value: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        BYTES.validate_python(value)


@given(records)
def test_a_record_comes_back_from_its_line_as_it_went(record: Record) -> None:
    assert type(record).model_validate_json(record.to_json()) == record


@given(st.lists(verdicts, max_size=4))
def test_a_record_is_one_line_whatever_its_text_holds(many: list[Verdict]) -> None:
    text = json_lines(many)
    assert text.count("\n") == len(many)
    assert [Verdict.model_validate_json(line) for line in text.split("\n")[:-1]] == many


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_format_refuses_a_field_it_does_not_know(name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SCHEMAS[name].model_validate({"surprise": 1})
    assert ("surprise",) in [error["loc"] for error in caught.value.errors() if error["type"] == "extra_forbidden"]


@pytest.mark.parametrize("record", [Output(), Finding(outcome=Outcome.PASS), Candidate(command=b"ls")])
def test_a_record_is_never_changed(record: Record) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(record, next(iter(type(record).model_fields)), None)


def test_a_newer_format_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"suite\.toml has format 2; this bashboard reads format 1: upgrade"):
        read_format({"format": 2}, "suite.toml")


@pytest.mark.parametrize("value", [{"format": 1}, {}, {"format": "2"}, [], None])
def test_whatever_else_a_format_holds_is_left_to_the_record(value: object) -> None:
    read_format(value, "suite.toml")


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.binary(max_size=3), max_size=4))
def test_different_lists_of_parts_have_different_digests(one: list[bytes], other: list[bytes]) -> None:
    assert (digest_of(*one) == digest_of(*other)) == (one == other)
