"""Tests of proposals: a rescore is one open pull request with a table of the moved rows, and does not change main."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import GitHubError, UsageError
from evaluator.pipeline.publishing.archive import PublishArchive, write_archive
from evaluator.pipeline.publishing.propose import BRANCH, ProposalResult, propose_archive
from evaluator.records import Outcome
from tests.doubles.github import InjectedFault, Pull
from tests.publishing.archives import ANSWERED, archive, bundle_at, verdicts_at
from tests.publishing.hosted_checkout import HostedCheckout, verdicts

PASSES = {"first": (("files-1", "ls -l a", Outcome.PASS), *ANSWERED["first"][1:]), "second": ANSWERED["second"]}


@pytest.fixture
def published(hosted: HostedCheckout) -> HostedCheckout:
    """A board with published verdicts of an earlier judge version."""
    hosted.write({verdicts_at(slug): verdicts(*found) for slug, found in ANSWERED.items()})
    return hosted


def rescored(hosted: HostedCheckout, version: int = 2) -> PublishArchive:
    """Return the archive of a rescore with a later judge version, which passes one more command of the first
    submission.
    """
    files = {verdicts_at(slug): verdicts(*found, judge_version=version) for slug, found in PASSES.items()}
    return archive(hosted, judge_version=version, files=files, rescore=True, commit=hosted.head())


def propose(hosted: HostedCheckout, made: PublishArchive, *, dry_run: bool = False) -> ProposalResult:
    return propose_archive(hosted.project, hosted.connect(), made, dry_run=dry_run)


def pulls(hosted: HostedCheckout) -> list[Pull]:
    return [each for each in hosted.board.issues.values() if each.head_ref]


def test_a_rescore_is_proposed_and_main_stays(published: HostedCheckout) -> None:
    """A rescore opens a pull request from its own branch and does not change main.

    The pull request lists the changed verdicts with the reason. The evidence is committed to its branch immediately.
    """
    before, made = published.head(), rescored(published)
    found = propose(published, made)
    (pull,) = pulls(published)
    assert found.proposal is not None
    assert (found.proposal.number, pull.head_ref, pull.title) == (
        pull.number,
        BRANCH,
        "Rescore 2 submissions: 1 verdict flips",
    )
    assert published.head() == before
    assert {path: published.content(path, BRANCH) for path in made.files} == made.files
    assert published.content(bundle_at("first"), "evidence") == b"evidence of first 2"
    body = pull.body or ""
    assert "`fail → pass`" in body
    assert "`ls -l a`" in body
    assert "consensus 1 → consensus 2" in body
    assert "bashboard publish changes --against origin/main" in body
    assert f"Made from {before}." in body


def test_proposed_again_it_is_the_same_pull_request(published: HostedCheckout) -> None:
    made = rescored(published)
    first, again = propose(published, made), propose(published, made)
    assert first.proposal is not None
    assert again.proposal is not None
    assert (again.proposal.number, again.proposal.head) == (first.proposal.number, first.proposal.head)
    assert len(pulls(published)) == 1


def test_a_later_rescore_takes_the_place_of_one_that_is_open(published: HostedCheckout) -> None:
    """A later rescore replaces the open pull request of an earlier rescore.

    If the earlier pull request was merged, the later rescore opens a new one.
    """
    propose(published, rescored(published))
    propose(published, rescored(published, 3))
    (pull,) = pulls(published)
    assert "consensus 1 → consensus 3" in (pull.body or "")
    published.github.merge(published.board, pull)
    for slug in ANSWERED:
        content = published.content(verdicts_at(slug)) or b""
        (published.root / verdicts_at(slug)).write_bytes(content)
    propose(published, rescored(published, 4))
    assert [each.state for each in pulls(published)] == ["closed", "open"]


def test_what_changed_since_is_left_out_and_named(published: HostedCheckout) -> None:
    """A submission that changed since it was judged is left out, and the pull request names it.

    Its verdict file on the branch equals the file on main.
    """
    made = rescored(published)
    published.push({"submissions/first/tiny.jsonl": b"{}\n"})
    found = propose(published, made)
    (pull,) = pulls(published)
    assert "was changed since it was judged" in found.left_out["first"]
    assert "- `first` was changed since" in (pull.body or "")
    assert pull.title == "Rescore 1 submission: 0 verdicts flip"
    assert published.content(verdicts_at("first"), BRANCH) == published.content(verdicts_at("first"))


def test_nothing_that_changes_is_no_pull_request(published: HostedCheckout) -> None:
    made = rescored(published)
    same = PublishArchive(made.header, {path: published.content(path) or b"" for path in made.files}, made.evidence)
    found = propose(published, same)
    assert (found.title, found.proposal, pulls(published)) == ("", None, [])


@pytest.mark.parametrize("path", ["/pulls", "/git/refs"])
def test_what_was_done_though_its_answer_was_lost_is_done_once(published: HostedCheckout, path: str) -> None:
    published.github.faults.append(InjectedFault(502, method="POST", path=path, late=True))
    propose(published, rescored(published))
    assert len(pulls(published)) == 1


def test_killed_before_the_pull_request_it_is_proposed_by_the_next_run(published: HostedCheckout) -> None:
    published.github.faults += [InjectedFault(500, method="POST", path="/pulls")] * 9
    with pytest.raises(GitHubError):
        propose(published, rescored(published))
    published.github.faults.clear()
    propose(published, rescored(published))
    assert len(pulls(published)) == 1


def test_what_is_no_rescore_is_not_proposed(published: HostedCheckout) -> None:
    with pytest.raises(UsageError, match="bashboard publish commit"):
        propose(published, archive(published))
    assert published.writes() == []


def test_the_command_shows_what_it_would_propose(published: HostedCheckout, tmp_path: Path) -> None:
    """With `--dry-run`, `publish propose` shows the title and the table, and writes nothing to GitHub."""
    file, summary = tmp_path / "published.tar.gz", tmp_path / "summary"
    digest = write_archive(rescored(published), file)
    words = ["publish", "propose", str(file), "--sha256", digest, "--dry-run", "--summary"]
    code, told = published.command(*words, GITHUB_STEP_SUMMARY=str(summary))
    assert (code, published.writes()) == (0, [])
    assert told.startswith("Rescore 2 submissions: 1 verdict flips\n")
    assert summary.read_text().startswith("### Rescore 2 submissions")
