"""The one reader of JSON lines: line ends, encodings, broken lines, and files that are something else."""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from evaluator.errors import FormatError
from evaluator.json_lines import FEW_LINES, MOST_PROBLEMS, LineProblems, numbered_lines, parse_line, read_json_lines

PACKAGE: Final = Path(__file__).parents[2] / "evaluator"
LINES: Final = b'{"a": 1}\n{"a": 2}\n'


def read(data: bytes, *, blank: bool = False) -> tuple[list[object], list[str]]:
    problems = LineProblems(Path("f"))
    values = [line.value for line in read_json_lines(data, problems, blank=blank)]
    return values, [str(problem) for problem in problems.all()]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x7f", "\u00a0", "\ufeff"])
def test_no_character_but_a_newline_ends_a_line(character: str) -> None:
    values = [{"a": f"x{character}y"}, {"a": character}]
    data = "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values).encode()
    assert read(data) == (values, [])


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        LINES.rstrip(),
        LINES.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + LINES,
        LINES.replace(b"{", b"\xef\xbb\xbf{"),
        b"  " + LINES.replace(b"\n", b" \t\n"),
    ],
    ids=["plain", "no last newline", "CRLF", "byte-order mark", "joined files", "blanks"],
)
def test_both_lines_are_read(data: bytes) -> None:
    assert read(data) == ([{"a": 1}, {"a": 2}], [])


def test_blank_lines_are_problems_unless_they_are_allowed() -> None:
    data = LINES.replace(b"\n", b"\n \n")
    assert read(data, blank=True) == ([{"a": 1}, {"a": 2}], [])
    assert [problem.partition(": ")[0] for problem in read(data)[1]] == ["f:2", "f:4"]


OTHER_FILES: Final = {
    "an array": (
        b'[{"a": 1}, {"a": 2}]\n',
        "f: the file is one JSON value; expected one object a line: jq -c '.[]' FILE",
    ),
    "an array over lines": (b'[\n  {"a": 1},\n  {"a": 2}\n]\n', "jq -c '.[]' FILE"),
    "an array behind a mark": (b'\xef\xbb\xbf[{"a": 1}]', "jq -c '.[]' FILE"),
    "arrays": (b'["a"]\n["b"]\n', "jq -c '.[]' FILE"),
    "an indented object": (b'{\n  "a": 1\n}\n', "jq -c . FILE"),
    "indented objects": (b'{\r\n  "a": 1\r\n}\r\n{\r\n  "a": 2\r\n}\r\n', "jq -c . FILE"),
    "an object with an array over lines": (b'{"data": [\n{"a": 1},\n{"a": 2}\n]}\n', "jq -c . FILE"),
    "UTF-16": (LINES.decode().encode("utf-16"), "UTF-16 text: save it as UTF-8"),
    "UTF-16 without a mark": (LINES.decode().encode("utf-16-le"), "UTF-16 text"),
    "big-endian UTF-16": (LINES.decode().encode("utf-16-be"), "UTF-16 text"),
    "UTF-32": (LINES.decode().encode("utf-32"), "UTF-32 text"),
    "gzip": (gzip.compress(LINES), "compressed with gzip: unpack it with gunzip"),
    "ZIP": (b"PK\x03\x04\x14\0", "a ZIP archive"),
    "zstd": (b"\x28\xb5\x2f\xfd\x24", "zstd"),
    "bzip2": (b"BZh91AY", "bzip2"),
    "xz": (b"\xfd7zXZ\0\0", "xz"),
    "Parquet": (b"PAR1\x15\x04\n", "a Parquet file"),
    "CSV": (b"task,output\nfiles-001,ls\n", "a table, such as CSV"),
    "quoted CSV": (b'"task","output"\r\n"a","ls"\r\n', "a table, such as CSV"),
    "a wide table": (b'"a b",' * 5_000 + b"c\n", "a table"),
    "TSV": (b"task\toutput\nfiles-001\tls\n", "a table"),
    "HTML": (b"<!DOCTYPE html>\n<html></html>\n", "a page of HTML"),
    "CR alone": (LINES.replace(b"\n", b"\r"), "carriage return"),
}


