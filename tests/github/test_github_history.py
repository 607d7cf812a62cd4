"""The first author of a path is the account that opened the merged pull request, whatever its commits state."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from evaluator.errors import UsageError
from evaluator.github.history import first_author
from tests.doubles.github import InjectedFault, Method, Pull, User
from tests.doubles.github.commits import Author, write_commit
from tests.doubles.github.responses import pull_document, user_document
from tests.github.github_harness import FILES, GithubHarness

PATH = "submissions/mine"
READ = {"contents": "read", "pull_requests": "read"}


def owner(harness: GithubHarness, path: str = PATH) -> int | None:
    return first_author(harness.connect(READ), path)


def merged(
    harness: GithubHarness, user: User, branch: str, files: dict[str, bytes | None], *, old: str | None = None
) -> Pull:
    """Merge a pull request of this user. Its branch starts at the commit `old`, or at the present head of main."""
    harness.github.now += timedelta(days=1)
    name = f"{user.login}/board"
    fork = harness.github.repositories.get(name) or harness.github.fork(harness.board, user)
    fork.git.fetch(harness.board.git, "refs/heads/main", "refs/heads/main")
    if old:
        fork.git.run("update-ref", "refs/heads/main", old)
    fork.git.commit(branch, files)
    pull = harness.github.open_pull(harness.board, fork, branch)
    harness.github.merge(harness.board, pull)
    return pull


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("pushes", [1, 3])
def test_it_is_who_opened_the_pull_request(harness: GithubHarness, method: Method, pushes: int) -> None:
    """The account that opened the pull request is the author, for each merge method and despite later changes."""
    pull = harness.pull()
    for each in range(pushes - 1):
        harness.github.push(harness.board, pull, {f"{PATH}/{each}.jsonl": b"{}\n"})
    harness.board.git.commit("main", {"elsewhere": b"x"})
    harness.github.merge(harness.board, pull, method)
    merged(harness, harness.github.user("later"), "fix", {f"{PATH}/core.jsonl": b"mended\n"})
    harness.board.git.commit("main", {f"{PATH}/core.verdicts.jsonl": b"{}\n"})
    assert owner(harness) == harness.stranger.id


def test_nobody_is_told_where_there_was_no_pull_request(harness: GithubHarness) -> None:
    """A path that maintainers pushed, or that never existed, has no author."""
    assert [owner(harness, path) for path in ("submissions/old", "submissions/none")] == [None, None]


@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_pull_request_that_was_not_merged_brought_nothing(harness: GithubHarness, state: str) -> None:
    """An unmerged pull request does not count, because anyone may open one with a commit that was pushed to main."""
    harness.fork.git.commit("mine", FILES)
    head = harness.board.git.fetch(harness.fork.git, "refs/heads/mine", "refs/heads/main")
    thief = harness.github.fork(harness.board, harness.github.user("thief"))
    harness.github.open_pull(harness.board, thief, "main").state = state
    assert harness.board.git.find("refs/heads/main") == head
    assert owner(harness) is None


def test_a_commits_author_is_not_believed(harness: GithubHarness) -> None:
    """A commit's author is free text. The account that opened the pull request counts."""
    parent = harness.board.git.resolve("refs/heads/main")
    tree = harness.fork.git.resolve(f"{harness.fork.git.commit('mine', FILES)}^{{tree}}")
    said = Author("maintainer", f"{harness.maintainer.id}+maintainer@users.noreply.github.com", harness.github.now)
    made = write_commit(harness.fork.git, tree, [parent], "By the maintainer", said)
    harness.fork.git.run("update-ref", "refs/heads/mine", made)
    harness.github.merge(harness.board, harness.github.open_pull(harness.board, harness.fork, "mine"))
    assert owner(harness) == harness.stranger.id


def test_a_path_that_was_withdrawn_stays_its_first_authors(harness: GithubHarness) -> None:
    """A withdrawn path keeps its first author, even if a branch from before its first merge adds it again."""
    before = harness.board.git.resolve("refs/heads/main")
    harness.github.merge(harness.board, harness.pull())
    merged(harness, harness.stranger, "withdraw", dict.fromkeys(FILES))
    assert owner(harness) == harness.stranger.id
    merged(harness, harness.github.user("second"), "again", {f"{PATH}/core.jsonl": b"again\n"}, old=before)
    assert harness.board.git.blob(f"main:{PATH}/core.jsonl") == b"again\n"
    assert owner(harness) == harness.stranger.id


