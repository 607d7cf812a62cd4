"""`bashboard preview` in a small checkout whose submissions are already judged."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.errors import EngineError, MissingError, UsageError
from evaluator.github.comment.body import MARKER, render_comment
from evaluator.pipeline.boards.preview_board import preview_submission
from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.project import Project
from evaluator.pipeline.pull_requests.report import read_preview
from evaluator.progress import NullProgress
from evaluator.records import Preview, Role, Topic, Unranked
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import added, evidence
from evaluator.testing.executor import Shows, fake_boards
from evaluator.testing.verdict_files import write_verdicts
from tests.command_runner import CommandRunner

HOSTILE = b"/srv/<img src=x>|`@me`\x1b\xff"
TASKS = [small_task(f"files-{number}", references=(f"ls {number}", f"echo {number}")) for number in range(1, 6)]
SHOWN: dict[str, Shows] = {
    **{f"{verb} {number}": f"{number}\n" for verb in ("ls", "echo") for number in range(1, 6)},
    "true": "",
    "theirs alone": "",
    "mess": evidence("2\n", changes=[added(HOSTILE), added("/srv/b")]),
}
ANSWERS: Mapping[str, Mapping[str, list[str]]] = {
    "best": {f"files-{number}": [f"echo {number}"] for number in (1, 2, 3, 4)},
    "near": {**{f"files-{number}": [f"echo {number}"] for number in (1, 2, 3)}, "files-5": ["true", "ls 5"]},
    "mine": {"files-1": ["ls 1"], "files-2": ["mess"], "files-3": ["true"], "files-5": ["ls 5"]},
    "last": {"files-1": ["ls 1"], "files-2": ["theirs alone"]},
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a checkout that each test copies."""
    made = small_checkout(tmp_path_factory.mktemp("judged"), TASKS, ANSWERS)
    fake_boards(made, SHOWN)
    return made.root


@pytest.fixture
def project(judged: Path, tmp_path: Path) -> Project:
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path)


def previewed(project: Project, slug: str) -> Preview:
    found = preview_submission(project, NullProgress(), slug, suite="tiny").preview
    assert found is not None
    return found


def run(project: Project, *arguments: str) -> Result:
    """Run the command in the checkout, with no container engine available."""
    with contextlib.chdir(project.root):
        return CommandRunner().invoke(
            app, ["preview", *arguments, "--suite", "tiny"], env={"DOCKER_HOST": "unix:///nowhere/docker.sock"}
        )


def test_a_preview_has_the_counts_of_the_standing(project: Project) -> None:
    found = previewed(project, "mine")
    assert (found.asked, found.passed, found.failed, found.unanswered) == (5, 2, 2, 1)
    assert (found.accuracy, found.unranked, found.ranked) == (0.4, None, 4)
    assert found.topics[Topic.FILES].passed == 2
    assert (found.judge, found.suite_version) == ("consensus", "1.0.0")


def test_it_stands_beside_the_leader_and_its_nearest_neighbours(project: Project) -> None:
    rivals = {each.submission: each for each in previewed(project, "mine").rivals}
    roles = {name: each.roles for name, each in rivals.items()}
    assert roles == {"best": (Role.LEADER,), "near": (Role.BETTER,), "last": (Role.WORSE,)}
    assert rivals["best"].gained.tasks == ("files-5",)
    assert rivals["best"].lost.tasks == ("files-2", "files-3", "files-4")
    assert rivals["last"].gained.tasks == ("files-5",)


@pytest.mark.parametrize(
    ("slug", "roles"),
    [
        ("best", {"near": (Role.WORSE,)}),
        ("near", {"best": (Role.LEADER, Role.BETTER), "mine": (Role.WORSE,)}),
        ("last", {"best": (Role.LEADER,), "mine": (Role.BETTER,)}),
    ],
)
def test_at_the_ends_of_a_board_there_are_fewer(project: Project, slug: str, roles: dict[str, object]) -> None:
    assert {each.submission: each.roles for each in previewed(project, slug).rivals} == roles


