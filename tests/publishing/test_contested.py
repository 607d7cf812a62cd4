"""Tests of the list of undecided published verdicts, and of the address of the appeal form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from evaluator.github.comment.contested_list import contested_list
from evaluator.github.forms import APPEAL_FORM, appeal_address, split_address
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.appeal_form import repository_address
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.contested_verdicts import contested_verdicts
from evaluator.records import CandidateSource, Contested, Ending, Finding, Outcome, Step, command_digest
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import Shows, fake_boards
from evaluator.testing.verdict_files import verdict_file

ROOT = Path(__file__).parents[2]
TASKS = [
    small_task("files-1", references=("ls 1", "echo 1"), nl="Print 1."),
    small_task("files-2", references=("ls 2", "echo 2"), nl="Print 2, and `nothing` else."),
]
SHOWN: dict[str, Shows] = {f"{verb} {number}": f"{number}\n" for verb in ("ls", "echo") for number in (1, 2)}
STRANGE = "echo 2 | @team \u202e`x`\n```"
PLAYED = {**SHOWN, "odd": "odd\n", STRANGE: "odd\n", "sleep 99": evidence(ending=Ending.TIMEOUT, status=None)}
ANSWERS = {
    "one": {"files-1": ["odd"], "files-2": ["echo 2"]},
    "two": {"files-1": ["odd"], "files-2": [STRANGE]},
    "three": {"files-1": ["sleep 99", "odd"], "files-2": ["echo 2"]},
}
OPEN = Finding(outcome=Outcome.UNDECIDED, step=Step.OUTPUT, reason="another layout | of @them", variant="one")
JOB = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "owner/board"}


def publish(project: Project, board: SuiteBoard) -> None:
    """Publish the verdicts of a board, with each failed verdict changed to undecided."""
    for slug in ANSWERS:
        file = verdict_file(board, slug)
        lines = (
            each.model_copy(update={"finding": OPEN}) if each.finding.outcome is Outcome.FAIL else each
            for each in file.verdicts
        )
        verdicts_path(project, slug, "tiny").write_bytes(verdict_bytes(VerdictFile(file.header, tuple(lines))))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = small_checkout(tmp_path, TASKS, ANSWERS)
    publish(made, fake_boards(made, PLAYED)[0])
    return made


def contested(project: Project, environ: Mapping[str, str] = JOB) -> list[Contested]:
    return contested_verdicts(project, environ=environ)


def test_another_spelling_of_a_command_shares_its_entry(tmp_path: Path) -> None:
    answers = {**ANSWERS, "two": {"files-1": ["{ odd; } # x\n"], "files-2": [STRANGE]}}
    made = small_checkout(tmp_path, TASKS, answers)
    publish(made, fake_boards(made, {**PLAYED, "{ odd; } # x\n": "odd\n"})[0])
    (first, _) = contested(made)
    assert [source.submission for source in first.given_by] == ["one", "three", "two"]
    assert first.rows == 2


def test_a_command_is_told_once_whoever_gave_it(project: Project) -> None:
    """An undecided command is listed once, with all submissions that contain it.

    A ruling changes only the rows in which the command is the first candidate.
    """
    (first, second) = contested(project)
    assert (first.task, first.instruction, first.command) == ("files-1", "Print 1.", b"odd")
    assert first.digest == command_digest(b"odd")
    assert first.given_by == (
        CandidateSource(submission="one", rank=1),
        CandidateSource(submission="three", rank=2),
        CandidateSource(submission="two", rank=1),
    )
    assert (first.rows, second.rows) == (2, 1)
    assert (first.step, first.reason, first.variant) == (OPEN.step, OPEN.reason, OPEN.variant)


def test_what_is_given_no_more_is_not_contested(project: Project) -> None:
    """A command that is no longer in any submission is not listed, although its verdict is still published."""
    write_submission(project.root, "two", {"files-1": ["odd"], "files-2": ["echo 2"]})
    assert [each.task for each in contested(project)] == ["files-1"]


def test_lines_to_type_name_the_candidate(project: Project) -> None:
    """The suggested shell commands name a submission in which the command is the first candidate, if one exists."""
    (first, _) = contested(project)
    assert first.explain == "bashboard explain one files-1 --suite tiny"
    assert first.adjudicate == "bashboard adjudicate one files-1 pass --suite tiny --because 'WHY'"
    for slug in ("one", "two"):
        verdicts_path(project, slug, "tiny").unlink()
    (only,) = contested(project)
    assert only.explain == "bashboard explain three files-1 --suite tiny --rank 2"
    assert only.rows == 0


def test_the_form_is_filled_in_as_far_as_it_is_known(project: Project) -> None:
    """The link to the appeal form fills in all known fields, and each of them is a field of the form."""
    (first, _) = contested(project)
    assert first.appeal is not None
    address = urlsplit(first.appeal)
    fields = {name: values for name, (values,) in parse_qs(address.query).items()}
    assert address.geturl().startswith("https://github.com/owner/board/issues/new?")
    assert fields == {"template": APPEAL_FORM, "submission": "one", "suite": "tiny", "task": "files-1", "rank": "1"}
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / APPEAL_FORM).read_text())
    assert fields.keys() - {"template"} <= {each.get("id") for each in form["body"]}


def test_without_a_repository_there_is_no_link(project: Project) -> None:
    """If the repository is unknown, there is no link to the appeal form."""
    assert [each.appeal for each in contested(project, {})] == [None, None]


@pytest.mark.parametrize(
    ("settings", "environ", "found"),
    [
        ("repo_url: https://git.example.org/owner/board", {}, ("https://git.example.org", "owner/board")),
        ("repo_url: https://git.example.org/owner/board.git", JOB, ("https://github.com", "owner/board")),
        ("repo_url: !ENV [BASHBOARD_NO_SUCH_VARIABLE, '']", {}, None),
        ("repo_url: not an address", {}, None),
        ("site_name: Board", {}, None),
        ("site_name: Board", {"GITHUB_REPOSITORY": "owner/board"}, None),
        ("site_name: Board", {**JOB, "GITHUB_REPOSITORY": "owner/<board>"}, None),
    ],
)
def test_a_job_or_the_sites_settings_say_where_the_repository_is(
    tmp_path: Path, settings: str, environ: Mapping[str, str], found: tuple[str, str] | None
) -> None:
    """The address of the repository comes from the job's environment or, if that has none, from the site's settings."""
    project = small_checkout(tmp_path, TASKS, {})
    (project.root / "mkdocs.yml").write_text(f"{settings}\n")
    assert repository_address(project, environ) == found


@pytest.mark.parametrize(
    ("server", "repository"),
    [("javascript:alert(1)", "a/b"), ("https://github.com/x", "a/b"), ("https://github.com", "a/b/c"), ("", "")],
)
def test_an_address_is_made_of_nothing_else(server: str, repository: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        appeal_address(server, repository)
    assert split_address(f"{server}/{repository}") in (None, ("https://github.com", "x/a/b"))


def test_the_text_shows_a_strangers_words_as_code(project: Project) -> None:
    """The list shows a command as code on one line, with characters that change the text direction escaped.

    The suggested shell commands are in a separate code block.
    """
    text = contested_list(contested(project))
    assert text.startswith("**2 verdicts** are undecided.")
    (given,) = [line for line in text.splitlines() if line.startswith("- command:") and "team" in line]
    assert given == "- command: ```` echo 2 | @team \\u202e`x`\\n``` ````"
    assert re.search(r"- by `one`, `three` as number 2, `two`; a ruling moves 2 rows\n", text)
    assert "```console\nbashboard explain one files-1 --suite tiny\nbashboard adjudicate one" in text
    assert "- [appeal it](https://github.com/owner/board/issues/new?template=appeal.yml&submission=one" in text


def test_a_list_that_is_too_long_names_what_it_leaves_out(project: Project) -> None:
    """A list of 3,000 long verdicts stays below GitHub's limit of 65,536 bytes and names the omitted verdicts."""
    (first, _) = contested(project)
    long = first.model_copy(update={"command": b"\xff" * 2000, "size": 9000, "instruction": "\u202e" * 2000})
    text = contested_list([long.model_copy(update={"task": f"files-{number}"}) for number in range(3000)])
    assert len(text.encode()) <= 65_536
    assert "_Left out, because GitHub accepts no longer text: `files-10` of `tiny`" in text
    assert "… and 2,940 more verdicts." in text


def test_nothing_undecided_is_said_so(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, TASKS, ANSWERS)
    assert contested(project) == []
    assert contested_list([]) == "No published verdict is undecided.\n"
