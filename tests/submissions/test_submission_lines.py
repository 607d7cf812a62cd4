"""The problems that are reported about a predictions file, and the line that each message names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluator.errors import FormatError, Severity
from evaluator.submissions import SubmissionLimits, check_submission, load_submission
from tests.submissions.submission_folders import PREDICTIONS, SUITES, make_folder, manifest_with

LIMITS = SubmissionLimits(line_bytes=400, command_bytes=100, file_bytes=4_000, lines=20, problems=10)
FIRST, SECOND, THIRD = PREDICTIONS.decode().splitlines()


def line(**fields: object) -> str:
    return json.dumps({"task": "find-1", **fields})


def candidate(**fields: object) -> str:
    return line(candidates=[{"command": "ls", **fields}])


def found(folder: Path) -> list[str]:
    """Return every problem as `line: [warning: ]message`."""
    problems = check_submission(folder, SUITES, LIMITS)
    return [str(problem).removeprefix(str(folder / "core.jsonl")).removeprefix(":").strip() for problem in problems]


REFUSED_LINES = {
    "broken JSON": ('{"task": "find-1",, }', "1: broken JSON at column 19, before ', }'"),
    "JSON that ends too early": ('{"task": "find-1"', "1: broken JSON at column 18, at the end of the line"),
    "a text without its end": ('{"task": "find-1', "column 10, before '\"find-1': unterminated string"),
    "one backslash": (
        r'{"task": "find-1", "output": "find . -exec ls {} \;"}',
        r"""before '\;"}': invalid \escape; write one backslash as two, \\""",
    ),
    "a tab as it is": (
        '{"task": "find-1", "output": "cut -d\t"}',
        r"control character; in a text write a new line as \n and a tab as \t",
    ),
    "no object": ("5", '1: expected an object such as {"task"'),
    "a key twice": ('{"task":"find-1","output":"a","output":"b"}', "1: given more than once in one object: 'output'"),
    "a key twice inside": ('{"task":"find-1","candidates":[{"command":"a","command":"b"}]}', "object: 'command'"),
    "a task that is no string": (line(task=5, output=""), "1: task: expected a string, found 5"),
    "a task name with a slash": (line(task="../x", output=""), "1: task: expected a task's name"),
    "no task": ('{"candidates":[]}', "1: task: missing field: expected 'task'"),
    "an unknown task": (line(task="find-9", output=""), "1: unknown task 'find-9'; did you mean 'find-"),
    "an unknown field": (line(candidate=[], output=""), "1: candidate: unknown field; did you mean 'candidates'?"),
    "a confidence beside the task": (line(output="", confidence=1), "here: it belongs in a candidate, beside its comm"),
    "a command beside the task": (line(command="ls"), "command: unknown field here: it belongs in a candidate"),
    "a latency in a candidate": (candidate(latency_s=1), "here: it belongs in the object around 'candidates'"),
    "neither candidates nor output": (line(), "1: expected exactly one of 'candidates' and 'output'"),
    "both candidates and output": (line(candidates=[], output=""), "1: expected exactly one of"),
    "candidates that are no array": (line(candidates={}), "1: candidates: expected an array, found an object"),
    "six candidates": (line(candidates=[{"command": "ls"}] * 6), "1: candidates: 6 given, expected at most 5"),
    "no command": (line(candidates=[{}]), "1: candidates[0].command: missing field"),
    "a command that is a number": (candidate(command=7), "1: candidates[0].command: expected a string or"),
    "a command that is no base64": (candidate(command={"base64": "!"}), "1: candidates[0].command: not base64"),
    "a confidence above one": (candidate(confidence=1.5), "confidence: expected a number of at most 1, found 1.5"),
    "a confidence below zero": (candidate(confidence=-0.1), "confidence: expected a number of at least 0"),
    "a confidence that is text": (candidate(confidence="0.9"), "confidence: expected a number, found '0.9'"),
    "a confidence that is a truth value": (candidate(confidence=True), "confidence: expected a number, found true"),
    "NaN": (candidate(confidence=float("nan")), "confidence: expected a finite number, found NaN"),
    "infinity": (candidate(confidence=float("inf")), "confidence: expected a finite number, found Infinity"),
    "a float too large": ('{"task":"find-1","output":"","latency_s":1e999}', "latency_s: expected a finite number"),
    "a negative latency": (line(output="", latency_s=-1), "latency_s: expected a number of at least 0, found -1"),
    "half a token": (line(output="", input_tokens=1.5), "input_tokens: expected a whole number, found 1.5"),
    "a huge integer": (f'{{"task":"find-1","output":"","input_tokens":1{"0" * 99}}}', "1: integer '10000"),
    "NUL in a command": (candidate(command="ls\0"), "1: candidates[0].command: NUL at byte 2"),
    "NUL beside another fault": (candidate(command="\0", confidence=2), "1: candidates[0].command: NUL at byte 0"),
    "NUL in raw output": (line(output="ls\0"), "1: candidates[0].command: NUL at byte 2"),
    "NUL in base64": (candidate(command={"base64": "AA=="}), "1: candidates[0].command: NUL at byte 0"),
    "an over-long command": (candidate(command="x" * 101), "command: 101 bytes, expected at most 100"),
    "an over-long line": (line(output="x" * 400), "bytes: at most 400 are read; shorten it"),
    "half a surrogate pair": (candidate(command="\ud800"), "1: half of a surrogate pair"),
    "deep nesting": ('{"a":' * 50 + "5" + "}" * 50, "1: arrays and objects nested more than 16 deep"),
    "a blank line": ("", "1: blank line"),
    "a line of spaces": ("   ", "1: blank line"),
    "no JSON": ("task command", "1: broken JSON at column 1, before 'task command'"),
}


@pytest.mark.parametrize("case", REFUSED_LINES)
def test_a_faulty_line_is_refused_at_its_place(tmp_path: Path, case: str) -> None:
    text, message = REFUSED_LINES[case]
    folder = make_folder(tmp_path, predictions=f"{text}\n{SECOND}\n{THIRD}\n".encode())
    assert any(message in problem and "warning" not in problem for problem in found(folder))
    with pytest.raises(FormatError):
        load_submission(folder, SUITES, LIMITS)


REFUSED_FILES = {
    "an empty file": (b"", "empty file"),
    "a byte-order mark": (b"\xef\xbb\xbf" + PREDICTIONS, "1: UTF-8 byte-order mark"),
    "UTF-16": (PREDICTIONS.decode().encode("utf-16"), "the file is UTF-16 text"),
    "one array": (
        b"[" + PREDICTIONS.strip().replace(b"\n", b",\n") + b"]\n",
        "expected one object a line: jq -c '.[]'",
    ),
    "indented objects": (b'{\n  "task": "find-1"\n}\n', "expected one object a line: jq -c . FILE"),
    "CRLF": (PREDICTIONS.replace(b"\n", b"\r\n"), "1: 3 carriage returns (CR), the first on this line"),
    "one CR": (PREDICTIONS.replace(b"}\n{", b"}\r\n{", 1), "1: 1 carriage return (CR)"),
    "no final newline": (PREDICTIONS[:-1], "3: no newline at the end of the file"),
    "a byte that is not UTF-8": (b"\n\xff\n" + PREDICTIONS, "2: not UTF-8: byte 0xff at offset 1 of the file"),
    "not UTF-8 after a mark": (b"\xef\xbb\xbf\xff\n", "1: not UTF-8: byte 0xff at offset 3 of the file"),
    "a task again": (PREDICTIONS + f"{FIRST}\n".encode(), "4: task 'find-1' again: line 1 answers it"),
    "too many lines": (f"{FIRST}\n".encode() + b"{}\n" * 20, "21: 21 lines: at most 20 are read"),
    "too many bytes": (PREDICTIONS * 100, "expected at most 4,000"),
    "one JSON array": (
        b"[\n" + PREDICTIONS.replace(b"\n", b",\n"),
        "the file is one JSON value; expected one object",
    ),
    "one JSON array in one line": (b"[" + PREDICTIONS.replace(b"\n", b",") + b"]\n", "a line: jq -c '.[]'"),
    "JSON with indents": (
        b'{\n  "task": "find-1",\n  "output": ""\n}\n',
        "the file has JSON objects over several lines",
    ),
    "more problems than are listed": (f"{FIRST}\n".encode() + b"{x\n" * 15, "5 more errors in this file; fix"),
    "a long integer": (line(input_tokens=0).replace(": 0", f": {'9' * 300}").encode(), "1: integer '9999"),
    "no valid line": (b"{x\n" * 15, "10 more errors in this file, and no line is valid: is it the right file?"),
}


@pytest.mark.parametrize("case", REFUSED_FILES)
def test_a_faulty_file_is_refused(tmp_path: Path, case: str) -> None:
    data, message = REFUSED_FILES[case]
    problems = found(make_folder(tmp_path, predictions=data))
    assert any(message in problem and "warning" not in problem for problem in problems), problems


DOUBTFUL = {
    "a missing task": (f"{FIRST}\n{THIRD}\n", "warning: 1 task of 3 without a line: 'find-2'"),
    "rising confidence": (
        line(candidates=[{"command": "a", "confidence": 0.1}, {"command": "b"}]) + f"\n{SECOND}\n{THIRD}\n",
        "1: warning: confidence rises",
    ),
    "an empty command": (candidate(command=" ") + f"\n{SECOND}\n{THIRD}\n", "1: warning: an empty command"),
    "a fence that will be run": (
        f"{FIRST}\n" + json.dumps({"task": "find-2", "output": "So:\n```bash\nls\n```\n"}) + f"\n{THIRD}\n",
        "2: warning: 'output' holds a fenced block",
    ),
    "inline code": (
        candidate(command="`ls -la`") + f"\n{SECOND}\n{THIRD}\n",
        "1: warning: candidates[0].command, line 1, column 1: an answer is inline code",
    ),
    "a prompt sign": (
        f"{FIRST}\n" + json.dumps({"task": "find-2", "output": "$ ls\n"}) + f"\n{THIRD}\n",
        "2: warning: output, line 1, column 1: the answer begins with a prompt sign",
    ),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_may_not_be_meant_is_told_and_loads(tmp_path: Path, case: str) -> None:
    text, message = DOUBTFUL[case]
    folder = make_folder(tmp_path, predictions=text.encode())
    assert [problem.startswith(message) for problem in found(folder)] == [True]
    assert load_submission(folder, SUITES, LIMITS).slug == "a-system"


def test_a_file_in_another_form_is_one_problem(tmp_path: Path) -> None:
    """Not one for each of its lines, and no task is called unanswered."""
    folder = make_folder(tmp_path, predictions=b"[\n" + PREDICTIONS.replace(b"\n", b",\n") + b"]\n")
    assert found(folder) == ["the file is one JSON value; expected one object a line: jq -c '.[]' FILE"]


def test_errors_stand_before_warnings(tmp_path: Path) -> None:
    """The list of missing tasks is long, and the error is what must be fixed."""
    problems = found(make_folder(tmp_path, predictions=f"{FIRST}\n{line(task='x', output='')}\n".encode()))
    assert ["warning" in problem for problem in problems] == [False, True]


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"task":"x","candidates":[{"comand":"a","confidence":7}]}\r\n\n{"task":1}'
    problems = check_submission(make_folder(tmp_path, predictions=data), SUITES)
    assert sorted(problem.line for problem in problems if problem.severity is Severity.ERROR) == [
        1, 1, 1, 1, 1, 1, 2, 3, 3,
    ]  # fmt: skip


def test_text_of_a_submission_is_escaped_in_messages(tmp_path: Path) -> None:
    data = json.dumps({"task": "\x1b[31m\u202e\u2028", "\x9b1m": 1}, ensure_ascii=False).encode() + b"\n"
    text = "".join(found(make_folder(tmp_path, predictions=data)))
    assert text.isprintable()
    assert r"\x1b[31m\u202e\u2028" in text
    assert r"\x9b1m" in text


def test_a_task_that_a_later_version_dropped_is_left_out(tmp_path: Path) -> None:
    data = PREDICTIONS + b'{"task":"dropped-1","output":"ls"}\n'
    folder = make_folder(tmp_path, manifest_with('"2.1.0"', '"1.0.0"'), data)
    assert found(folder) == ["4: warning: task 'dropped-1' is not asked by version 2.1.0: it is left out"]
    assert list(load_submission(folder, SUITES).predictions["core"]) == ["find-1", "find-2", "text-1"]


def test_a_sound_file_loads_in_its_order_with_every_candidate(tmp_path: Path) -> None:
    submission = load_submission(make_folder(tmp_path), SUITES)
    assert [candidate.command for candidate in submission.candidates("core", "find-1")] == [b"ls", b"ls -a"]
    assert [candidate.command for candidate in submission.candidates("core", "find-2")] == [b"find ."]
    assert submission.candidates("core", "text-1") == ()
    assert submission.candidates("core", "never-asked") == ()


def test_commands_that_are_not_utf8_travel_as_base64(tmp_path: Path) -> None:
    data = candidate(command={"base64": "/w=="}).encode() + b"\n"
    submission = load_submission(make_folder(tmp_path, predictions=data), SUITES)
    assert submission.candidates("core", "find-1")[0].command == b"\xff"
