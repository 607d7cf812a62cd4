"""Tests of the plan of a publish run, of the verification of published verdicts, and of `publish plan` and `verify`."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.pipeline.evidence.bundle import bundle_path, read_bundle
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes
from evaluator.pipeline.publishing.archive import read_archive
from evaluator.pipeline.publishing.plan import MOST_AT_ONCE, PublishPlan
from evaluator.pipeline.publishing.status import PendingWork
from evaluator.pipeline.publishing.summaries import judged_markdown, plan_markdown
from evaluator.records import Outcome, PublishedVerdict, RunMetrics, SideEffect, Step, digest_of
from evaluator.testing.checkouts import write_submission
from tests.command_runner import CommandRunner
from tests.doubles.model_server import JudgeServer, refuses, says
from tests.publishing.judging_harness import OTHER, WITH_KEY, Board, asking, copy_of

NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock", "COLUMNS": "100"}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Board:
    board = Board(tmp_path_factory.mktemp("published") / "board")
    board.publish()
    return board


@pytest.fixture
def board(done: Board, tmp_path: Path) -> Board:
    """A board with published verdicts."""
    return copy_of(done, tmp_path / "board")


def run(board: Board, *words: str, **environment: str) -> Result:
    with contextlib.chdir(board.root):
        return CommandRunner().invoke(app, ["publish", *words], env={**NOWHERE, **environment})


def edit(board: Board, slug: str, **fields: object) -> None:
    """Replace fields of the first line in a submission's verdict file."""
    file = board.file(slug)
    line = PublishedVerdict.model_validate(file.verdicts[0].model_dump() | fields)
    board.path(slug).write_bytes(verdict_bytes(VerdictFile(file.header, (line, *file.verdicts[1:]))))


# -- the plan


def plan_of(*works: PendingWork, stale: bool = False) -> PublishPlan:
    return PublishPlan(stale, works, (), 0, 0, {}, {"tiny": "f" * 64}, {})


def test_one_run_executes_as_many_as_a_matrix_holds() -> None:
    """A run executes no more submissions than a job matrix may have. The plan reports the remaining submissions."""
    works = [PendingWork(f"s-{number:03}", "tiny", 1, new=("files-1",), executions=1) for number in range(300)]
    plan = plan_of(*works)
    assert (len(plan.submissions), len(plan.left_over)) == (MOST_AT_ONCE, 300 - MOST_AT_ONCE)
    assert set(plan.submissions).isdisjoint(plan.left_over)
    assert f"{300 - MOST_AT_ONCE} submissions wait for the next" in plan_markdown(plan)


@pytest.mark.parametrize(("prices", "usd"), [((0.5, 0.25), 0.75), ((0.5, None), None)], ids=["known", "not known"])
def test_what_the_panel_would_cost_is_added_up(prices: tuple[float | None, ...], usd: float | None) -> None:
    """The plan adds up the costs of the panel. If one price is unknown, the sum is unknown."""
    plan = plan_of(*(PendingWork("a", "tiny", 1, causes=("judge",), panel=PanelPlan(2, 3, each)) for each in prices))
    assert plan.panel == PanelPlan(4, 6, usd)


def test_executions_are_what_has_no_evidence_anywhere(board: Board) -> None:
    """The plan counts only executions without evidence: two new commands in their first variant.

    The third command is a reference, whose evidence exists.
    """
    write_submission(board.root, "carol", {"files-1": ["new", "right"], "files-2": ["newer"]})
    (work,) = board.plan().due
    assert (work.submission, work.new, work.executions) == ("carol", ("files-1", "files-2", "files-1"), 2)


def test_a_name_that_is_none_is_wrong_use(board: Board) -> None:
    shown = run(board, "plan", "alic")
    assert (shown.exit_code, "did you mean alice" in shown.output) == (2, True)


def test_the_plan_as_a_jobs_outputs_and_summary(board: Board, tmp_path: Path) -> None:
    """The plan writes the job matrix as a JSON list, and shows text of a submission as code in the summary."""
    (board.path("bob").parent / "submission.toml").write_text("x = '<img src=x>'\n")
    write_submission(board.root, "carol", {"files-1": ["new"]})
    outputs, summary = tmp_path / "outputs", tmp_path / "summary"
    done = run(board, "plan", "--outputs", "--summary", GITHUB_OUTPUT=str(outputs), GITHUB_STEP_SUMMARY=str(summary))
    assert done.exit_code == 0, done.output
    lines = outputs.read_text().splitlines()
    assert '["carol"]' in lines
    assert "true" in lines
    assert "Publish: 1 submission due, 1 submission to execute" in summary.read_text()
    assert "`bob`" in summary.read_text()


