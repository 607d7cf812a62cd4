"""Tests of judging: the evidence of a submission decides only its own row, and equal evidence gives equal bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from evaluator.errors import InfraError, MissingError, UsageError
from evaluator.judges.panel.reply_cache import Reply
from evaluator.pipeline.evidence.bundle import bundle_path, read_bundle, write_bundle
from evaluator.pipeline.grading.adjudications import adjudicate
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes
from evaluator.pipeline.publishing.archive import blob_name
from evaluator.pipeline.publishing.judge_pending import judge_pending
from evaluator.pipeline.publishing.suite_context import open_publish_session
from evaluator.progress import NullProgress
from evaluator.records import Evidence, Outcome, Ruling, Step
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store
from evaluator.testing.checkouts import write_submission, write_suite
from evaluator.testing.executor import RequestedExecution, Shows
from tests.publishing.judging_harness import ANSWERS, OTHER, Board, copy_of, play, shown


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board with published verdicts."""
    board = Board(tmp_path_factory.mktemp("published") / "board")
    board.publish()
    return board


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board on which the references and Bob's submission are executed, and nothing is judged."""
    board = Board(tmp_path_factory.mktemp("executed") / "board")
    board.prepare()
    board.execute("bob")
    return board


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board on which nothing is executed."""
    return Board(tmp_path / "board")


@pytest.fixture
def published(done: Board, tmp_path: Path) -> Board:
    return copy_of(done, tmp_path / "published")


@pytest.fixture
def bobs(executed: Board, tmp_path: Path) -> Board:
    """A board with the collected evidence of the references and of Bob. Alice's evidence is not collected yet."""
    board = copy_of(executed, tmp_path / "bobs")
    shutil.copytree(executed.collected, board.collected)
    return board


def test_what_is_new_gets_verdicts_and_then_nothing_is_due(board: Board) -> None:
    """The first run publishes verdicts from fake executions. A second run has nothing to execute, judge or commit."""
    first = board.publish()
    assert first.anything
    assert board.outcomes("alice") == {"files-1": ["fail", "pass"], "files-2": ["fail"]}
    assert board.outcomes("bob") == {"files-1": ["fail", "pass"], "files-2": ["pass"]}
    executed = len(board.executed)
    again = board.publish()
    assert not again.anything
    assert len(board.executed) == executed


def test_two_runs_make_the_same_bytes(board: Board, tmp_path: Path) -> None:
    """Two runs publish the same bytes, independent of the folder, the time and the order of executions."""
    other = Board(tmp_path / "elsewhere")
    for each in (board, other):
        each.prepare()
    board.execute("alice", "bob")
    other.execute("bob", "alice")
    files, others = board.judge().archive, other.judge().archive
    assert dict(files.files) == dict(others.files)
    assert dict(files.evidence) == dict(others.evidence)