@pytest.mark.parametrize("case", OTHER_FILES)
def test_another_file_is_named_once(case: str) -> None:
    data, name = OTHER_FILES[case]
    values, problems = read(data)
    assert values == []
    (problem,) = problems
    assert problem.startswith("f: ")
    assert name in problem


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"a": "\\ud83d"}', "half of a surrogate pair"),
        (b'{"\\udc00": 1}', "half of a surrogate pair"),
        (b'{"a": "\xff"}', "expected UTF-8, found the byte 0xff"),
        (b'{"a": "\0"}', "control character"),
        (b"\0\0\0\0", "is the file complete?"),
        (b'{"a": 1},', "remove the comma"),
        (b'\x1e{"a": 1}', "remove the record separators"),
        (b'data: {"a": 1}', "this is a stream"),
        (b"<<<<<<< HEAD", "resolve the conflict of Git"),
        (b'{"a": 1}{"a": 2}', "each object on a line of its own"),
        (b"{'a': 1}", "JSON has double quotes"),
        (b'{"a": "x', "is the line complete?"),
        (b'{"a": "\\d"}', "write one backslash as two"),
        (b'{"a": 1, "a": 2}', "more than once in one object: 'a'"),
        (b'{"a": 1234567890123456789}', "of 19 digits"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested more than 100 deep"),
        (b'"' + b"x" * 50_000 + b'";', "broken JSON"),
        (b"ls -la", "broken JSON at column 1, before 'ls -la'"),
    ],
)
def test_a_broken_line_is_the_problem_of_its_line(line: bytes, message: str) -> None:
    values, problems = read(b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
    assert values == [{"a": 1}, {"a": 3}]
    (problem,) = problems
    assert problem.startswith("f:2: ")
    assert message in problem
    assert problem.isprintable()


def test_whole_surrogate_pairs_are_characters() -> None:
    assert parse_line(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


@pytest.mark.parametrize(("valid", "listed"), [(0, FEW_LINES), (1, MOST_PROBLEMS)])
def test_the_rest_of_the_problems_is_counted(valid: int, listed: int) -> None:
    """The wrong file has the same problem on each line."""
    problems = LineProblems(Path("f"))
    assert len(list(read_json_lines(b'{"a": 1}\n' * valid + b"x\n" * 502, problems))) == valid
    *shown, last = problems.all()
    assert len(shown) == listed
    assert last.message.startswith(f"{502 - listed} more problems")
    assert ("right file" in last.message) is not valid
    with pytest.raises(FormatError):
        problems.raise_any()


def test_a_file_is_read_line_by_line() -> None:
    """At most a few lines are in memory at one time."""

    def lines() -> Iterator[bytes]:
        for number in range(10_000):
            yield b'{"task": "files-001", "number": %d, "text": "%s"}\n' % (number, b"x" * 1000)

    tracemalloc.start()
    try:
        count = sum(1 for _ in read_json_lines(lines(), LineProblems(Path("f"))))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 10_000
    assert peak < 1_000_000


def test_numbers_begin_at_one() -> None:
    assert list(numbered_lines(b"\xef\xbb\xbfa\r\nb")) == [(1, b"a"), (2, b"b")]


OTHER_LINES: Final = {
    "cli/app.py",  # a JSON document as an argument
    "leaderboard/result_text.py",
    "pipeline/submissions/ownership.py",  # the lines of one document, for positions
    "pipeline/maintenance/study_timings.py",  # the lines of a manifest
    "sandbox/bootstrap.py",
    "sandbox/base.py",
    "sandbox/image_files.py",
    "suites/declarations.py",  # the lines of a declaration
    "suites/importers/pinned_wheel.py",
    "suites/importers/data_set.py",  # the first line of a message
    "testing/checkouts.py",  # the lines of a manifest
}
"""The modules that read JSON and split something else than JSON lines."""


def test_no_other_module_splits_json_into_lines() -> None:
    """`str.splitlines` and `bytes.splitlines` also split at U+2028 or at a carriage return."""
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "sandbox/runner" not in str(path)
        and ".splitlines(" in (text := path.read_text())
        and re.search(r"json\.loads|validate_json|jsonl|parse_line", text)
    }
    assert found <= OTHER_LINES, found - OTHER_LINES
