"""A file of a quarter of the largest allowed size is checked in seconds, whether it is valid or full of faults."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from evaluator.submissions import SubmissionLimits, SuiteInfo, check_submission, load_submission
from tests.submissions.submission_folders import make_folder, manifest_with

LINES = 25_000
SUITES = {"core": SuiteInfo("2.1.0", tuple(f"task-{number}" for number in range(LINES)))}
SECONDS = 15
"""Seconds of CPU time, which other processes do not lengthen. Measured: below 1 s. Quadratic work takes longer."""


def full_file() -> bytes:
    candidates = [{"command": "find . -name '*.txt'", "confidence": 0.5}] * 2
    lines = (json.dumps({"task": task, "candidates": candidates}) for task in SUITES["core"].tasks)
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.slow
def test_many_sound_lines_load_in_seconds(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, predictions=full_file())
    start = time.process_time()
    assert len(load_submission(folder, SUITES).predictions["core"]) == LINES
    assert time.process_time() - start < SECONDS


HOSTILE = {
    "unknown tasks": b"".join(b'{"task":"t%d","output":""}\n' % number for number in range(LINES)),
    "blank lines": b"\n" * 4_000_000,
    "open brackets": (b"[" * 250_000 + b"\n") * 15,
    "quotes never closed": (b'"[\\' * 80_000 + b"\n") * 15,
    "wrong candidates": (b'{"task":"a","candidates":[' + b"0," * 120_000 + b"0]}\n") * 15,
    "equal keys": (b"{" + b'"k":0,' * 40_000 + b'"k":0}\n') * 15,
    "fences": (b'{"task":"task-1","output":"' + (b"`" * 50_000 + b"x`\\n") * 4 + b'"}\n') * 15,
    "carriage returns": b"\r" * 4_000_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_of_faults_is_refused_in_seconds_with_as_many_problems_as_are_listed(tmp_path: Path, case: str) -> None:
    data = HOSTILE[case]
    limits = SubmissionLimits(problems=100)
    assert len(data) <= limits.file_bytes
    start = time.process_time()
    problems = check_submission(make_folder(tmp_path, predictions=data), SUITES, limits)
    assert time.process_time() - start < SECONDS
    assert 0 < len(problems) < 220


def test_a_manifest_of_tables_is_refused_in_seconds(tmp_path: Path) -> None:
    tables = "[[a]]\nb=1\n" * 6_000
    folder = make_folder(tmp_path, manifest_with('core = "2.1.0"\n', f'core = "2.1.0"\n{tables}'))
    start = time.process_time()
    assert any("unknown field" in problem.message for problem in check_submission(folder, SUITES))
    assert time.process_time() - start < SECONDS