def test_a_plan_says_what_waits_and_why(board: Board) -> None:
    board.fingerprint = OTHER
    board.prepare()
    shown = run(board, "plan")
    assert "nothing to do" in shown.output
    assert f"waits for a rescore: alice on tiny: environment: {'f' * 12}, today {'e' * 12}" in shown.output
    found = json.loads(run(board, "plan", "--stale", "--json").stdout)
    assert (found["submissions"], found["rescore"]) == (["alice", "bob"], True)
    assert found["executions"] == 4  # the first candidates of two tasks of Alice and of Bob, in their first variant


def test_shares_of_a_rescore_are_all_of_it(board: Board) -> None:
    """The shards of a rescore together cover exactly the commands of a rescore without shards."""

    def stale(*words: str) -> list[str]:
        with contextlib.chdir(board.root):
            done = CommandRunner().invoke(app, ["rescore", "--plan", "--json", *words], env=NOWHERE)
        assert done.exit_code == 0, done.output
        return sorted(f"{each['task']} {each['command']}" for each in json.loads(done.stdout)["tiny"]["stale"])

    first, second = stale("--shard", "1/2"), stale("--shard", "2/2")
    assert first == ["files-1 mine", "files-1 shared", "files-2 wrong"]
    assert sorted({*first, *second}) == stale()


def test_a_share_without_a_submission_does_nothing(board: Board) -> None:
    """A shard without a submission does nothing. This occurs if there are more machines than submissions."""
    with contextlib.chdir(board.root):
        done = CommandRunner().invoke(app, ["rescore", "--shard", "3/3"], env=NOWHERE)
    assert (done.exit_code, done.output) == (0, "bashboard: no submission is in shard 3/3\n")


# -- verification


def test_published_verdicts_follow_from_their_evidence(board: Board) -> None:
    """`publish verify` finds that the published verdicts follow from the published evidence, and needs no engine."""
    fetched, references = board.fetched, board.project.store_path
    shown = run(board, "verify")
    assert shown.exit_code == 0, shown.output
    assert "alice on tiny: 3 verdicts follow from their evidence" in shown.output
    assert fetched.is_dir()
    assert references.is_file()


@pytest.mark.parametrize(
    "fields",
    [
        {"finding": {"outcome": "pass", "step": "equal"}},
        {"finding": {"outcome": "undecided", "reason": "who knows"}},
        {"run": None},
        {"run": RunMetrics(valid=False, runnable=False, exit_zero=False, clean_stderr=False)},
        {"panel": None, "finding": {"outcome": "fail", "step": "adjudication", "reason": "a maintainer ruled so: no"}},
    ],
    ids=["passes", "undecided", "no run", "another run", "a ruling that is none"],
)
def test_a_line_that_does_not_follow_is_named_at_its_place(board: Board, fields: dict[str, object]) -> None:
    edit(board, "alice", **fields)
    shown = run(board, "verify")
    assert shown.exit_code == 1
    assert "submissions/alice/tiny.verdicts.jsonl:2: " in shown.output
    assert "bob on tiny: 3 verdicts follow" in shown.output


@pytest.mark.parametrize(
    "fields",
    [{"side_effect": SideEffect.DESTROYS_ELSEWHERE}, {"side_effect": None}, {"unknown_program": True}],
    ids=["another side effect", "no side effect", "another program"],
)
def test_a_line_with_another_effect_is_named(board: Board, fields: dict[str, object]) -> None:
    """The comparison of a command's effects with those of the references follows from the evidence, too."""
    measured = board.file("alice").verdicts[0].run
    assert measured is not None
    edit(board, "alice", run=measured.model_copy(update=fields))
    (found,) = board.verify("alice")
    assert [problem.line for problem in found.problems] == [2]
    assert "run: not what the evidence gives" in found.problems[0].message


