"""Commands are scored and parsed line by line, as `bashboard metrics` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.cli import app
from evaluator.json_lines import MOST_PROBLEMS, LineProblems
from evaluator.pipeline.boards.jsonl_metrics import Aggregation, parsed_commands, score_jsonl
from tests.command_runner import CommandRunner


def lines(*values: object) -> list[bytes]:
    return [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]


def scored(*values: object, **options: Any) -> tuple[list[Any], list[str]]:
    problems = LineProblems(Path("f.jsonl"))
    return list(score_jsonl(lines(*values), problems, **options)), [str(each) for each in problems.all()]


def run(*arguments: str, given: str | bytes | None = None) -> tuple[int, list[Any], str]:
    result = CommandRunner().invoke(app, ["metrics", *arguments], input=given)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def test_a_pair_is_its_score_times_its_confidence() -> None:
    """Confidence is 1 by default, and unknown fields are ignored."""
    answers, problems = scored(
        {"pred": "ls -a", "ref": "ls -l", "nl": "list"}, {"pred": "ls", "ref": "ls", "confidence": 0.5}
    )
    assert answers == [{"score": -0.5}, {"score": 0.5}]
    assert problems == []


@pytest.mark.parametrize(
    ("prediction", "score"),
    [
        ("# List files\nls -la", 1.0),
        ("ls -la # list files", 1.0),
        ("#list\n\n# files\nls -la\n# end", 1.0),
        ("# ls -la", 1.0),
        ("# List files\nls -l", 0.5),
    ],
)
def test_a_comment_is_no_command_and_a_prompt_no_comment(prediction: str, score: float) -> None:
    """A `#` in the only line is the prompt of root, if a command follows. In any other place it begins a comment."""
    assert scored({"pred": prediction, "ref": "ls -la"}) == ([{"score": score}], [])


def test_a_list_has_its_score_by_both_aggregations() -> None:
    """The chosen aggregation gives the score. The default is the organisers'."""
    row = {"preds": ["sort", "ls -a"], "confidences": [1.0, 0.5], "refs": ["ls -l", "cat"]}
    pooled, best = (-1 - 1 - 0.25 - 0.5) / 4, (-1 - 0.25) / 2
    assert scored(row)[0] == [{"score": pooled, "organisers": pooled, "paper": best}]
    assert scored(row, aggregation=Aggregation.PAPER)[0] == [{"score": best, "organisers": pooled, "paper": best}]


def test_no_prediction_at_all_is_minus_one_and_confidences_may_be_left_out() -> None:
    """An empty list scores -1, as empty predictions do."""
    answers, _ = scored({"preds": [], "refs": ["ls"]}, {"preds": ["ls"], "refs": ["ls"]})
    assert [answer["score"] for answer in answers] == [-1, 1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"pred": "ls"}, "ref: missing"),
        ({"pred": 1, "ref": "ls"}, "pred: Input should be a valid string, found '1'"),
        ({"pred": "ls", "ref": "ls", "confidence": 1.5}, "less than or equal to 1, found '1.5'"),
        ({"pred": "ls", "ref": "ls", "confidence": float("nan")}, "found 'nan'"),
        ({"preds": ["ls"], "refs": ["ls"], "confidences": []}, "as many confidences as preds, 1, found 0"),
        ({"preds": ["ls"], "refs": []}, "refs: List should have at least 1 item"),
        (["ls"], "found \"['ls']\""),
        (b"{", "expected a JSON object: broken JSON at column 2"),
        (b"\xff", "expected UTF-8, found the byte 0xff"),
        (b"[" * 100_000, "nested more than 100 deep"),
    ],
)
def test_a_line_that_does_not_read_is_null_and_named(line: object, told: str) -> None:
    """The answers keep the order of lines, and the problem gives the line, the expectation and the value found."""
    answers, problems = scored({"pred": "ls", "ref": "ls"}, line, {"pred": "ls", "ref": "ls"})
    assert answers == [{"score": 1.0}, None, {"score": 1.0}]
    assert len(problems) == 1
    assert problems[0].startswith("f.jsonl:2: ")
    assert told in problems[0]


def test_empty_lines_are_problems_but_at_the_end() -> None:
    """An empty last line is allowed. An empty line in the middle would shift each later answer."""
    answers, problems = scored(b"\n", {"pred": "ls", "ref": "ls"}, b"", b"\n")
    assert answers == [None, {"score": 1.0}]
    assert problems == ["f.jsonl:1: expected a JSON object, found an empty line"]