def test_a_task_that_no_other_passes_is_newly_solved(project: Project) -> None:
    assert previewed(project, "mine").alone.tasks == ("files-5",)
    assert previewed(project, "best").alone.tasks == ("files-4",)
    assert previewed(project, "near").alone.total == 0


def test_the_only_one_on_a_board_is_beside_nobody(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, TASKS, {"mine": ANSWERS["mine"]})
    fake_boards(project, SHOWN)
    found = previewed(project, "mine")
    assert (found.ranked, found.rank_low, found.rivals, found.alone.total) == (1, 1, (), 0)


def test_controls_are_no_rivals(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, TASKS, {"always-true": ANSWERS["best"], "mine": ANSWERS["mine"]})
    manifest = tmp_path / "submissions" / "always-true" / "submission.toml"
    text = manifest.read_text().replace('method = "other"', 'method = "control"').replace("format = 1", "format = 2")
    manifest.write_text(text)
    fake_boards(project, SHOWN)
    assert previewed(project, "mine").rivals == ()
    assert previewed(project, "always-true").unranked is Unranked.CONTROL


def test_collateral_names_the_task_and_the_paths(project: Project) -> None:
    found = previewed(project, "mine")
    assert found.collateral == 1
    (touched,) = found.touched
    assert (touched.task, touched.total) == ("files-2", 2)
    assert touched.paths == ("/srv/<img src=x>|`@me`\x1b\\xff", "/srv/b")


def test_what_cannot_be_decided_is_told_with_its_reason(tmp_path: Path) -> None:
    tasks = [small_task("files-1", references=("a", "b"), output="none")]
    project = small_checkout(tmp_path, tasks, {"mine": {"files-1": ["c"]}})
    fake_boards(project, dict.fromkeys("abc", ""))
    found = previewed(project, "mine")
    assert (found.undecided, found.accuracy, found.accuracy_upper) == (1, 0.0, 1.0)
    (verdict,) = found.open_verdicts
    assert verdict.task == "files-1"
    assert "doing nothing would be indistinguishable" in verdict.reason


def test_what_a_verifier_rejects_is_told_with_its_message(tmp_path: Path) -> None:
    """The message is quoted, so a command cannot put its own characters into a comment."""
    tasks = [
        small_task("files-1", references=("a", "a2"), verify="test"),
        small_task("files-2", references=("b", "b2")),
    ]
    project = small_checkout(tmp_path, tasks, {"mine": {"files-1": ["c"], "files-2": ["d"]}})
    accepted = evidence("", verifier=0)
    refused = evidence("", verifier=1).model_copy(update={"verifier_message": b"found\n\x1b[2J<b>\xff"})
    fake_boards(project, {"a": accepted, "a2": accepted, "b": "3", "b2": "3", "c": refused, "d": "other"})
    found = previewed(project, "mine")
    assert [(each.task, each.reason) for each in found.rejections] == [
        ("files-1", r"the task's verifier rejects the result: 'found \x1b[2J<b>\\xff'")
    ]


def test_a_broken_one_has_problems_and_no_numbers(project: Project) -> None:
    (project.root / "submissions" / "mine" / "tiny.jsonl").write_text("{\n")
    made = preview_submission(project, NullProgress(), "mine", suite="tiny")
    assert made.preview is None
    assert ("submissions/mine/tiny.jsonl", 1) in [(str(each.path), each.line) for each in made.problems]


def test_a_suite_that_it_does_not_answer_is_said_so(project: Project) -> None:
    with pytest.raises(UsageError, match="mine does not answer suite core; it answers: tiny"):
        preview_submission(project, NullProgress(), "mine", suite="core")


# -- among the published rows


