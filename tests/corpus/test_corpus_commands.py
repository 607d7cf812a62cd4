"""The commands of `bashboard corpus`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from tests.command_runner import CommandRunner

LINES = [
    {"nl": "list the files", "command": "ls -la", "source": "a book"},
    {"nl": "count lines", "command": "cat a | wc -l"},
    {"nl": "save the list", "command": "ls > list"},
]


def corpus(*arguments: str | Path, text: str | None = None) -> Result:
    return CommandRunner().invoke(app, ["corpus", *map(str, arguments)], input=text)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    return path


def test_statistics_as_text_and_as_json(file: Path) -> None:
    text = corpus("stats", file, "--rules", "nl2bash")
    assert text.exit_code == 0
    assert "tokens per command         mean 4.00, median 4, largest 5\n" in text.stdout
    assert "unread                     1\n" in text.stdout
    found = json.loads(corpus("stats", file, "--rules", "nl2bash", "--json").stdout)
    assert (found["pairs"], found["utilities"], found["tokens_per_command"]["largest"]) == (3, 3, 5)


def test_a_filter_prints_lines_unchanged_and_counts_the_others_on_standard_error(file: Path) -> None:
    ended = corpus("filter", file, "--rules", "nl2bash")
    assert ended.stdout == "".join(f"{json.dumps(line)}\n" for line in LINES[:2])
    assert "2 of 3 pairs kept\nleft out, the rules do not read the command: 1\n" in ended.stderr


def test_filters_can_be_chained(file: Path) -> None:
    kept = corpus("filter", file, "--rules", "nl2bash").stdout
    ended = corpus("stats", "-", "--json", text=kept)
    assert json.loads(ended.stdout)["pairs"] == 2


def test_a_split_writes_three_files(file: Path, tmp_path: Path) -> None:
    ended = corpus("split", file, "--to", tmp_path / "parts", "--ratio", "1:1", "--dev", "1", "--json")
    assert [row["pairs"] for row in json.loads(ended.stdout)] == [1, 1, 1]
    lines = [(tmp_path / "parts" / f"{name}.jsonl").read_text() for name in ("train", "dev", "test")]
    assert sorted(lines) == sorted(f"{json.dumps(line)}\n" for line in LINES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stats", "no-such-file"], "no-such-file does not exist: expected JSON lines"),
        (["stats", ".", "--rules", "other"], "--rules other: expected one of plain, nl2bash"),
        (["split", ".", "--to", "x", "--ratio", "5"], "--ratio 5: expected two numbers such as 5:1"),
        (["split", ".", "--to", "x", "--ratio", "0:1"], "--ratio 0:1: expected two numbers such as 5:1"),
        (["stats", "/proc/self/mem"], "/proc/self/mem cannot be read: Input/output error"),
    ],
)
def test_wrong_use_is_an_error_with_the_expected_form(arguments: list[str], message: str) -> None:
    ended = corpus(*arguments)
    assert (ended.exit_code, message in ended.stderr) == (2, True)


def test_a_folder_that_cannot_be_made_is_an_error(file: Path) -> None:
    ended = corpus("split", file, "--to", file)
    assert (ended.exit_code, f"--to: {file}/train.jsonl cannot be written" in ended.stderr) == (2, True)


def test_a_bad_line_stops_a_split_before_a_file_is_written(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text() + "not JSON\n")
    ended = corpus("split", file, "--to", tmp_path / "parts")
    assert (ended.exit_code, (tmp_path / "parts").exists()) == (1, False)
    assert f"{file}:4: broken JSON" in ended.stderr


def test_text_metrics_read_the_lines_of_a_corpus(file: Path, tmp_path: Path) -> None:
    parsed = CommandRunner().invoke(app, ["metrics", "parse", str(file)])
    assert [json.loads(line)["utils"][0] for line in parsed.stdout.splitlines()] == [
        *(["ls", ["-l", "-a"]], ["cat", []], ["ls", []]),
    ]
    answered = tmp_path / "answered.jsonl"
    answered.write_text("".join(f"{json.dumps(line | {'pred': 'ls -la'})}\n" for line in LINES[:1]))
    scored = CommandRunner().invoke(app, ["metrics", "nlc2cmd", str(answered)])
    assert scored.stdout == '{"score": 1.0}\n'