def test_many_problems_are_counted() -> None:
    """Only the first problems are listed, because a file of another format has one in each line."""
    answers, problems = scored({"pred": "ls", "ref": "ls"}, *[b"x"] * (MOST_PROBLEMS + 5))
    assert answers == [{"score": 1.0}, *[None] * (MOST_PROBLEMS + 5)]
    assert problems[-1] == "f.jsonl: 5 more problems"


def test_utilities_come_with_the_flags_of_all_that_is_nested() -> None:
    """Flags keep their order and repetitions. An unreadable command gives null."""
    read = list(
        parsed_commands(
            lines({"cmd": "find . -name a -o -name b | xargs rm -f"}, {"cmd": "ls 'a"}, {"cmd": "ls > f"}),
            LineProblems(Path("f")),
        )
    )
    assert read[0] == {"utils": [("find", ["-name", "-name"]), ("xargs", ["-I", "-f"]), ("rm", ["-f"])]}
    assert read[1:] == [{"utils": None}, {"utils": [("ls", [])]}]


def test_the_commands_print_a_line_a_line(tmp_path: Path) -> None:
    """The commands read a file or standard input, strictly or not, and keep the order of lines."""
    file = tmp_path / "f.jsonl"
    file.write_text('{"cmd": "ls -l > f"}\n{"cmd": "ls -l"}\n', "utf-8")
    read = {"utils": [["ls", ["-l"]]]}
    assert run("parse", str(file)) == (0, [read, read], "")
    assert run("parse", "--strict-2020", str(file)) == (0, [{"utils": None}, read], "")
    pair = '{"pred": "ls > f", "ref": "ls"}\n'
    assert run("nlc2cmd", "-", given=pair)[:2] == (0, [{"score": 1.0}])
    assert run("nlc2cmd", "--strict-2020", "-", given=pair)[:2] == (0, [{"score": -1.0}])


def test_a_command_that_no_parser_reads_is_counted(tmp_path: Path) -> None:
    """Its score is -1, so the line says why, and standard error has the number of such lines."""
    pairs = [{"pred": "ls 'a", "ref": "ls"}, {"preds": ["ls", "(", ")"], "refs": ["ls"]}, {"pred": "ls", "ref": "ls"}]
    code, answers, errors = run("nlc2cmd", "-", given="".join(json.dumps(each) + "\n" for each in pairs))
    assert (code, [each.get("unreadable") for each in answers]) == (0, [1, 2, None])
    assert answers[0]["score"] == -1.0
    assert "2 lines with a command that no parser reads" in errors


def test_what_is_wrong_is_told_with_the_exit_code_for_it(tmp_path: Path) -> None:
    """Wrong lines set exit code 1. A missing file and an unknown aggregation set exit code 2."""
    code, answers, errors = run("nlc2cmd", "-", given='x\n{"pred": "ls", "ref": "ls"}\n')
    assert (code, answers) == (1, [None, {"score": 1.0}])
    assert "standard input:1: expected a JSON object" in errors
    assert run("nlc2cmd", str(tmp_path / "none"))[0] == 2
    assert run("nlc2cmd", str(tmp_path))[0] == 2
    assert run("nlc2cmd", "--aggregation", "best", "-", given="")[0] == 2


def test_the_benchmark_times_pairs_of_a_file(tmp_path: Path) -> None:
    """Each row counts the pairs and the different commands. The row "every command once" repeats no command."""
    file = tmp_path / "f.jsonl"
    rows = [{"pred": "ls -l", "ref": "ls"}, {"pred": "ls -a", "ref": "ls"}, {"preds": ["a", "b"], "refs": ["c"]}]
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    result = CommandRunner().invoke(app, ["bench", "metrics", "--file", str(file), "--runs", "1", "--json"])
    assert result.exit_code == 0, result.stderr
    found = [(row["commands"], row["pairs"], row["different_commands"]) for row in json.loads(result.stdout)]
    assert found == [("as they come", 4, 6), ("every command once", 2, 4), ("all read before", 4, 6)]
    assert all(row["pairs/s_min"] <= row["pairs/s_median"] <= row["pairs/s_max"] for row in json.loads(result.stdout))
