"""Commands print results on standard output and everything else on standard error, and end with an exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import write_submission
from tests.cli.command_runs import COMMAND, Bashboard, run_here, run_in

JSON = [
    ("score",),
    ("standings",),
    ("rescore",),
    ("rescore", "--plan"),
    ("explain", "lazy", "files-1", "--suite", "tiny"),
    ("explain", "lazy", "files-2", "--suite", "tiny"),
    ("suite", "list"),
    ("suite", "show", "tiny"),
    ("suite", "show", "tiny", "files-2"),
    ("check",),
    ("compare", "good", "lazy"),
]


@pytest.mark.parametrize("words", JSON, ids=" ".join)
def test_json_is_alone_on_standard_output(bashboard: Bashboard, words: tuple[str, ...]) -> None:
    found = bashboard(*words, "--json")
    assert (found.returncode, found.stderr) == (0, "")
    json.loads(found.stdout)


def test_standings_as_json_have_what_a_board_needs(bashboard: Bashboard) -> None:
    rows = json.loads(bashboard("standings", "--json").stdout)
    assert [row["submission"] for row in rows] == ["good", "lazy", "always-true"]
    needed = {"submission", "suite", "accuracy", "accuracy_low", "accuracy_high"}
    needed |= {"undecided", "nlc2cmd", "rank_low", "rank_high"}
    assert needed <= rows[0].keys()
    assert (rows[0]["suite"], rows[0]["accuracy"], rows[2]["accuracy"]) == ("tiny", 1.0, 0.0)


def test_standings_as_json_are_the_same_bytes_each_time(bashboard: Bashboard) -> None:
    assert bashboard("standings", "--json").stdout == bashboard("standings", "--json").stdout


def test_standings_as_text_show_every_submission_whole_however_narrow_the_terminal_was(bashboard: Bashboard) -> None:
    lines = bashboard("standings").stdout.splitlines()
    assert [line.split()[2] for line in lines[2:5]] == ["good", "lazy", "always-true"]
    assert "0.500" in lines[3]
    assert "…" not in "".join(lines)


def test_the_version_is_said_alone(bashboard: Bashboard) -> None:
    assert bashboard("--version").stdout.split()[0] == "bashboard"


def test_piped_text_has_no_colour(bashboard: Bashboard) -> None:
    for words in (
        ("standings",),
        ("explain", "good", "files-1", "--suite", "tiny"),
        ("suite", "show", "tiny", "files-1"),
    ):
        assert "\x1b" not in bashboard(*words).stdout


def test_what_is_judged_already_is_scored_without_a_word(bashboard: Bashboard) -> None:
    found = bashboard("score")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == bashboard("standings").stdout


def test_a_plan_says_what_is_stale_and_why(bashboard: Bashboard, judged: Project) -> None:
    write_submission(judged.root, "good", {"files-1": ["date"], "files-2": ["echo b"]})
    assert bashboard("rescore", "--plan").stdout == (
        "tiny: stale verdicts: 1; executions without evidence: 1\n      1 never judged\n"
    )


def test_a_plan_of_another_judge_says_so(bashboard: Bashboard) -> None:
    plan = json.loads(bashboard("rescore", "--plan", "--judge", "exact", "--json").stdout)["tiny"]
    assert {each["why"] for each in plan["stale"]} == {"judge changed"}
    assert plan["executions"] == 0


def test_another_judge_grades_without_executing(bashboard: Bashboard) -> None:
    found = bashboard("standings", "--judge", "exact", "--json")
    assert [row["passed"] for row in json.loads(found.stdout)] == [2, 1, 0]


def test_an_explanation_shows_the_verdict_and_why(bashboard: Bashboard) -> None:
    text = bashboard("explain", "always-true", "files-1", "--suite", "tiny").stdout
    assert "FAIL  decided by output in variant one" in text
    assert "because" in text
    assert "reference 2" in text


def test_an_explanation_of_nothing_given_shows_the_references(bashboard: Bashboard) -> None:
    found = bashboard("explain", "lazy", "files-2", "--suite", "tiny")
    assert "UNANSWERED" in found.stdout
    assert "references 1, 2" in found.stdout.partition("variant one")[2]  # both references have the same output
    assert "variants: one, two; see all of them" in found.stdout


def test_an_explanation_shows_all_variants_when_asked(bashboard: Bashboard) -> None:
    text = bashboard("explain", "good", "files-1", "--suite", "tiny", "--all").stdout
    assert "variant one" in text
    assert "variant two" in text
    assert "see all" not in text


def test_no_submissions_are_no_error(judged: Project) -> None:
    for folder in judged.submission_folders():
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    assert run_here(judged.root, "standings", "--json").stdout == "[]\n"
    assert run_here(judged.root, "score").returncode == 0
    assert run_here(judged.root, "check").returncode == 0


def test_it_works_from_any_folder_of_the_checkout(judged: Project) -> None:
    found = run_here(judged.root / "submissions" / "good", "standings", "--json")
    assert json.loads(found.stdout)[0]["submission"] == "good"


@pytest.mark.parametrize("words", ["standings", "suite show tiny", "schema evidence", "check"])
def test_a_reader_that_stops_reading_is_no_error(judged: Project, words: str) -> None:
    line = f"{COMMAND} {words} | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", line], cwd=judged.root, capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr.replace("errors: 0, warnings: 1\n", "")) == ("0\n", "")


def test_a_reader_that_is_gone_is_no_error(judged: Project) -> None:
    """The command ends with exit code 0 even if no process reads its output and the first write fails."""
    line = f"{{ sleep 0.2; {COMMAND} schema evidence; echo $? >ended; }} | true; cat ended"
    found = subprocess.run(["bash", "-c", line], cwd=judged.root, capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("0\n", "")


def test_a_schema_is_printed_by_name(tmp_path: Path) -> None:
    """A schema is also printed outside of a checkout, because the author of a submission may have no checkout."""
    assert json.loads(run_in(tmp_path, "schema", "prediction").stdout)["title"] == "prediction"
    assert run_here(tmp_path, "schema").stdout.splitlines()[0].startswith("suite ")
