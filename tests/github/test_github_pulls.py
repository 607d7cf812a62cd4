"""Pull requests: the one that a run belongs to, its changed files, and how many an account opened."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evaluator.github.pulls import (
    MOST_CHANGED,
    ChangedFile,
    Match,
    RunPull,
    changed_files,
    find_pull,
    open_pulls_of,
    read_pull,
    recent_pull_numbers,
)
from tests.doubles.github.description import Description
from tests.github.github_harness import FILES, GithubHarness

HOSTILE = [
    "mine",
    "we'ird\"-`id`",
    "${{github.token}}",
    "-rf",
    "a/b;c|d&&e",
    "ünï-\u202egpj",
    "$(touch$IFS/x)",
    "%0A,error",
]


def found(harness: GithubHarness, run: int) -> RunPull:
    return find_pull(harness.connect(), run)


@pytest.mark.parametrize("branch", HOSTILE)
def test_a_run_is_of_the_pull_request_with_its_commit_and_branch(harness: GithubHarness, branch: str) -> None:
    """A run's pull request is found by commit and branch, and special characters in names are kept."""
    harness.pull("other")
    pull = harness.pull(branch, title=f"{branch}\n::error::no")
    told = found(harness, harness.github.run(harness.board, pull).id)
    assert (told.match, told.head, told.numbers) == (Match.FOUND, pull.head, (pull.number,))
    assert told.pull == read_pull(harness.connect(), pull.number)
    assert (told.pull.head_branch, told.pull.title) == (branch, f"{branch}\n::error::no")
    assert (told.pull.author, told.pull.head_repository) == (harness.stranger.id, harness.fork.id)


@pytest.mark.parametrize(
    ("association", "newcomer"),
    [("FIRST_TIME_CONTRIBUTOR", True), ("NONE", True), ("CONTRIBUTOR", False), ("OWNER", False)],
)
def test_who_is_new_here_is_told(harness: GithubHarness, association: str, newcomer: bool) -> None:
    pull = harness.pull()
    pull.association = association
    assert read_pull(harness.connect(), pull.number).newcomer is newcomer


@pytest.mark.parametrize(
    ("association", "insider"),
    [("OWNER", True), ("MEMBER", True), ("COLLABORATOR", True), ("CONTRIBUTOR", False), ("NONE", False)],
)
def test_who_belongs_here_is_told(harness: GithubHarness, association: str, insider: bool) -> None:
    pull = harness.pull()
    pull.association = association
    assert read_pull(harness.connect(), pull.number).insider is insider


def test_whoever_may_push_to_the_repository_belongs_here(harness: GithubHarness) -> None:
    """A pull request from the repository itself is an insider's. The bot has no association of its own."""
    harness.board.git.commit("rescore", {"x": b"x\n"})
    pull = harness.github.open_pull(harness.board, harness.board, "rescore")
    assert read_pull(harness.connect(), pull.number).insider


def test_changed_files_name_the_commit_that_they_are_of(harness: GithubHarness) -> None:
    pull = harness.pull(files={"submissions/old/core.jsonl": None, "submissions/mine/core.jsonl": b"{}\n"})
    assert changed_files(harness.connect(), pull.number).heads == {pull.head}


def test_open_pull_requests_of_one_account_are_listed(harness: GithubHarness) -> None:
    first, closed, last = harness.pull("first"), harness.pull("closed"), harness.pull("last")
    closed.state = "closed"
    other = harness.github.fork(harness.board, harness.github.user("other"))
    other.git.commit("theirs", FILES)
    harness.github.open_pull(harness.board, other, "theirs")
    pulls = open_pulls_of(harness.connect(), harness.stranger.id)
    assert [pull.number for pull in pulls] == [last.number, first.number]


def test_a_push_in_between_makes_the_run_stale(harness: GithubHarness) -> None:
    """After a push, with or without force, the run is stale, because its numbers are of another commit."""
    pull = harness.pull()
    run = harness.github.run(harness.board, pull)
    harness.github.push(harness.board, pull, {"submissions/mine/core.jsonl": b"other\n"}, force=True)
    told = found(harness, run.id)
    assert (told.match, told.head, told.pull and told.pull.head) == (Match.STALE, run.head, pull.head)


def test_a_closed_pull_request_is_none(harness: GithubHarness) -> None:
    pull = harness.pull()
    run = harness.github.run(harness.board, pull)
    harness.github.merge(harness.board, pull)
    assert found(harness, run.id) == RunPull(Match.MISSING, run.head)


