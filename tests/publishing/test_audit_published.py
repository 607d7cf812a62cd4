"""The audit of published verdicts: from published evidence, once a day, within its budget, and committed to main."""

from __future__ import annotations

import contextlib
import json
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.errors import FormatError, UsageError
from evaluator.pipeline.evidence.bundle import bundle_path, write_bundle
from evaluator.pipeline.grading.audit import AuditReport
from evaluator.pipeline.grading.audit_log import AUDITS, add_audits, read_audits
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.archive import ArchiveHeader, PublishArchive, read_archive, write_archive
from evaluator.pipeline.publishing.audit_published import daily_audit
from evaluator.pipeline.publishing.commit import commit_archive
from evaluator.pipeline.publishing.suite_context import open_publish_session
from evaluator.progress import NullProgress
from evaluator.records import Audit, AuditStratum, json_lines
from tests.command_runner import CommandRunner
from tests.doubles.model_server import JudgeServer, refuses, says
from tests.publishing.archives import archive, verdicts_at
from tests.publishing.hosted_checkout import HostedCheckout
from tests.publishing.judging_harness import Board, copy_of, shown

KEY = {"BASHBOARD_PANEL_KEY": "a-key-that-nobody-may-see"}
TODAY = datetime.now(UTC).date()


def a_record(day: date = TODAY, **fields: Any) -> Audit:
    stratum = AuditStratum(verdicts=4, sampled=2, decided=2, disagreed=1)
    values = {"format": 1, "day": day, "suite": "tiny", "suite_version": "1.0.0", "judge": "consensus", "seed": "a"}
    more = {"judge_version": 9, "models": ("m",), "votes": 1, "passes": stratum, "fails": stratum}
    return Audit.model_validate({**values, **more, **fields})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board with published verdicts: passes and fails of two submissions."""
    board = Board(tmp_path_factory.mktemp("published") / "board")
    board.publish()
    return board


@pytest.fixture
def board(done: Board, tmp_path: Path) -> Board:
    return copy_of(done, tmp_path / "board")


def set_up(board: Board, server: JudgeServer, **audit: Any) -> Project:
    """Write settings with a panel and an audit. Return the project, which reads its settings once."""
    panel = {"base_url": server.url, "models": ["one"], "votes": 1, "pause_s": 0.01}
    tables = {"panel": panel, "audit": {"sample": 10, "max_calls": 100, **audit}}
    text = "".join(
        f"[tool.bashboard.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )
    (board.root / "pyproject.toml").write_text(text)
    board.project = Project(board.root)
    return board.project


def audited(project: Project, environment: dict[str, str] | None = None) -> AuditReport | None:
    with open_publish_session(project, NullProgress()) as session:
        environ = KEY if environment is None else environment
        return daily_audit(project, NullProgress(), session.store, environ)


def test_published_verdicts_are_audited_from_published_evidence(board: Board) -> None:
    """The audit finds the two passes and the three fails that execution decided, and executes nothing."""
    executed = len(board.executed)
    with JudgeServer(says("no")) as server:
        report = audited(set_up(board, server))
    assert report is not None
    (result,) = report.results
    assert len(board.executed) == executed
    strata = (result.audit.passes, result.audit.fails)
    outcomes = [outcome for slug in board.answers for of in board.outcomes(slug).values() for outcome in of]
    assert sum(stratum.sampled for stratum in strata) == len(server.asked) > 0
    assert result.audit.passes.disagreed == result.audit.passes.decided == result.audit.passes.verdicts
    assert result.audit.fails.disagreed == 0
    assert result.audit.day in (TODAY, datetime.now(UTC).date())
    assert sum(stratum.verdicts for stratum in strata) <= len(outcomes)


@pytest.mark.parametrize("missing", ["key", "audit"])
def test_without_a_key_or_a_budget_there_is_no_audit(board: Board, missing: str) -> None:
    with JudgeServer(says("no")) as server:
        project = set_up(board, server)
        if missing == "audit":
            path = board.root / "pyproject.toml"
            path.write_text(path.read_text().partition("[tool.bashboard.audit]")[0])
            project = Project(board.root)
        assert audited(project, {} if missing == "key" else None) is None
    assert server.asked == []


def test_an_audit_needs_a_limit_of_its_cost(board: Board) -> None:
    (board.root / "pyproject.toml").write_text("[tool.bashboard.audit]\nsample = 10\n")
    with pytest.raises(UsageError, match="set max_usd, max_calls or both"):
        _ = Project(board.root).settings


def test_a_suite_is_audited_once_a_day(board: Board) -> None:
    with JudgeServer(says("no")) as server:
        project = set_up(board, server)
        add_audits(board.root / AUDITS, [a_record(date(2020, 1, 2))])
        first = audited(project)
        assert first is not None
        assert len(first.results) == 1
        add_audits(board.root / AUDITS, [result.audit for result in first.results])
        asked = len(server.asked)
        again = audited(project)
        assert again is not None
        assert (again.results, len(server.asked)) == ((), asked)


def test_the_budget_of_an_audit_is_its_own(board: Board) -> None:
    with JudgeServer(says("no")) as server:
        report = audited(set_up(board, server, max_calls=1))
    assert report is not None
    assert len(server.asked) == 1
    assert "--max-calls" in report.panel


def test_a_failed_audit_is_reported_and_prevents_no_verdict(board: Board) -> None:
    """The panel's server refuses the key, or the panel has no prices for a limit in dollars."""
    with JudgeServer(refuses(401)) as server:
        refused = audited(set_up(board, server))
        unpriced = audited(set_up(board, server, max_usd=1.0))
    assert refused is not None
    assert unpriced is not None
    assert (refused.results, refused.failed) == ((), True)
    assert (unpriced.results, unpriced.failed) == ((), True)
    assert "needs the prices of one" in unpriced.panel