def test_a_line_of_another_key_awaits_its_verdict(board: Board) -> None:
    """A line with an outdated key counts as awaiting a verdict and not as a fault.

    A ruling or a mark may have changed the key, and the next run publishes the new verdict.
    """
    edit(board, "alice", key=digest_of(b"another"))
    (found,) = board.verify("alice")
    assert (found.held, found.problems, found.awaiting) == (2, (), 1)


def test_lines_without_evidence_cannot_be_told(board: Board) -> None:
    shutil.rmtree(board.fetched)
    (found,) = board.verify("alice")
    assert (found.held, found.unknown, found.problems) == (0, 3, ())


def test_another_judges_verdicts_cannot_be_told(board: Board) -> None:
    file = board.file("alice")
    header = file.header.model_copy(update={"judge_version": 0})
    board.path("alice").write_bytes(verdict_bytes(VerdictFile(header, file.verdicts)))
    (found,) = board.verify("alice")
    assert (found.held, found.unknown) == (0, 3)
    assert found.why.startswith("judge: consensus 0, today consensus")


def test_a_file_of_an_earlier_format_is_made_again(board: Board) -> None:
    """Its lines judge candidates behind a pass, and their run metrics describe other runs."""
    before = board.path("alice").read_bytes()
    board.path("alice").write_bytes(before.replace(b'"format":4', b'"format":3', 1))
    (found,) = board.verify("alice")
    assert "format: Input should be 4" in found.problems[0].message
    (work,) = board.plan().due
    assert (work.submission, work.executions, "format" in work.fault) == ("alice", 0, True)
    board.publish()
    assert board.path("alice").read_bytes() == before


def test_a_file_that_does_not_read_is_a_fault(board: Board) -> None:
    board.path("alice").write_bytes(b"<<<<<<<\n")
    shown = run(board, "verify", "--annotate", "alice")
    assert shown.exit_code == 1
    assert "::error file=submissions/alice/tiny.verdicts.jsonl,line=1::" in shown.output


def test_faults_in_a_job_are_no_commands(board: Board) -> None:
    """The job's runner does not interpret the text of a finding as a command."""
    edit(board, "alice", finding={"outcome": "pass", "reason": "\n::add-mask::x"})
    shown = run(board, "verify", GITHUB_ACTIONS="true")
    assert "\n::add-mask::" not in shown.output


# -- the command `publish judge`


def test_the_judges_command_writes_what_is_to_be_committed(board: Board, tmp_path: Path) -> None:
    """`publish judge` writes the archive, and gives its digest in the JSON output and as an output of the job step."""
    write_submission(board.root, "carol", {"files-1": ["right"], "files-2": []})
    out, outputs = tmp_path / "published.tar.gz", tmp_path / "outputs"
    (tmp_path / "evidence").mkdir()
    words = ("judge", str(tmp_path / "evidence"), "--out", str(out), "--outputs", "--json")
    done = run(board, *words, GITHUB_OUTPUT=str(outputs))
    assert done.exit_code == 0, done.output
    digest = json.loads(done.stdout)["published"]
    assert digest in outputs.read_text().splitlines()
    assert list(read_archive(out, digest).files) == ["submissions/carol/tiny.verdicts.jsonl"]


def test_an_image_that_is_no_digest_is_wrong_use(board: Board, tmp_path: Path) -> None:
    """An image digest with a wrong format is refused. For example, the output of a failed job is empty."""
    done = run(board, "judge", str(tmp_path), "--out", str(tmp_path / "out"), "--image", "")
    assert (done.exit_code, "64 hexadecimal" in done.output) == (2, True)


