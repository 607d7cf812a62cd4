"""Tests of the commit of verdicts to main.

Verdicts are committed once, and only for submissions that did not change since they were judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from evaluator.errors import FormatError, GitHubError, PermissionMissingError, UsageError
from evaluator.github.connection import Connection
from evaluator.pipeline.publishing.archive import ArchiveHeader, PublishArchive, write_archive
from evaluator.pipeline.publishing.commit import ATTEMPTS, CommitResult, commit_archive
from tests.doubles.github import Exchange, InjectedFault
from tests.publishing.archives import ANSWERED, IMAGES, archive, bundle_at, judged, verdicts_at
from tests.publishing.hosted_checkout import OWNERS, HostedCheckout

OFFERED = {f"submissions/mine/{name}": b"{}\n" for name in ("submission.toml", "tiny.jsonl")}


def commit(hosted: HostedCheckout, made: PublishArchive, connection: Connection | None = None) -> CommitResult:
    return commit_archive(hosted.project, connection or hosted.connect(), made)


def owners(hosted: HostedCheckout) -> dict[str, int | None]:
    found: dict[str, int | None] = json.loads(hosted.content(OWNERS) or b"{}")["owners"]
    return found


def said(hosted: HostedCheckout, commit: str) -> str:
    return hosted.board.git.run("log", "-1", "--format=%B", commit).decode().strip()


def parents(hosted: HostedCheckout, branch: str) -> int:
    return len(hosted.board.git.run("log", "-1", "--format=%P", f"refs/heads/{branch}").split())


def pushed_meanwhile(hosted: HostedCheckout, times: int, files: Mapping[str, bytes | None] | None = None) -> None:
    """Push to main `times` times, each time after the client made a commit and before the client moves main to it."""
    left = list(range(times))

    def push(exchange: Exchange) -> None:
        made = exchange.method == "POST" and exchange.path.endswith("/git/commits") and exchange.body["parents"]
        if made and left:
            hosted.push({"meanwhile": str(left.pop()).encode(), **(files or {})})

    hosted.watch.then = push


def test_verdicts_and_owners_come_to_main_and_evidence_to_its_branch(hosted: HostedCheckout) -> None:
    """Verdicts and owners are committed to main, and evidence to the branch `evidence`, with one commit each.

    The commit of evidence has no parent. The project owns a submission that came without a pull request.
    """
    before = hosted.write({OWNERS: None})
    made = archive(hosted)
    done = commit(hosted, made)
    assert done.commit == hosted.head() != before
    assert done.published == ("first", "second")
    assert {path: hosted.content(path) for path in made.files} == made.files
    assert owners(hosted) == {"first": None, "second": None}
    assert hosted.paths("evidence") == {bundle_at("first"), bundle_at("second"), "images.json"}
    assert (parents(hosted, "main"), parents(hosted, "evidence")) == (1, 0)
    assert said(hosted, done.commit) == "Publish the verdicts of first, second"


def test_whoever_offered_a_submission_first_owns_its_name(hosted: HostedCheckout) -> None:
    """The account that opened the pull request with a new submission owns the submission's name.

    The owner is the number of the account. The author of a commit does not give this number.
    """
    hosted.push(OFFERED, "mine")
    fork = hosted.github.fork(hosted.board, hosted.contributor)
    pull = hosted.github.open_pull(hosted.board, fork, "mine")
    hosted.github.merge(hosted.board, pull)
    hosted.write({**OFFERED, OWNERS: None})
    done = commit(hosted, archive(hosted))
    assert done.owners == {"first": None, "second": None, "mine": hosted.contributor.id}
    assert owners(hosted)["mine"] == hosted.contributor.id


def test_what_a_maintainer_wrote_among_the_owners_stays(hosted: HostedCheckout) -> None:
    """Owners that a maintainer wrote on main are kept, even if the checkout is older."""
    hosted.write({OWNERS: None})
    hosted.push({OWNERS: b'{"format": 1, "owners": {"first": 7, "gone": 8}}'})
    commit(hosted, archive(hosted))
    assert owners(hosted) == {"first": 7, "gone": 8, "second": None}


def test_a_name_that_a_maintainer_took_out_stays_out(hosted: HostedCheckout) -> None:
    """A name that a maintainer removed from the owners on main stays removed, although the checkout still has it."""
    taken_out = b'{"format": 1, "owners": {"first": null}}'
    hosted.push({OWNERS: taken_out})
    commit(hosted, archive(hosted))
    assert hosted.content(OWNERS) == taken_out


def test_done_again_it_changes_nothing(hosted: HostedCheckout) -> None:
    """A second commit of the same archive creates no commit on main and does not change the evidence."""
    made = archive(hosted)
    first = commit(hosted, made)
    evidence = hosted.head("evidence")
    again = commit(hosted, made)
    assert (again.commit, again.published, again.left_out) == (first.commit, (), {})
    assert (hosted.head(), hosted.head("evidence")) == (first.commit, evidence)


def test_nothing_judged_is_no_commit(hosted: HostedCheckout) -> None:
    before = hosted.head()
    done = commit(hosted, PublishArchive(ArchiveHeader(format=1)))
    assert (done.commit, done.evidence, hosted.head()) == (before, None, before)
    assert hosted.writes() == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("submissions/first/tiny.jsonl", "was changed since it was judged"),
        ("submissions/first/submission.toml", "was changed since it was judged"),
        (verdicts_at("first"), "has another verdict file than when it was judged"),
    ],
)
def test_what_was_changed_since_is_left_out(hosted: HostedCheckout, path: str, reason: str) -> None:
    """A submission that changed since it was judged is left out, and the other submissions are published."""
    made = archive(hosted)
    hosted.push({path: b"other\n"})
    done = commit(hosted, made)
    assert reason in done.left_out["first"]
    assert done.published == ("second",)
    assert hosted.content(path) == b"other\n"
    assert bundle_at("first") not in hosted.paths("evidence")


def test_what_was_withdrawn_since_is_left_out(hosted: HostedCheckout) -> None:
    made = archive(hosted)
    hosted.push(dict.fromkeys(("submissions/first/tiny.jsonl", "submissions/first/submission.toml")))
    assert commit(hosted, made).left_out == {"first": "was withdrawn since it was judged"}
    assert hosted.content(verdicts_at("first")) is None


@pytest.mark.parametrize("commit_said", [False, True])
def test_what_is_gone_is_removed(hosted: HostedCheckout, commit_said: bool) -> None:
    """The verdicts and evidence of a withdrawn submission are removed, unless the submission was added again."""
    commit(hosted, archive(hosted))
    withdrawn = {f"submissions/{slug}/{name}": None for slug in ANSWERED for name in ("submission.toml", "tiny.jsonl")}
    judged_at = hosted.push(withdrawn)
    hosted.push({path: (hosted.root / path).read_bytes() for path in withdrawn if "second" in path})
    gone = {"gone": tuple(map(verdicts_at, ANSWERED)), "gone_evidence": tuple(map(bundle_at, ANSWERED))}
    commit(hosted, PublishArchive(ArchiveHeader(format=1, commit=judged_at if commit_said else None, **gone)))
    assert hosted.content(verdicts_at("first")) is None
    assert hosted.content(verdicts_at("second")) is not None
    assert hosted.paths("evidence") == {bundle_at("second"), "images.json"}


def test_what_a_submission_answers_no_more_is_removed(hosted: HostedCheckout) -> None:
    """The verdict file of a suite that a submission no longer answers is removed, even if the predictions still exist.

    The verdict file is kept if the submission changed since it was judged.
    """
    commit(hosted, archive(hosted))
    judged_at = hosted.head()
    hosted.push({"submissions/second/submission.toml": b"other\n"})
    done = commit(
        hosted, PublishArchive(ArchiveHeader(format=1, commit=judged_at, gone=tuple(map(verdicts_at, ANSWERED))))
    )
    assert hosted.content(verdicts_at("first")) is None
    assert hosted.content(verdicts_at("second")) is not None
    assert done.published == ("first",)


def test_evidence_of_others_stays(hosted: HostedCheckout) -> None:
    hosted.board.git.commit("evidence", {"references/tiny.jsonl.gz": b"references"}, root=True)
    commit(hosted, archive(hosted, "first"))
    assert hosted.paths("evidence") == {bundle_at("first"), "images.json", "references/tiny.jsonl.gz"}
    assert hosted.content("images.json", "evidence") == IMAGES


def test_main_that_moves_meanwhile_is_begun_with_anew(hosted: HostedCheckout) -> None:
    """If main moves during the commit, the commit is made again on the new main.

    The pushed files are kept, and a submission that the push changed is left out.
    """
    made = archive(hosted)
    pushed_meanwhile(hosted, 2, {"submissions/second/tiny.jsonl": b"{}\n"})
    done = commit(hosted, made)
    assert done.published == ("first",)
    assert "was changed" in done.left_out["second"]
    assert hosted.content("meanwhile") == b"0"
    assert hosted.content(verdicts_at("first")) == made.files[verdicts_at("first")]
    assert hosted.content(verdicts_at("second")) is None


def test_main_that_moves_each_time_is_an_error(hosted: HostedCheckout) -> None:
    pushed_meanwhile(hosted, ATTEMPTS)
    with pytest.raises(GitHubError, match=f"moved {ATTEMPTS} times meanwhile; run this again"):
        commit(hosted, archive(hosted))
    assert hosted.content(verdicts_at("first")) is None


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/git/commits"), ("POST", "/git/trees"), ("PATCH", "/git/refs/heads/main")]
)
def test_what_was_done_though_its_answer_was_lost_is_done_once(hosted: HostedCheckout, method: str, path: str) -> None:
    before = hosted.head()
    hosted.github.faults += [InjectedFault(502, method=method, path=path, late=True)] * 2
    done = commit(hosted, archive(hosted))
    assert done.published == ("first", "second")
    assert said(hosted, done.commit).startswith("Publish")
    assert hosted.board.git.resolve(f"{done.commit}^") == before


def test_killed_before_main_it_is_published_by_the_next_run(hosted: HostedCheckout) -> None:
    """If the job fails before main is updated, the next run publishes the same verdicts.

    The evidence is committed before the verdicts, so main never has verdicts without published evidence.
    """
    made = archive(hosted)
    hosted.github.faults += [InjectedFault(500, method="PATCH", path="/git/refs/heads/main")] * 9
    with pytest.raises(GitHubError) as raised:
        commit(hosted, made)
    assert "protect" not in str(raised.value)
    assert hosted.content(verdicts_at("first")) is None
    assert bundle_at("first") in hosted.paths("evidence")
    hosted.github.faults.clear()
    evidence = hosted.head("evidence")
    assert commit(hosted, made).published == ("first", "second")
    assert hosted.head("evidence") == evidence


def test_a_protected_main_says_which_setting(hosted: HostedCheckout) -> None:
    hosted.board.protected["main"] = frozenset()
    with pytest.raises(GitHubError, match=r"through a pull request.*BASHBOARD_PUBLISH_TOKEN \(site/maintain\.md\)"):
        commit(hosted, archive(hosted))


def test_a_token_that_may_not_write_names_the_permission(hosted: HostedCheckout) -> None:
    with pytest.raises(PermissionMissingError, match="contents: write"):
        commit(hosted, archive(hosted), hosted.connect({"contents": "read", "pull_requests": "read"}))


def test_a_rescore_is_not_committed(hosted: HostedCheckout) -> None:
    with pytest.raises(UsageError, match="bashboard publish propose"):
        commit(hosted, archive(hosted, rescore=True))
    assert hosted.writes() == []


def test_many_submissions_are_listed_in_the_commits_body(hosted: HostedCheckout) -> None:
    slugs = [f"row-{number:02}" for number in range(12)]
    names = ("submission.toml", "tiny.jsonl")
    hosted.write({f"submissions/{slug}/{name}": b"{}\n" for slug in slugs for name in names})
    hosted.write({OWNERS: json.dumps({"format": 1, "owners": dict.fromkeys((*ANSWERED, *slugs))}).encode()})
    some = archive(hosted, "first").files[verdicts_at("first")]
    header = ArchiveHeader(format=1, judged={slug: judged(hosted, slug) for slug in slugs})
    done = commit(hosted, PublishArchive(header, {verdicts_at(slug): some for slug in slugs}))
    listed = "\n".join(slugs)
    assert said(hosted, done.commit) == f"Publish the verdicts of 12 submissions\n\n{listed}"


def test_the_command_commits_what_has_the_digest_that_was_said(hosted: HostedCheckout, tmp_path: Path) -> None:
    file, output, summary = (tmp_path / name for name in ("published.tar.gz", "output", "summary"))
    digest = write_archive(archive(hosted), file)
    words = ["publish", "commit", str(file), "--sha256"]
    code, told = hosted.command(*words, "0" * 64)
    assert (code, "its content was not read" in told, hosted.writes()) == (1, True, [])
    given = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    code, told = hosted.command(*words, digest, "--dry-run", "--outputs", "--summary", **given)
    assert (code, "would publish: first" in told, hosted.writes()) == (0, True, [])
    assert f"\n{hosted.head()}\n" in output.read_text()
    assert "### Would be published: `first`, `second`" in summary.read_text()


def test_owners_that_do_not_read_are_an_error(hosted: HostedCheckout) -> None:
    hosted.write({OWNERS: None})
    hosted.push({OWNERS: b'{"format": 1, "owners": {"first": "me"}}'})
    with pytest.raises(FormatError, match=OWNERS):
        commit(hosted, archive(hosted))