def test_forged_evidence_is_not_shown_with_another_submission(board: Board) -> None:
    """The bundle of bob contains evidence of a command that only alice has, and of a command that both have."""
    forged = shown([*board.keys("mine"), *board.keys("shared")], "FORGED\n")
    path = board.fetched / bundle_path("tiny", "bob")
    path.write_bytes(write_bundle(board.bundle("bob", forged)))
    with JudgeServer(says("yes")) as server:
        report = audited(set_up(board, server))
    assert report is not None
    (result,) = report.results
    own = {each.verdict.command.decode() for each in result.audited if each.verdict.submission == "alice"}
    questions = [json.loads(asked.messages[1]["content"].splitlines()[1]) for asked in server.asked]
    shown_as_forged = {question["candidate"] for question in questions if "FORGED" in json.dumps(question)}
    assert "mine" in own
    assert shown_as_forged.isdisjoint(own)


def judge(board: Board, *words: str) -> tuple[int, str, Path]:
    """Run the step of the publish workflow, and return its exit code, its output and the archive."""
    out, folder = board.root.with_name("published.tar.gz"), board.root.with_name("evidence")
    folder.mkdir(exist_ok=True)
    with contextlib.chdir(board.root):
        found = CommandRunner().invoke(app, ["publish", "judge", str(folder), "--out", str(out), *words], env=KEY)
    return found.exit_code, found.output, out


