"""A suite in trouble leaves the publication of the other suites, and the files that are published for it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from evaluator.errors import EngineError, FormatError, MissingError
from evaluator.pipeline.evidence.bundle import bundle_path, folder_digest, read_bundle
from evaluator.pipeline.evidence.import_bundles import NO_SUITE, import_evidence
from evaluator.pipeline.evidence.produce import make_references, make_submissions
from evaluator.pipeline.grading.verdict_files import verdicts_path
from evaluator.pipeline.publishing.summaries import judged_markdown, plan_markdown
from evaluator.pipeline.submissions.board_suites import public_instruction
from evaluator.progress import NullProgress
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.checkouts import small_task, write_suite
from evaluator.testing.declared_suites import declare_suite
from evaluator.testing.executor import FINGERPRINT, RequestedExecution, Shows
from tests.publishing.judging_harness import Board, play
from tests.suites.foreign_trees import intercode_tree

MISSING = "the external suite intercode is not fetched"


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board on which the submission `bob` also answers an external suite that is declared and not fetched."""
    board = Board(tmp_path / "board")
    declare_suite(board.project, "intercode", intercode_tree(tmp_path / "tree"))
    folder = board.root / "submissions" / "bob"
    manifest = folder / "submission.toml"
    manifest.write_text(f'{manifest.read_text()}intercode = "1.0.0"\n')
    (folder / "intercode.jsonl").write_text('{"task": "fs1-000", "candidates": [{"command": "ls"}]}\n')
    return board


def write_second_suite(board: Board) -> None:
    """Write a suite with a package of its own. With the same base, it would share the image of the other suite."""
    manifest = write_suite(board.root, [small_task("files-9")], name="second") / "suite.toml"
    manifest.write_text(manifest.read_text().replace("[base]", '[base]\npackages = ["jq"]', 1))


def test_a_suite_that_is_not_fetched_is_left_out_and_told(board: Board) -> None:
    """The plan and the result name the suite with the reason, and every submission is published on the other suite."""
    board.prepare()
    plan = board.plan()
    assert [(work.submission, work.suite) for work in plan.due] == [("alice", "tiny"), ("bob", "tiny")]
    assert MISSING in plan.unavailable["intercode"]
    assert MISSING in plan_markdown(plan)
    board.execute(*plan.submissions)
    judged = board.judge()
    assert set(judged.archive.files) == {f"submissions/{slug}/tiny.verdicts.jsonl" for slug in ("alice", "bob")}
    assert MISSING in judged.unavailable["intercode"]
    assert MISSING in judged_markdown(judged)


def test_what_is_published_on_it_stays(board: Board) -> None:
    """Verdicts and evidence of a suite that is not fetched are neither removed nor changed."""
    board.publish()
    verdicts = verdicts_path(board.project, "bob", "intercode")
    verdicts.write_bytes(b"published\n")
    bundle = board.fetched / bundle_path("intercode", "bob")
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_bytes(b"evidence")
    judged = board.judge()
    assert (judged.archive.header.gone, judged.archive.header.gone_evidence) == ((), ())
    (skipped,) = (file for file in board.verify() if file.suite == "intercode")
    assert (skipped.submission, skipped.held, skipped.problems) == ("bob", 0, ())
    assert MISSING in skipped.why


def test_a_suite_of_unknown_environment_leaves_the_others(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite whose image was never built is told, and the other suite is planned."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    write_second_suite(board)
    with closing(Store(board.project.store_path)) as store:
        store.set_fingerprint(image_reference(board.project.suite("tiny").manifest), FINGERPRINT)
    plan = board.plan()
    assert {work.suite for work in plan.due} == {"tiny"}
    assert "fingerprint is unknown" in plan.unavailable["second"]
    board.project.store_path.unlink()
    with pytest.raises(MissingError, match="fingerprint is unknown"):
        board.plan()


def test_evidence_of_the_other_suites_is_made(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle of a suite whose evidence is stored is written, although no engine can execute the other suite."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    board.prepare()
    write_second_suite(board)
    made = make_references(board.project, NullProgress(), tmp_path / "out")
    assert [bundle.suite for bundle in made.bundles] == ["tiny"]
    assert set(made.troubles) == {"intercode", "second"}
    assert MISSING in made.troubles["intercode"]
    assert "DOCKER_HOST" in made.troubles["second"]
    with pytest.raises(MissingError, match="DOCKER_HOST"):
        make_references(board.project, NullProgress(), tmp_path / "none", ["second"])
    with pytest.raises(MissingError, match="DOCKER_HOST"):  # the commands of bob have no evidence on tiny either
        make_submissions(board.project, NullProgress(), tmp_path / "bob", ["bob"])


def test_a_bundle_of_a_suite_that_was_not_fetched_is_passed_over(board: Board, tmp_path: Path) -> None:
    """A later job of a run imports the other bundles if only the earlier job could fetch a suite."""
    board.prepare()
    out = tmp_path / "out"
    make_references(board.project, NullProgress(), out, ["tiny"])
    (out / bundle_path("intercode", None)).write_bytes(b"of an earlier job")
    summary = import_evidence(board.project, NullProgress(), out, folder_digest(out))
    assert (summary.bundles, dict(summary.passed_over)) == (1, {NO_SUITE: 1})
    (out / bundle_path("moon", None)).write_bytes(b"of no suite")
    with pytest.raises(FormatError, match="moon"):
        import_evidence(board.project, NullProgress(), out, folder_digest(out))


def test_a_task_whose_references_fail_leaves_the_verdicts_on_the_others(board: Board) -> None:
    """The evidence of the other references is published, so that the next run does not execute them again."""

    def shows(call: RequestedExecution) -> Shows:
        return EngineError("its set-up ended with exit status 1") if call.command == "also right" else play(call)

    board.shows = shows
    judged = board.publish()
    assert set(board.outcomes("bob")) == {"files-1"}
    assert {row.work.submission: sum(row.missing.values()) for row in judged.rows} == {"alice": 1, "bob": 1}
    data = (board.fetched / bundle_path("tiny", None)).read_bytes()
    bundle = read_bundle(data, suite="tiny", submission=None, expected=None)
    assert set(board.keys("right")) <= {key for key, _ in bundle.by_run}
    board.shows = play
    board.publish()
    assert set(board.outcomes("bob")) == {"files-1", "files-2"}


def test_a_public_text_quotes_an_instruction_only_with_permission(board: Board, tmp_path: Path) -> None:
    """The summary of contested verdicts and the ruling on an appeal obey the licence of an external suite."""
    task = small_task("fs1-000", nl="An instruction of theirs")
    tree = tmp_path / "tree"
    assert public_instruction(board.project, "tiny", task) == task.nl
    assert public_instruction(board.project, "intercode", task) == task.nl
    declare_suite(board.project, "intercode", tree, texts=False)
    assert "theirs" not in public_instruction(board.project, "intercode", task)
