"""Tests of the published schemas: each is valid JSON Schema and agrees with the record that it describes."""

from __future__ import annotations

import functools
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from evaluator.records import SCHEMAS, Evidence, Prediction, Verdict, schema_of
from evaluator.testing.boards import drawn_board
from tests.properties import examples
from tests.records.test_records_bytes import evidences, predictions, verdicts

ROOT = Path(__file__).parents[2]


@functools.cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(name))


@functools.cache
def documents() -> dict[str, list[Any]]:
    """Return documents by format: the repository's own files, and the standings of a generated board."""
    suites = [ROOT / "fixtures" / name for name in ("core", "programs")]
    lines = {
        "task": sorted(path for suite in suites for path in (suite / "tasks").rglob("*.jsonl")),
        "prediction": sorted(path for suite in suites for path in (ROOT / "submissions").glob(f"*/{suite.name}.jsonl")),
    }
    tables = {
        "suite": [suite / "suite.toml" for suite in suites],
        "world": sorted(path for suite in suites for path in (suite / "worlds").glob("*/world.toml")),
        "submission": sorted((ROOT / "submissions").glob("*/submission.toml")),
    }
    found = {name: [json.loads(each) for path in paths for each in _lines(path)] for name, paths in lines.items()}
    found |= {name: [_table(path) for path in paths] for name, paths in tables.items()}
    return found | {"standing": [row.model_dump(mode="json") for row in drawn_board(3, 8).standings]}


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _table(path: Path) -> Any:
    """Return a TOML file as JSON has it, with a time as a text."""
    return json.loads(json.dumps(tomllib.loads(path.read_text("utf-8")), default=lambda value: value.isoformat()))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_and_says_of_which_draft(name: str) -> None:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["title"]) == ("https://json-schema.org/draft/2020-12/schema", name)


@pytest.mark.parametrize("name", ["suite", "world", "task", "submission", "prediction", "standing"])
def test_a_schema_accepts_what_the_repository_holds(name: str) -> None:
    held = documents()[name]
    assert held
    assert [error.message for document in held for error in validator(name).iter_errors(document)] == []


@settings(max_examples=examples(30))
@given(evidences, verdicts, predictions)
def test_a_schema_accepts_whatever_its_record_writes(
    evidence: Evidence, verdict: Verdict, prediction: Prediction
) -> None:
    for name, record in {"evidence": evidence, "verdict": verdict, "prediction": prediction}.items():
        assert [error.message for error in validator(name).iter_errors(json.loads(record.to_json()))] == []


BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("prediction", {"task": "a", "candidates": [{"command": 7}]}),
    ("prediction", {"task": "a", "candidates": [{"command": "ls", "confidence": 1.5}]}),
    ("prediction", {"task": "a", "candidates": [{"command": "ls"}] * 6}),
    ("prediction", {"task": "a b", "candidates": []}),
    ("prediction", {"task": "a", "candidates": [], "surprise": 1}),
    ("prediction", {"candidates": []}),
    ("submission", {"format": 3}),
    ("evidence", {"ending": "bored"}),
    ("verdict", {"key": "short"}),
    ("world", {"format": 1, "title": "x", "variants": []}),
]


@pytest.mark.parametrize(("name", "document"), BROKEN)
def test_a_schema_and_its_record_refuse_the_same(name: str, document: dict[str, Any]) -> None:
    assert list(validator(name).iter_errors(document))
    with pytest.raises(ValidationError):
        SCHEMAS[name].model_validate(document)