def test_the_workflows_step_packs_the_audit_and_lists_disagreements(board: Board, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    with JudgeServer(says("no", "</td><script>alert(1)</script>")) as server:
        set_up(board, server)
        with contextlib.chdir(board.root):
            code, output, out = judge(board)
            environ = {**KEY, "GITHUB_STEP_SUMMARY": str(summary)}
            words = [
                "publish",
                "judge",
                str(board.root.with_name("evidence")),
                "--out",
                str(out),
                "--summary",
                "--json",
            ]
            found = CommandRunner().invoke(app, words, env=environ)
    assert code == 0
    assert "tiny 1.0.0, consensus" in output
    told = json.loads(found.stdout)
    (recorded,) = read_archive(out, told["published"]).header.audits
    assert recorded.suite == "tiny"
    assert recorded.day in (TODAY, datetime.now(UTC).date())
    assert told["anything"] is True
    assert "### Audit of verdicts that execution alone decided" in summary.read_text()
    assert "alice on tiny" in summary.read_text().replace("`", "")
    assert "<script>" in summary.read_text()
    assert "<script>" not in re.sub(r"(`+)(?!`).*?\1", "", summary.read_text())  # only inside of code spans


def test_a_rescore_makes_no_audit(board: Board) -> None:
    with JudgeServer(says("no")) as server:
        set_up(board, server)
        code, output, _ = judge(board, "--stale")
    assert (code, server.asked) == (0, [])
    assert "the panel disagrees" not in output


def by_hand(board: Board) -> Result:
    with contextlib.chdir(board.root):
        words = ["judges", "audit", "--published", "--publish", "--json"]
        return CommandRunner().invoke(app, words, env=KEY, catch_exceptions=False)


def test_a_maintainer_audits_published_verdicts_by_hand(board: Board) -> None:
    executed = len(board.executed)
    with JudgeServer(says("no")) as server:
        set_up(board, server)
        found = by_hand(board)
    (told,) = json.loads(found.stdout)["audits"]
    assert {each["submission"] for each in told["disagreements"]} <= set(board.answers)
    assert [audit.rate for audit in read_audits(board.root / AUDITS)] == [told["rate"]]
    assert told["rate"] == pytest.approx(
        told["passes"]["verdicts"] / (told["passes"]["verdicts"] + told["fails"]["verdicts"])
    )
    assert len(board.executed) == executed


def test_without_fetched_evidence_an_audit_names_the_command_that_fetches_it(board: Board) -> None:
    for path in board.project.store_path.parent.glob("store.sqlite*"):
        path.unlink()
    with JudgeServer(says("no")) as server:
        set_up(board, server)
        found = by_hand(board)
    assert (found.exit_code, server.asked) == (3, [])
    assert "run: bashboard fetch" in found.stderr


# -- the commit


def recorded(hosted: HostedCheckout) -> list[Audit]:
    path = hosted.root / "fetched-audits.jsonl"
    path.write_bytes(hosted.content(AUDITS.as_posix()) or b"")
    return list(read_audits(path))


def test_an_audit_is_added_to_the_record_on_main(hosted: HostedCheckout) -> None:
    """The record on main may be newer than that of the checkout."""
    earlier, later = a_record(date(2020, 1, 2)), a_record()
    hosted.push({AUDITS.as_posix(): json_lines([earlier]).encode()})
    made = archive(hosted, audits=(later,))
    done = commit_archive(hosted.project, hosted.connect(), made)
    assert recorded(hosted) == [earlier, later]
    assert hosted.content(verdicts_at("first")) == made.files[verdicts_at("first")]
    again = commit_archive(hosted.project, hosted.connect(), made)
    assert again.commit == done.commit == hosted.head()


def test_an_audit_alone_is_a_commit_of_its_own(hosted: HostedCheckout) -> None:
    made = PublishArchive(ArchiveHeader(format=1, audits=(a_record(),)))
    done = commit_archive(hosted.project, hosted.connect(), made)
    assert recorded(hosted) == [a_record()]
    message = hosted.board.git.run("log", "-1", "--format=%B", done.commit).decode().strip()
    assert message == "Record an audit of published verdicts"


def test_a_broken_record_on_main_is_not_replaced(hosted: HostedCheckout) -> None:
    hosted.push({AUDITS.as_posix(): b"not a record\n"})
    head = hosted.head()
    with pytest.raises(FormatError, match=r"audits\.jsonl:1"):
        commit_archive(hosted.project, hosted.connect(), archive(hosted, audits=(a_record(),)))
    assert hosted.head() == head


def test_an_archive_keeps_its_audits(tmp_path: Path) -> None:
    path = tmp_path / "published.tar.gz"
    digest = write_archive(PublishArchive(ArchiveHeader(format=1, audits=(a_record(),))), path)
    assert read_archive(path, digest).header.audits == (a_record(),)
