"""An error is one line that states how to fix it, and an exit code.

The exit code is 1 for faults in submissions or suites, 2 for wrong use, and 3 if something is missing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from evaluator.cli.app import Group, add_commands, example
from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import write_submission
from tests.cli.command_runs import Bashboard, run_here
from tests.command_runner import CommandRunner

WRONG_USE = {
    "standings --suite tinu": "no suite is named 'tinu'; did you mean tiny?",
    "standings --suite moon": "no suite is named 'moon'; the only one is tiny",
    "suite show moon": "no suite is named 'moon'; the only one is tiny",
    "suite show tiny files-3": "suite tiny has no task 'files-3'; did you mean files-2 or files-1?",
    "suite show tiny moon": "suite tiny has no task 'moon'; there are: files-1, files-2",
    "suite verify tiny --task files-3": "suite tiny has no task 'files-3'; did you mean files-2 or files-1?",
    "score GOOD": "no submission is named 'GOOD'; did you mean good? … 2 more: bashboard standings",
    "score goood": "no submission is named 'goood'; did you mean good? … 2 more: bashboard standings",
    "score ..": "no submission is named '..'; there are: always-true, good, lazy",
    "explain goood files-1 --suite tiny": "no submission is named 'goood'; did you mean good? … 2 more",
    "explain good files-3 --suite tiny": "suite tiny has no task 'files-3'; did you mean files-2 or files-1?",
    "explain good files-1": "no suite is named 'core'; the only one is tiny",
    "explain lazy files-1 --suite tiny --rank 3": "lazy gave 2 candidates for files-1: expected --rank 1 to 2",
    "explain good files-1 --suite tiny --rank 2": "good gave 1 candidate for files-1: expected --rank 1",
    "submit init Bad_Slug!": "folder name 'Bad_Slug!': expected lower-case letters, digits and inner '-', at most 64, "
    "such as bad-slug",
    "score --moon": "no such option: --moon",
    "--moon": "no such option: --moon; see: bashboard --help",
    "scor": "no such command 'scor'. Did you mean 'score'",
    "score --workers 0": "invalid value for '--workers': Input should be greater than or equal to 1; see: bashboard ",
    "explain good": "no suite is named 'core'; the only one is tiny",
    "explain goood --suite tiny": "no submission is named 'goood'; did you mean good? … 2 more",
    "adjudicate good": "missing argument 'TASK'; see: bashboard adjudicate --help",
    "score --judge oracle": "no judge is named 'oracle'; there are: exact, bleu, nl2cmd … 8 more: bashboard judges",
    "compare good good": "'good' is given twice: expected two different submissions",
    "compare good goood": "no submission is named 'goood'; did you mean good? … 2 more: bashboard standings",
    "compare good lazy --suite moon": "no suite is named 'moon'; the only one is tiny",
    "schema moon": "no format is named 'moon'; there are: suite, world, task … ",
    "baseline moon": "no baseline is named 'moon'; there are: always-true, ",
    "baseline rules": "no suite is named 'core'; the only one is tiny",
    "check nowhere": "no submission is named 'nowhere'; there are: always-true, good, lazy",
    "check submissions/goood": "no submission is named 'goood'; did you mean good? … 2 more",
    "check elsewhere/good": "elsewhere/good: no such folder",
    "compare lazy goo": "no submission is named 'goo'; did you mean good? … 2 more: bashboard standings",
    "submit init aux": "folder name 'aux': Windows has a device of this name",
}


def is_one_line(text: str) -> bool:
    return text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.parametrize(("line", "words"), WRONG_USE.items(), ids=WRONG_USE)
def test_wrong_use_is_told_in_one_line(bashboard: Bashboard, line: str, words: str) -> None:
    found = bashboard(*line.split())
    assert found.stderr.startswith(f"bashboard: {words}")
    assert (found.returncode, found.stdout, is_one_line(found.stderr)) == (2, "", True)


def test_a_failed_answer_is_found_without_its_task(bashboard: Bashboard) -> None:
    """`lazy` answers the first of two tasks. The command executes nothing."""
    failed = bashboard("explain", "lazy", "--suite", "tiny")
    assert [line.split()[:2] for line in failed.stdout.splitlines()] == [["files-2", "unanswered"]]
    assert failed.stderr == "see one with: bashboard explain lazy files-2 --suite tiny\n"
    passed = bashboard("explain", "good", "--suite", "tiny")
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, "", "")


def test_answers_without_a_verdict_are_counted_and_not_listed(judged: Project) -> None:
    write_submission(judged.root, "good", {"files-1": ["date"], "files-2": ["echo a"]})
    found = run_here(judged.root, "explain", "good", "--suite", "tiny", "--judge", "exact")
    assert [line.split()[:2] for line in found.stdout.splitlines()] == [["files-2", "fail"]]
    assert found.stderr.startswith("bashboard: 1 answer has no verdict on this machine; run: bashboard score good --su")


def test_a_task_is_shown_without_its_suite(bashboard: Bashboard) -> None:
    assert bashboard("suite", "show", "files-2").stdout == bashboard("suite", "show", "tiny", "files-2").stdout != ""


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_told_in_one_line(number: int) -> None:
    """The temporary file of a write is not what the user knows."""

    def fail() -> None:
        raise OSError(number, os.strerror(number), "submissions/mine/.core.jsonl.x1.new")

    group = typer.Typer(cls=Group)
    add_commands(group, example("bashboard fail")(fail))
    group.callback()(lambda: None)
    found = CommandRunner().invoke(group, ["fail"])
    assert (found.exit_code, found.stderr) == (3, f"bashboard: submissions/mine: {os.strerror(number)}\n")


def test_a_submission_is_checked_by_its_slug_and_warnings_can_be_errors(bashboard: Bashboard) -> None:
    """`lazy` lacks an answer, which is a warning."""
    found = bashboard("check", "lazy")
    assert (found.returncode, found.stderr) == (0, "errors: 0, warnings: 1\n")
    strict = bashboard("check", "lazy", "--strict")
    assert (strict.returncode, strict.stderr) == (1, "errors: 1, warnings: 0\n")
    assert strict.stdout == found.stdout.replace("warning: ", "")
    assert bashboard("check", "good", "--strict").returncode == 0


@pytest.mark.parametrize("line", ["standings", "score", "check", "suite list", "build", "doctor", "baseline rules"])
def test_outside_of_a_checkout_it_says_where_to_go(tmp_path: Path, line: str) -> None:
    found = run_here(tmp_path, *line.split())
    assert found.stderr.startswith(f"bashboard: {tmp_path} is in no Bashboard checkout: cd to the folder with ")
    assert (found.returncode, is_one_line(found.stderr)) == (2, True)


@pytest.mark.parametrize("line", ["standings", "standings --json", "build"])
def test_before_anything_was_scored_it_says_what_to_type(unjudged: Project, line: str) -> None:
    found = run_here(unjudged.root, *line.split())
    expected = "bashboard: evidence is missing; produce it with: bashboard score --suite tiny\n"
    assert (found.returncode, found.stdout, found.stderr) == (3, "", expected)


def test_after_a_prediction_was_edited_it_says_what_to_type(judged: Project) -> None:
    write_submission(judged.root, "good", {"files-1": ["date"], "files-2": ["echo b"]})
    found = run_here(judged.root, "standings", "--judge", "exact")
    expected = "bashboard: 1 answer without evidence on this machine; produce it with: bashboard score\n"
    assert (found.returncode, found.stderr) == (3, expected)
    assert all(slug in found.stdout for slug in ("good", "lazy", "always-true"))


def test_a_machine_without_an_engine_is_told_what_to_type(unjudged: Project) -> None:
    found = run_here(unjudged.root, "score")
    assert (found.returncode, found.stdout) == (3, "")
    assert "DOCKER_HOST" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_site_that_is_not_built_is_not_served(bashboard: Bashboard) -> None:
    found = bashboard("serve")
    assert (found.returncode, is_one_line(found.stderr)) == (3, True)
    assert "build it with: bashboard build" in found.stderr


def test_a_broken_submission_is_found_wanting(bashboard: Bashboard, judged: Project) -> None:
    (judged.root / "submissions" / "good" / "tiny.jsonl").write_text('{"task": "files-1"}\n')
    found = bashboard("check")
    assert found.returncode == 1
    assert found.stdout.startswith("submissions/good/tiny.jsonl:1: ")  # before the warnings of other submissions
    assert bashboard("score").returncode == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        *(
            ("standings", 1),
            ("standings --suite tiny", 1),
            ("standings --published", 1),
            ("score", 1),
            ("score good", 0),
        ),
        *(("preview good", 0), ("preview good --published", 0)),
        pytest.param("build", 3, marks=pytest.mark.slow),
    ],
)
def test_a_broken_neighbour_is_named_and_left_out(bashboard: Bashboard, judged: Project, line: str, code: int) -> None:
    """Published verdicts are missing in this checkout, and so is mkdocs.yml, with which `build` ends."""
    (judged.root / "submissions" / "lazy" / "tiny.jsonl").write_text("\x1b[31mnonsense\n")
    found = bashboard(*line.split())
    assert found.returncode == code, found.stderr
    assert (line != "build") or "mkdocs.yml" in found.stderr
    (told,) = [each for each in found.stderr.splitlines() if "lazy" in each]
    assert told.startswith("bashboard: left out, as it cannot be scored: lazy: ")
    assert "tiny.jsonl:1: " in told
    assert "\x1b" not in found.stderr
    assert line != "standings" or ("good" in found.stdout and "lazy" not in found.stdout)


def replace_answers(folder: Path, make: Callable[[Path], object]) -> None:
    (folder / "tiny.jsonl").unlink()
    make(folder / "tiny.jsonl")


BREAKS: dict[str, Callable[[Path], object]] = {
    "broken TOML": lambda folder: (folder / "submission.toml").write_text("format = \n"),
    "an unknown format": lambda folder: (folder / "submission.toml").write_text("format = 9\n"),
    "no manifest": lambda folder: (folder / "submission.toml").unlink(),
    "bytes that are no text": lambda folder: (folder / "tiny.jsonl").write_bytes(b"\xff\xfe\x00"),
    "a folder for a file": lambda folder: replace_answers(folder, Path.mkdir),
    "a broken link": lambda folder: replace_answers(folder, lambda path: path.symlink_to("none")),
    "a folder name that is no slug": lambda folder: folder.rename(folder.with_name("Lazy one")),
    "a file for a folder": lambda folder: (folder.parent / "extra").symlink_to(folder / "submission.toml"),
}


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize("line", ["standings", "score"])
def test_no_broken_submission_stops_the_board_of_the_others(
    bashboard: Bashboard, judged: Project, kind: str, line: str
) -> None:
    BREAKS[kind](judged.root / "submissions" / "lazy")
    found = bashboard(*line.split())
    assert "good" in found.stdout
    assert "Traceback" not in found.stderr
    left_out = [each for each in found.stderr.splitlines() if each.startswith("bashboard: left out")]
    assert (found.returncode, len(left_out)) == ((0, 0) if kind == "a file for a folder" else (1, 1))


def test_a_broken_submission_that_was_named_is_not_left_out(bashboard: Bashboard, judged: Project) -> None:
    (judged.root / "submissions" / "lazy" / "tiny.jsonl").write_text("nonsense\n")
    found = bashboard("score", "lazy")
    assert found.returncode == 1
    assert "tiny.jsonl:1: " in found.stderr


def test_a_broken_suite_is_named_at_its_line(bashboard: Bashboard, judged: Project) -> None:
    (judged.root / "fixtures" / "tiny" / "tasks" / "files.jsonl").write_text("{}\n")
    found = bashboard("standings")
    assert found.returncode == 1
    assert "fixtures/tiny/tasks/files.jsonl:1: id: Field required" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_store_that_is_none_is_told_in_one_line(bashboard: Bashboard, judged: Project) -> None:
    judged.store_path.write_bytes(b"no database" * 100)
    found = bashboard("standings")
    assert (found.returncode, is_one_line(found.stderr)) == (3, True)
    assert "delete it" in found.stderr


@pytest.mark.parametrize(
    "text", ["[tool.bashboard]\ncolour = 1\n", "[tool.bashboard\n", "[tool.bashboard.limits]\nlines = 0"]
)
def test_settings_that_do_not_read_are_wrong_use(bashboard: Bashboard, judged: Project, text: str) -> None:
    (judged.root / "pyproject.toml").write_text(text)
    found = bashboard("standings")
    assert found.returncode == 2
    assert "pyproject.toml" in found.stderr
    assert is_one_line(found.stderr)