def test_what_could_not_be_judged_is_told_and_fails_nobody(board: Board, tmp_path: Path) -> None:
    """A submission without evidence is reported, and the run succeeds and commits the other submissions."""
    write_submission(board.root, "carol", {"files-1": ["new"], "files-2": []})
    (tmp_path / "evidence").mkdir()
    summary = tmp_path / "summary"
    done = run(
        board,
        *("judge", str(tmp_path / "evidence"), "--out", str(tmp_path / "out"), "--summary"),
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.exit_code == 0, done.output
    assert "infra-error, 1 command: its evidence is not at hand" in done.output
    assert "failures of ours, never scores" in summary.read_text()


# -- the panel


def test_what_the_panel_decides_is_published_with_its_replies_and_checked_without_it(tmp_path: Path) -> None:
    """A verdict of the panel is published with the panel's replies, so that it can be verified without the panel.

    The panel is asked only once about a command that two submissions contain.
    """
    with JudgeServer(says("yes")) as server:
        board = asking(tmp_path, server.url)
        board.prepare()
        board.execute()
        judged = board.judge(use=WITH_KEY)
        asked = len(server.asked)
        board.land(judged.archive)
    assert asked == 1
    (line,) = [each for each in board.file("bob").verdicts if each.task == "files-1"]
    assert (line.finding.outcome, line.finding.step) == (Outcome.PASS, Step.PANEL)
    assert line.panel is not None
    data = (board.fetched / bundle_path("tiny", "bob")).read_bytes()
    assert len(read_bundle(data, suite="tiny", submission="bob", expected=None).replies) == 1
    (board.root / ".bashboard" / "panel.jsonl").unlink()
    assert [(each.held, each.problems) for each in board.verify()] == [(2, ()), (2, ())]


def test_without_a_key_everything_but_the_panels_part_is_published(tmp_path: Path) -> None:
    """Without a panel key, the other verdicts are published, and the missing panel decisions are reported.

    The plan of a rescore lists the commands for the panel and the number of calls.
    """
    board = asking(tmp_path, "http://127.0.0.1:9/v1")
    judged = board.publish()
    assert judged.panel == "execution only: the panel was not asked"
    assert "Execution only: the panel was not asked." in judged_markdown(judged)
    assert board.outcomes("alice") == {"files-1": ["undecided"], "files-2": ["pass"]}
    assert not board.plan().due
    plan = board.plan(stale=True)
    assert plan.submissions == []
    assert plan.panel is not None
    assert (plan.panel.undecided, plan.panel.calls) == (2, 2)
    assert "undecided commands that it was not asked about" in plan.due[0].causes[0]


def test_a_reply_bought_for_one_moves_nothing_of_another_that_stands(tmp_path: Path) -> None:
    """A panel reply for Alice's submission does not change Bob's published verdict on the same command.

    Bob's verdict is updated by the next rescore.
    """
    with JudgeServer(says("yes")) as server:
        board = asking(tmp_path, server.url)
        board.publish()
        before = board.path("bob").read_bytes()
        board.path("alice").unlink()
        board.land(board.judge(use=WITH_KEY).archive)
        assert board.outcomes("alice")["files-1"] == ["pass"]
        assert not board.plan().due
        assert board.path("bob").read_bytes() == before
        board.land(board.judge(use=WITH_KEY, stale=True).archive)
        assert board.outcomes("bob")["files-1"] == ["pass"]
        assert len(server.asked) == 1


def test_a_panel_that_fails_leaves_undecided_what_it_was_asked(tmp_path: Path) -> None:
    """If the panel fails, its commands are undecided.

    The cause is reported but not published, because a published line contains only reproducible facts.
    """
    with JudgeServer(refuses(500)) as server:
        board = asking(tmp_path, server.url)
        board.prepare()
        board.execute()
        judged = board.judge(use=WITH_KEY)
        board.land(judged.archive)
    assert b"500" not in board.path("alice").read_bytes()
    assert [each.problems for each in board.verify()] == [(), ()]
    assert board.outcomes("alice")["files-1"] == ["undecided"]


def test_another_panel_makes_what_it_decided_stale(tmp_path: Path) -> None:
    """A change of the panel's models, votes or prompt makes its verdicts stale until a rescore, as a new judge does."""
    with JudgeServer(says("yes")) as server:
        board = asking(tmp_path, server.url)
        board.prepare()
        board.execute()
        board.land(board.judge(use=WITH_KEY).archive)
        settings = board.root / "pyproject.toml"
        settings.write_text(settings.read_text().replace('["one"]', '["another"]'))
        board.project = type(board.project)(board.root)
        plan = board.plan()
        assert not plan.due
        assert [each.causes[0].partition(":")[0] for each in plan.waiting] == ["panel", "panel"]
        board.land(board.judge(use=WITH_KEY, stale=True).archive)
        assert not board.plan(stale=True).due
        assert {each["model"] for each in (request.body for request in server.asked)} == {"one", "another"}