def test_a_commit_dated_before_all_others_is_not_the_first(harness: GithubHarness) -> None:
    """Git orders commits by date, and the author of a commit chooses the date. An early date does not win."""
    before = harness.board.git.resolve("refs/heads/main")
    harness.github.merge(harness.board, harness.pull())
    thief = harness.github.fork(harness.board, harness.github.user("thief"))
    tree = thief.git.resolve(f"{thief.git.commit('y', {f'{PATH}/more.jsonl': b''}, root=True)}^{{tree}}")
    said = Author("thief", "thief@example.org", harness.github.now - timedelta(days=9_000))
    thief.git.run("update-ref", "refs/heads/theft", write_commit(thief.git, tree, [before], "Earlier", said))
    harness.github.merge(harness.board, harness.github.open_pull(harness.board, thief, "theft"))
    assert owner(harness) == harness.stranger.id


def test_another_branchs_pull_request_is_none(harness: GithubHarness) -> None:
    """A pull request that was merged into another branch does not count for this branch."""
    harness.board.git.commit("next", {"NEXT.md": b"x\n"})
    pull = harness.pull()
    pull.base_ref = "next"
    harness.github.merge(harness.board, pull)
    harness.board.git.run("update-ref", "refs/heads/main", "refs/heads/next")
    assert owner(harness) is None


@pytest.mark.parametrize(
    "change", [{"merged_at": None}, {"base": {"ref": "next"}}, {"base": {"repo": {"full_name": "thief/board"}}}]
)
def test_of_what_github_names_only_a_merge_into_this_branch_counts(
    harness: GithubHarness, change: dict[str, Any]
) -> None:
    """GitHub also lists open pull requests with the commit and merges into other branches. They do not count."""
    pull = harness.pull()
    harness.github.merge(harness.board, pull)
    true = pull_document(harness.github.url, harness.board, pull)
    other = {**true, "user": user_document(harness.github.url, harness.github.user("thief")), **change}
    if "base" in change:
        repo = {**true["base"]["repo"], **change["base"].get("repo", {})}
        other["base"] = {**true["base"], **change["base"], "repo": repo}
    early = {"merged_at": other["merged_at"] and "2020-01-01T00:00:00Z"}
    harness.github.faults.append(InjectedFault(200, method="GET", path="/pulls", document=[{**other, **early}, true]))
    assert owner(harness) == harness.stranger.id


def test_of_several_merges_the_first_counts(harness: GithubHarness) -> None:
    pull = harness.pull()
    harness.github.merge(harness.board, pull)
    true = pull_document(harness.github.url, harness.board, pull)
    later = {**true, "number": 1, "merged_at": "2030-01-01T00:00:00Z", "merge_commit_sha": None}
    later["user"] = user_document(harness.github.url, harness.github.user("thief"))
    harness.github.faults += [
        InjectedFault(200, method="GET", path="/pulls", document=each) for each in ([later, true], [later])
    ]
    assert owner(harness) == harness.stranger.id
    assert owner(harness) == harness.github.user("thief").id


def test_an_account_may_be_gone(harness: GithubHarness) -> None:
    pull = harness.pull()
    harness.github.merge(harness.board, pull)
    pull.user = None
    assert owner(harness) is None


def test_a_long_history_is_read_to_its_end(harness: GithubHarness) -> None:
    harness.github.merge(harness.board, harness.pull())
    said = b"commit refs/heads/main\ncommitter A <a@b.org> 1767225600 +0000\ndata 1\nx\n"
    place = f"M 100644 inline {PATH}/core.jsonl\n".encode()
    stream = [said, f"from {harness.board.git.resolve('refs/heads/main')}\n".encode(), place, b"data 1\nx\n"]
    stream += [part for each in range(110) for part in (said, place, b"data 3\n%03d\n" % each)]
    harness.board.git.run("fast-import", "--quiet", given=b"".join(stream))
    assert owner(harness) == harness.stranger.id
    assert harness.asked().count("GET /commits") == 3


def test_a_branch_that_is_not_there_is_told(harness: GithubHarness) -> None:
    with pytest.raises(UsageError, match="looking up the first author of submissions/mine"):
        first_author(harness.connect(READ), PATH, "none")