@pytest.fixture
def published(project: Project, tmp_path: Path) -> Project:
    """A checkout with verdict files of all submissions but `mine`, and evidence of only `mine` and the references."""
    (board,) = fake_boards(project, SHOWN)
    others = [slug for slug in ANSWERS if slug != "mine"]
    for slug in others:
        write_verdicts(project, board, slug)
        (project.root / "submissions" / slug).rename(tmp_path / slug)
    project.store_path.unlink()
    fake_boards(project, SHOWN)
    for slug in others:
        (tmp_path / slug).rename(project.root / "submissions" / slug)
    return project


def test_beside_published_rows_it_is_the_same_preview_and_nothing_of_others_is_executed(
    published: Project, project: Project, tmp_path: Path
) -> None:
    found = preview_submission(published, NullProgress(), "mine", published=True).preview
    with pytest.raises(MissingError, match="evidence is missing"):
        make_boards(published, NullProgress(), execute=False)
    fake_boards(project, SHOWN)
    assert found == previewed(project, "mine")


def test_its_own_published_row_is_not_beside_it(published: Project) -> None:
    """An update is compared with the other submissions, not with its own published row."""
    (board,) = make_boards(published, NullProgress(), submissions=["mine"], execute=False)
    write_verdicts(published, board, "mine")
    found = preview_submission(published, NullProgress(), "mine", published=True).preview
    assert found is not None
    assert "mine" not in {each.submission for each in found.rivals}
    assert found.ranked == 4


def test_who_awaits_their_verdicts_is_not_beside_it(project: Project) -> None:
    fake_boards(project, SHOWN)
    found = preview_submission(project, NullProgress(), "mine", published=True).preview
    assert found is not None
    assert (found.ranked, found.rivals) == (1, ())


# -- the command


def test_the_markdown_is_the_comment(project: Project) -> None:
    found = run(project, "mine", "--markdown")
    made = preview_submission(project, NullProgress(), "mine", suite="tiny")
    assert (found.exit_code, found.stdout) == (0, render_comment("mine", made.problems, made.preview))


def test_json_is_what_the_artifact_holds(project: Project, tmp_path: Path) -> None:
    out = tmp_path / "preview.json"
    assert run(project, "mine", "--json", "--out", str(out)).exit_code == 0
    assert read_preview(out.read_bytes(), "mine") == previewed(project, "mine")
    assert json.loads(run(project, "mine", "--json").stdout) == json.loads(out.read_text())


def test_people_read_it_without_markup(project: Project) -> None:
    found = run(project, "mine")
    assert found.exit_code == 0
    assert MARKER not in found.stdout
    assert "Execution accuracy 40.0 %" in found.stdout
    assert "\x1b]" not in found.stdout


def test_a_broken_one_ends_found_wanting_and_writes_no_json(project: Project, tmp_path: Path) -> None:
    (project.root / "submissions" / "mine" / "tiny.jsonl").write_text("{\n")
    out = tmp_path / "preview.json"
    found = run(project, "mine", "--json", "--out", str(out))
    assert (found.exit_code, found.stdout, out.exists()) == (1, "", False)
    assert "submissions/mine/tiny.jsonl:1: " in found.stderr
    markdown = run(project, "mine", "--markdown")
    assert markdown.exit_code == 1
    assert "to fix" in markdown.stdout


def test_a_failure_of_ours_ends_as_one(tmp_path: Path) -> None:
    """An infra-error sets exit code 3."""
    project = small_checkout(tmp_path, TASKS, {"mine": {"files-1": ["lost"]}})
    fake_boards(project, {**SHOWN, "lost": EngineError("gone")})
    found = run(project, "mine", "--markdown")
    assert found.exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine", "--json", "--markdown"), "expected one of them"),
        (("mni",), "no submission is named 'mni'"),
        (("mine", "--out", "/dev/null/preview.json"), "--out /dev/null/preview.json: "),
    ],
)
def test_wrong_use_is_said(project: Project, arguments: tuple[str, ...], words: str) -> None:
    found = run(project, *arguments)
    assert found.exit_code == 2
    assert words in found.stderr