def test_a_commit_that_two_pull_requests_share_tells_no_single_one(harness: GithubHarness) -> None:
    """One branch may be proposed to two branches of the board. Then no single pull request is chosen."""
    pull = harness.pull()
    harness.board.git.commit("next", {"NEXT.md": b"x\n"})
    other = harness.github.open_pull(harness.board, harness.fork, "mine", into="next")
    told = found(harness, harness.github.run(harness.board, pull).id)
    assert (told.match, told.pull, set(told.numbers)) == (Match.SEVERAL, None, {pull.number, other.number})


def test_anothers_pull_request_with_the_same_commit_is_not_taken(harness: GithubHarness) -> None:
    """Anyone can push a public commit again. Such a pull request must not get the original's comment and labels."""
    pull = harness.pull()
    thief = harness.github.fork(harness.board, harness.github.user("thief"))
    thief.git.fetch(harness.fork.git, "refs/heads/mine", "refs/heads/mine")
    harness.github.open_pull(harness.board, thief, "mine")
    told = found(harness, harness.github.run(harness.board, pull).id)
    assert told.numbers == (pull.number,)


def test_every_page_of_open_pull_requests_is_looked_at(harness: GithubHarness) -> None:
    harness.offered(150)
    pull = harness.board.issues[1]
    assert found(harness, harness.github.run(harness.board, pull).id).numbers == (pull.number,)
    assert harness.asked().count("GET /pulls") == 2


def test_changed_files_have_a_status(harness: GithubHarness) -> None:
    """Changes are computed as on GitHub: against the merge base, with renames detected."""
    harness.board.git.commit("main", {"a.txt": b"one\ntwo\n", "b.txt": b"b\n", "c.txt": b"c\nc\nc\n"})
    harness.fork.git.fetch(harness.board.git, "refs/heads/main", "refs/heads/main")
    files = {"a.txt": b"one\n", "b.txt": None, "c.txt": None, "d.txt": b"c\nc\nc\n", 'e "`$x`.txt': b""}
    pull = harness.pull(files=files)
    harness.board.git.commit("main", {"later.txt": b"not theirs\n"})
    harness.github.pushed(harness.board, pull)
    changes = changed_files(harness.connect(), pull.number)
    assert changes.complete
    assert set(changes.files) == {
        ChangedFile("a.txt", "modified"),
        ChangedFile("b.txt", "removed"),
        ChangedFile("d.txt", "renamed", "c.txt"),
        ChangedFile('e "`$x`.txt', "added"),
    }


@pytest.mark.parametrize(("number", "complete"), [(250, True), (MOST_CHANGED + 10, False)])
def test_changes_beyond_githubs_list_are_told(harness: GithubHarness, number: int, complete: bool) -> None:
    """GitHub lists at most 3,000 files without a warning. The client reports that the list is incomplete."""
    pull = harness.pull(files={f"submissions/mine/{each}.jsonl": b"" for each in range(number)})
    changes = changed_files(harness.connect(), pull.number)
    assert (len(changes.files), changes.complete) == (min(number, MOST_CHANGED), complete)


def test_pull_requests_of_the_last_day_are_counted(harness: GithubHarness) -> None:
    """Closed pull requests count too. Issues, other accounts' pull requests and older ones with a new push do not."""
    old = harness.pull("old")
    harness.github.now += timedelta(hours=25)
    harness.github.push(harness.board, old, {"submissions/mine/core.jsonl": b"late\n"})
    closed, mine = harness.pull("closed"), harness.pull("mine")
    closed.state = "closed"
    harness.github.issue(harness.board, harness.stranger)
    other = harness.github.fork(harness.board, harness.github.user("other"))
    other.git.commit("theirs", FILES)
    harness.github.open_pull(harness.board, other, "theirs")
    pull = read_pull(harness.connect(), mine.number)
    assert recent_pull_numbers(harness.connect(), pull, harness.github.now) == (mine.number, closed.number)


def test_a_fork_and_an_account_may_be_gone(harness: GithubHarness, description: Description | None) -> None:
    """GitHub answers null for a deleted account or fork. For the fork this contradicts its own description."""
    pull = harness.pull()
    run = harness.github.run(harness.board, pull)
    pull.head_repository = pull.user = None
    told = find_pull(harness.connect(), run.id)
    assert told.match == Match.MISSING
    gone = read_pull(harness.connect(), pull.number)
    assert (gone.head_repository, gone.author, gone.login, gone.head) == (None, None, "", pull.head)
    other = harness.pull("other")
    other.user = None
    assert recent_pull_numbers(harness.connect(), gone, harness.github.now) == (pull.number,)
    assert bool(harness.github.complaints) == (description is not None)
    harness.github.complaints.clear()