def test_no_engine_is_looked_for(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging needs no engine: it gives all verdicts although the engine's address is invalid."""
    board.prepare()
    board.execute()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert board.judge().missing == 0


def test_the_archive_names_what_was_judged(board: Board) -> None:
    """The archive has the blob names of a submission's files, so a later change of these files is detectable."""
    board.prepare()
    board.execute()
    (folder,) = [path for path in board.project.submission_folders() if path.name == "alice"]
    judged = board.judge().archive.header.judged["alice"]
    assert judged == {
        "submissions/alice/submission.toml": blob_name((folder / "submission.toml").read_bytes()),
        "submissions/alice/tiny.jsonl": blob_name((folder / "tiny.jsonl").read_bytes()),
        "submissions/alice/tiny.verdicts.jsonl": None,
    }


# -- forged evidence


def honest(tmp_path: Path) -> tuple[bytes, bytes]:
    """Return Bob's verdicts and the bundle of the references from a board without forged evidence."""
    board = Board(tmp_path / "honest")
    board.prepare()
    board.execute()
    archive = board.judge().archive
    return archive.files["submissions/bob/tiny.verdicts.jsonl"], archive.evidence["references/tiny.jsonl.gz"]


@pytest.mark.parametrize(
    ("command", "task"),
    [("shared", "files-1"), ("his own", "files-2"), ("right", "files-1"), ("right too", "files-1")],
    ids=["that both gave", "of another", "a reference that another gave", "a reference"],
)
def test_forged_evidence_moves_its_own_row_alone(bobs: Board, tmp_path: Path, command: str, task: str) -> None:
    """Forged evidence in Alice's bundle changes neither Bob's verdicts nor the evidence of the references.

    This holds for every evidence key in the forged bundle.
    """
    verdicts, references = honest(tmp_path)
    bobs.collect(bobs.bundle("alice", shown(bobs.keys(command, task), "forged\n")))
    archive = bobs.judge().archive
    assert archive.files["submissions/bob/tiny.verdicts.jsonl"] == verdicts
    assert archive.evidence["references/tiny.jsonl.gz"] == references


def test_forged_evidence_that_was_published_once_moves_nobody_else(published: Board) -> None:
    """Forged evidence that an earlier run published in Alice's bundle does not change Bob's verdicts.

    The evidence in her bundle is used for her submission only.
    """
    before = published.path("bob").read_bytes()
    forged = shown([*published.keys("shared"), *published.keys("right"), *published.keys("his own", "files-2")], "x\n")
    data = write_bundle(published.bundle("alice", forged))
    (published.fetched / bundle_path("tiny", "alice")).write_bytes(data)
    published.path("bob").unlink()
    archive = published.judge().archive
    assert archive.files["submissions/bob/tiny.verdicts.jsonl"] == before
    assert "references/tiny.jsonl.gz" not in archive.evidence


def test_who_forges_all_evidence_passes_alone(bobs: Board, tmp_path: Path) -> None:
    """A submission that escapes from the sandbox and forges all its evidence passes, but changes no other row."""
    verdicts, _ = honest(tmp_path)
    forged: dict[RunKey, Evidence] = {}
    for task, commands in ANSWERS["alice"].items():
        for command in commands:
            forged |= shown(bobs.keys(command, task), "yes\n")
    bobs.collect(bobs.bundle("alice", forged))
    bobs.land(bobs.judge().archive)
    assert bobs.outcomes("alice") == {"files-1": ["not-run", "pass"], "files-2": ["pass"]}
    assert bobs.path("bob").read_bytes() == verdicts


def test_replies_that_a_job_brings_are_refused(bobs: Board) -> None:
    """A bundle with panel replies from a submission's job is refused, and the submission gets no verdict.

    Such a job does not query the panel, so its replies are forged.
    """
    vote = Reply(format=1, evidence="a" * 64, judge="consensus", model="m", prompt="b" * 64, seed=1, text="yes")
    bundle = bobs.bundle("alice", shown(bobs.keys("mine"), "yes\n"))
    bobs.collect(type(bundle)(bundle.header, bundle.evidence, (vote,)))
    judged = bobs.judge()
    assert "reply" in judged.faults["alice"][0]
    assert list(judged.archive.files) == ["submissions/bob/tiny.verdicts.jsonl"]


def test_evidence_of_another_environment_is_refused(bobs: Board) -> None:
    """A bundle from another environment is refused, and the verdicts of other submissions are published."""
    bobs.collect(bobs.bundle("alice", shown(bobs.keys("mine"), "yes\n"), fingerprint=OTHER))
    judged = bobs.judge()
    assert "fingerprint" in judged.faults["alice"][0]
    assert list(judged.archive.files) == ["submissions/bob/tiny.verdicts.jsonl"]
    assert {row.work.submission: sum(row.missing.values()) for row in judged.rows} == {"alice": 3, "bob": 0}


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08"], ids=["empty", "text", "cut off"])
def test_a_bundle_that_does_not_read_keeps_nobody_else_back(bobs: Board, content: bytes) -> None:
    path = bobs.collected / bundle_path("tiny", "alice")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    judged = bobs.judge()
    assert "alice" in judged.faults
    assert list(judged.archive.files) == ["submissions/bob/tiny.verdicts.jsonl"]


# -- missing evidence


def test_what_has_no_evidence_gets_no_verdict_and_the_next_run_tries_again(board: Board) -> None:
    """A command whose execution failed with an infrastructure error gets no verdict, and the next run executes it
    again.
    """

    def failing(call: RequestedExecution) -> Shows:
        return InfraError("the engine went away") if call.command == "mine" else play(call)

    board.shows = failing
    first = board.publish()
    assert first.missing == 1
    assert board.outcomes("alice") == {"files-1": ["fail"], "files-2": ["fail"]}
    assert board.plan().submissions == ["alice"]
    board.shows = play
    assert board.publish().missing == 0
    assert board.outcomes("alice") == {"files-1": ["fail", "pass"], "files-2": ["fail"]}


def test_verdicts_that_stand_do_not_move_because_something_was_executed_again(published: Board) -> None:
    """A published verdict does not change if its command is executed again with another result.

    Published evidence takes precedence over newly collected evidence.
    """
    before = published.file("alice").by_command
    write_submission(published.root, "alice", {"files-1": ["shared", "mine", "one more"], "files-2": ["wrong"]})
    published.shows = lambda call: "no\n" if call.command == "mine" else play(call)
    published.publish()
    after = published.file("alice").by_command
    assert {place: after[place] for place in before} == dict(before)
    assert len(after) == len(before) + 1


def test_without_the_references_nothing_is_judged(board: Board) -> None:
    """Without the evidence of the references, no verdict is given."""
    board.prepare()
    board.execute()
    board.project.store_path.unlink()
    with closing(Store(board.project.store_path)) as store:
        store.set_fingerprint(image_reference(board.project.suite("tiny").manifest), board.fingerprint)
    judged = board.judge()
    assert not judged.archive.files
    assert judged.missing == 6


def test_an_unknown_environment_is_said_with_the_line_to_type(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(MissingError, match="bashboard fetch"):
        board.judge()


def test_a_folder_that_is_not_there_is_wrong_use(board: Board) -> None:
    board.prepare()
    with (
        open_publish_session(board.project, NullProgress()) as session,
        pytest.raises(UsageError, match="no such folder"),
    ):
        judge_pending(board.project, NullProgress(), session.store, board.root / "nowhere")


# -- rulings, edited lines and removed submissions


def test_a_ruling_changes_its_verdicts_without_any_execution(published: Board) -> None:
    """A ruling on a command changes its verdicts for all submissions in the next run, from published evidence."""
    executed = len(published.executed)
    adjudicate(
        published.project,
        suite="tiny",
        submission="bob",
        task="files-1",
        ruling=Ruling.PASS,
        because="does the same",
    )
    plan = published.plan()
    assert {work.submission: work.changed for work in plan.due} == {"alice": ("files-1",), "bob": ("files-1",)}
    assert plan.submissions == []
    published.publish()
    assert len(published.executed) == executed
    for slug in ("alice", "bob"):
        steps = Counter(each.finding.step for each in published.file(slug).verdicts if each.task == "files-1")
        assert steps[Step.ADJUDICATION] == 1


def edited(board: Board, slug: str, **finding: object) -> bytes:
    """Change the finding of the first line by hand, but not its key. Return the original file."""
    file, before = board.file(slug), board.path(slug).read_bytes()
    first = file.verdicts[0]
    line = first.model_copy(update={"finding": first.finding.model_copy(update=finding)})
    board.path(slug).write_bytes(verdict_bytes(VerdictFile(file.header, (line, *file.verdicts[1:]))))
    return before


@pytest.mark.parametrize(
    "finding",
    [{"outcome": Outcome.UNDECIDED}, {"reason": "because"}, {"collateral": True}],
    ids=lambda each: str(*each),
)
def test_a_line_edited_by_hand_is_found_and_put_right(published: Board, finding: dict[str, object]) -> None:
    """A line that was edited by hand is found and corrected, because it does not follow from the published evidence.

    The key of the line does not show the change.
    """
    before = edited(published, "alice", **finding)
    (work,) = published.plan().due
    assert (work.submission, [each.line for each in work.edited], work.executions) == ("alice", [2], 0)
    judged = published.judge()
    assert dict(judged.archive.files) == {"submissions/alice/tiny.verdicts.jsonl": before}


def test_a_line_edited_together_with_a_new_command_is_put_right_and_told(published: Board) -> None:
    """A line that was edited together with a new command is corrected and reported.

    Therefore a pull request that adds a prediction cannot change another verdict.
    """
    before = published.file("alice").verdicts
    edited(published, "alice", outcome=Outcome.UNDECIDED)
    write_submission(published.root, "alice", {"files-1": ["shared", "mine", "more"], "files-2": ["wrong"]})
    (row,) = published.publish().rows
    assert [each.line for each in row.work.edited] == [2]
    assert set(before) < set(published.file("alice").verdicts)


@pytest.mark.parametrize("content", [b"", b"{}\n", b"<<<<<<< HEAD\n"], ids=["empty", "nothing", "a conflict"])
def test_a_file_that_does_not_read_is_made_again(published: Board, content: bytes) -> None:
    before = published.path("alice").read_bytes()
    published.path("alice").write_bytes(content)
    (work,) = published.plan().due
    assert "tiny.verdicts.jsonl:1" in work.fault
    published.publish()
    assert published.path("alice").read_bytes() == before


def test_lines_of_what_is_not_given_any_more_go(published: Board) -> None:
    write_submission(published.root, "alice", {"files-1": ["mine"], "files-2": ["wrong"]})
    published.publish()
    assert len(published.file("alice").verdicts) == 2
    assert not published.plan().due


def test_evidence_of_who_was_withdrawn_goes(published: Board) -> None:
    """If a submission's folder is removed from main, the next run removes its evidence from the branch `evidence`."""
    for path in published.path("alice").parent.iterdir():
        path.unlink()
    published.path("alice").parent.rmdir()
    assert published.judge().archive.header.gone_evidence == ("submissions/alice/tiny.jsonl.gz",)


def test_a_broken_submission_keeps_nobody_else_back(board: Board) -> None:
    (board.path("alice").parent / "submission.toml").write_text("format = 1\n")
    board.publish()
    assert board.outcomes("bob")
    assert list(board.plan().broken) == ["alice"]


# -- rescore


def test_another_environment_waits_for_a_rescore_which_judges_all_anew(published: Board) -> None:
    """Stale verdicts of another environment are changed only by a rescore, not by a publish run.

    The rescore executes and judges everything again, and writes the current header.
    """
    before = published.path("alice").read_bytes()
    published.fingerprint = OTHER
    published.prepare()
    plan = published.plan()
    assert not plan.due
    assert [(work.submission, len(work.causes)) for work in plan.waiting] == [("alice", 1), ("bob", 1)]
    assert not published.judge().archive.files
    rescore = published.plan(stale=True)
    assert rescore.submissions == ["alice", "bob"]
    assert all("environment" in work.causes[0] for work in rescore.due)
    judged = published.publish(stale=True)
    assert judged.archive.header.rescore
    assert published.file("alice").header.fingerprint == OTHER
    assert published.path("alice").read_bytes() != before
    assert not published.plan(stale=True).due


def test_a_new_version_of_the_suite_needs_no_execution_where_evidence_holds(published: Board) -> None:
    """A new suite version with the same inputs of evidence needs a rescore, but no executions.

    The plan gives the new version as the reason.
    """
    executed = len(published.executed)
    write_suite(published.root, published.tasks, version="1.0.1")
    suite = published.root / "fixtures" / "tiny" / "suite.toml"
    suite.write_text(suite.read_text().replace('version = "1.0.1"', 'version = "1.0.1"\nearlier_versions = ["1.0.0"]'))
    plan = published.plan(stale=True)
    assert [work.causes for work in plan.due] == [("suite: version 1.0.0, today 1.0.1",)] * 2
    assert plan.executions == 0
    published.publish(stale=True)
    assert published.file("bob").header.suite_version == "1.0.1"
    assert len(published.executed) == executed


def test_a_stale_file_is_published_whole_or_not_at_all(published: Board) -> None:
    """A stale verdict file is not replaced if evidence for one of its commands is missing."""
    before = published.path("alice").read_bytes()
    published.fingerprint = OTHER
    published.shows = lambda call: InfraError("no engine") if call.command == "mine" else play(call)
    judged = published.publish(stale=True)
    assert published.path("alice").read_bytes() == before
    assert published.file("bob").header.fingerprint == OTHER
    assert {row.work.submission: bool(row.left) for row in judged.rows} == {"alice": True, "bob": False}


def test_a_submission_that_changed_while_stale_is_judged_whole(published: Board) -> None:
    """If a submission with stale verdicts changes, its file is judged completely again, because a file has only one
    header.

    The stale verdicts of an unchanged submission are kept until a rescore.
    """
    write_submission(published.root, "alice", {"files-1": ["mine", "one more"], "files-2": ["wrong"]})
    published.fingerprint = OTHER
    published.publish()
    assert published.file("alice").header.fingerprint == OTHER
    assert len(published.file("alice").verdicts) == 3
    assert published.file("bob").header.fingerprint != OTHER


# -- content of published files


def test_a_bundle_names_the_file_that_follows_from_it(published: Board) -> None:
    data = (published.fetched / bundle_path("tiny", "alice")).read_bytes()
    header = read_bundle(data, suite="tiny", submission="alice", expected=None).header
    assert header.verdicts == hashlib.sha256(published.path("alice").read_bytes()).hexdigest()


def test_evidence_of_a_reference_is_kept_with_the_references_alone(published: Board) -> None:
    """If a submission contains a reference's command, the evidence is only in the bundle of the references."""
    data = (published.fetched / bundle_path("tiny", "bob")).read_bytes()
    bundle = read_bundle(data, suite="tiny", submission="bob", expected=None)
    assert {key for key, _ in bundle.by_run}.isdisjoint(published.keys("right"))


def test_images_are_published_with_what_was_made_in_them(board: Board) -> None:
    board.prepare()
    images = json.loads(board.judge(image="5" * 64).archive.evidence["images.json"])
    assert [(each["fingerprint"], each["sha256"]) for each in images["images"].values()] == [("f" * 64, "5" * 64)]


def test_a_command_of_any_bytes_is_published_by_its_digest(board: Board) -> None:
    """A verdict file has only the digest of a command, so it contains no text of a submission."""
    write_submission(board.root, "alice", {"files-1": ["<script>alert(1)</script>"], "files-2": []})
    board.publish()
    assert b"<script>" not in board.path("alice").read_bytes()
    assert board.outcomes("alice")["files-2"] == ["unanswered"]
