"""The committed corpora run without a finding, are small, and reach most lines of every parser."""

from __future__ import annotations

import json

import pytest

from tests.fuzz.json_mutator import mutate_json
from tests.fuzz.line_coverage import REQUIRED_PERCENT, measure, scope_lines
from tests.fuzz.target import CORPUS, PlantedError, Target, all_targets


def test_the_corpus_raises_nothing_and_reaches_four_fifths_of_the_lines(target: Target) -> None:
    """`python -m tests.fuzz TARGET --missing` lists the other lines."""
    coverage = measure(target, [path.read_bytes() for path in target.corpus])
    assert coverage.percent >= REQUIRED_PERCENT, coverage.missing


def test_no_file_of_the_corpus_contains_the_planted_fault(target: Target) -> None:
    """Otherwise the fuzzer could find the fault without a new input. Some files must be accepted by the parser."""
    results = [target.run(path.read_bytes()) for path in target.corpus]
    assert any(result is not None for result in results)
    for path in target.corpus:
        try:
            target.run_with_planted_fault(path.read_bytes())
        except PlantedError:
            pytest.fail(f"{path} contains the planted fault")


def test_the_corpora_are_small_and_each_belongs_to_a_target() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert {path.name for path in CORPUS.iterdir()} == {*all_targets()}


def test_only_lines_in_functions_count() -> None:
    """A module's own lines run at import, so they say nothing about a corpus."""
    lines = {line for _, line in scope_lines("tests.fuzz.test_fuzz_corpus:_example")}
    assert {line - _example.__code__.co_firstlineno for line in lines} == {1, 2, 3}


def _example(value: int) -> int:
    if value:
        return 1
    return 2


def test_a_scope_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no function"):
        scope_lines("tests.fuzz.test_fuzz_corpus:renamed")


def test_the_mutator_changes_one_line_and_keeps_json() -> None:
    """Other text is left to libFuzzer."""
    first, second = data = [b'{"a":[1,2]}', b'{"b":"c"}']
    changed = [mutate_json(b"\n".join(data), 400, seed) for seed in range(200)]
    texts = [text for text in changed if text is not None]
    assert len(set(texts)) > 100
    for text in texts:
        lines = text.split(b"\n")
        assert len(lines) < 2 or first in lines or second in lines
        assert all(isinstance(json.loads(line), object) for line in lines)
    assert mutate_json(b"text", 400, 1) is None
    assert mutate_json(first, 1, 1) is None
