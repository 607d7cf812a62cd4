"""Tests of fresh variants in publishing: the commit of a submission's last change decides where its commands run."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from evaluator.errors import MissingError
from evaluator.pipeline.evidence.import_bundles import import_bundles
from evaluator.pipeline.evidence.required_runs import reference_items
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import Evidence
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import RunKey, Store
from evaluator.testing.checkouts import write_submission, write_suite
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import RequestedExecution, Shows
from tests.publishing.judging_harness import ANSWERS, TASKS, Board

KNOWN = frozenset({"one", "two"})


def by_variant(call: RequestedExecution) -> Shows:
    """Return another output in each variant. The command `stored` knows only the outputs of the known variants."""
    return "one\n" if call.command == "stored" and call.variant not in KNOWN else f"{call.variant}\n"


def git(root: Path, *arguments: str) -> str:
    """Run Git as a fixed author and return its output."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], capture_output=True, check=True, text=True)
    return done.stdout.strip()


class FreshBoard(Board):
    """A board with fresh variants in a Git repository. The answers of alice store the outputs that they saw."""

    def __init__(self, root: Path) -> None:
        answers = {"alice": {"files-1": ["stored"], "files-2": ["stored"]}, "bob": {"files-1": ["mine"]}}
        super().__init__(root, answers, shows=by_variant)
        write_suite(root, TASKS, fresh={"world": "one"})
        git(root, "init", "-q", "-b", "main")
        (root / ".gitignore").write_text(".bashboard\n")
        self.commit("submissions")

    def commit(self, subject: str) -> str:
        """Commit all files and return the commit."""
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", subject)
        return git(self.root, "rev-parse", "HEAD")

    def prepare(self) -> None:
        """Run the job that executes the references, also in the fresh variants of the submissions."""
        (suite,) = self.project.suites()
        with closing(Store(self.project.store_path)) as store:
            store.set_fingerprint(image_reference(suite.manifest), self.fingerprint)
            self._grader(store).ensure_evidence(reference_items(suite, load_submissions(self.project)))

    def fresh_reference_runs(self, slug: str) -> frozenset[RunKey]:
        """Return the runs of the references in a submission's fresh variants."""
        (submission,) = load_submissions(self.project, [slug])
        return self.needed.fresh_references(submission)


@pytest.fixture
def board(tmp_path: Path) -> FreshBoard:
    return FreshBoard(tmp_path / "checkout")


def test_stored_outputs_pass_nothing_and_an_honest_answer_passes(board: FreshBoard) -> None:
    """The verdict of a command that printed what it stored names the fresh variant, and the header the commit."""
    commit = git(board.root, "rev-parse", "HEAD")
    board.publish()
    assert board.outcomes("alice") == {"files-1": ["fail"], "files-2": ["fail"]}
    assert {line.finding.variant for line in board.file("alice").verdicts} == {"fresh"}
    assert board.outcomes("bob")["files-1"] == ["pass"]
    assert (board.file("alice").header.format, board.file("alice").header.origin) == (4, commit)


def test_unchanged_files_are_never_drawn_again(board: FreshBoard) -> None:
    """Later commits to other files, and the published verdicts, leave the commit of the submission's last change."""
    board.publish()
    before = board.path("alice").read_bytes()
    board.commit("verdicts")
    (board.root / "README.md").write_text("more\n")
    board.commit("other files")
    assert board.plan().due == ()
    board.publish()
    assert board.path("alice").read_bytes() == before
    assert [(file.problems, file.unknown) for file in board.verify()] == [((), 0)] * 2


def test_a_change_of_a_submission_draws_its_variants_again(board: FreshBoard) -> None:
    """After a change, all commands of the submission run in another fresh variant. Other submissions stay."""
    board.publish()
    board.commit("verdicts")
    bob = board.path("bob").read_bytes()
    write_submission(board.root, "alice", {"files-1": ["stored"], "files-2": ["mine"]})
    commit = board.commit("another answer")
    assert [work.submission for work in board.plan().due] == ["alice"]
    board.publish()
    assert board.file("alice").header.origin == commit
    assert board.outcomes("alice") == {"files-1": ["fail"], "files-2": ["pass"]}
    assert board.path("bob").read_bytes() == bob


def test_a_job_with_a_submission_cannot_provide_the_references_of_its_fresh_variants(board: FreshBoard) -> None:
    """A collected bundle with evidence of references is refused as a whole, so that no row passes by a forgery."""
    board.prepare()
    board.execute("alice")
    forged: dict[RunKey, Evidence] = dict.fromkeys(board.fresh_reference_runs("alice"), evidence("one\n"))
    board.collect(board.bundle("alice", forged))
    judged = board.judge(slugs=["alice"])
    assert "alice" in judged.faults
    assert not judged.archive.on_main()


def test_the_published_bundle_holds_the_references_of_the_fresh_variants(board: FreshBoard) -> None:
    """A verdict can be derived again from the branch alone, without an execution of references."""
    board.publish()
    board.project.store_path.unlink()
    with closing(Store(board.project.store_path)) as store:
        (suite,) = board.project.suites()
        store.set_fingerprint(image_reference(suite.manifest), board.fingerprint)
        known = store.known_runs({key for key, _ in board.needed.references})
    assert not known
    import_bundles(board.project, NullProgress(), board.fetched, strict=False)
    assert [(file.held > 0, file.problems, file.unknown) for file in board.verify()] == [(True, (), 0)] * 2


def test_publishing_needs_the_whole_history(board: FreshBoard, tmp_path: Path) -> None:
    """In a shallow clone, the commit of a submission's last change is unknown, so nothing is published."""
    (board.root / "more").write_text("")
    board.commit("more")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{board.root}", str(shallow))
    clone = Board.__new__(FreshBoard)
    clone.root, clone.fingerprint, clone.executed, clone.shows = shallow, board.fingerprint, [], by_variant
    clone.tasks, clone.answers = TASKS, ANSWERS
    clone.project = type(board.project).find(shallow)
    with closing(Store(clone.project.store_path)) as store:
        (suite,) = clone.project.suites()
        store.set_fingerprint(image_reference(suite.manifest), board.fingerprint)
    with pytest.raises(MissingError, match="fetch --unshallow"):
        clone.plan()
