"""Who first added a path: whoever opened the pull request that GitHub merged, whatever a commit says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from evaluator.errors import UsageError
from evaluator.github.history import first_author
from tests.doubles.github import Fault, Method, Pull, User
from tests.doubles.github.commits import Author, write_commit
from tests.doubles.github.responses import pull_document, user_document
from tests.github.github_bench import FILES, Bench

PATH = "submissions/mine"
READ = {"contents": "read", "pull_requests": "read"}


def owner(bench: Bench, path: str = PATH) -> int | None:
    return first_author(bench.connect(READ), path)


def merged(bench: Bench, user: User, branch: str, files: dict[str, bytes | None], *, old: str | None = None) -> Pull:
    """A person's pull request that was merged; its branch left main at `old`, or where main is now."""
    bench.github.now += timedelta(days=1)
    name = f"{user.login}/board"
    fork = bench.github.repositories.get(name) or bench.github.fork(bench.board, user)
    fork.git.fetch(bench.board.git, "refs/heads/main", "refs/heads/main")
    if old:
        fork.git.run("update-ref", "refs/heads/main", old)
    fork.git.commit(branch, files)
    pull = bench.github.open_pull(bench.board, fork, branch)
    bench.github.merge(bench.board, pull)
    return pull


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("pushes", [1, 3])
def test_it_is_who_opened_the_pull_request(bench: Bench, method: Method, pushes: int) -> None:
    """However it was merged, of however many commits, and whatever others did to the path later."""
    pull = bench.pull()
    for each in range(pushes - 1):
        bench.github.push(bench.board, pull, {f"{PATH}/{each}.jsonl": b"{}\n"})
    bench.board.git.commit("main", {"elsewhere": b"x"})
    bench.github.merge(bench.board, pull, method)
    merged(bench, bench.github.user("later"), "fix", {f"{PATH}/core.jsonl": b"mended\n"})
    bench.board.git.commit("main", {f"{PATH}/core.verdicts.jsonl": b"{}\n"})
    assert owner(bench) == bench.stranger.id


def test_nobody_is_told_where_there_was_no_pull_request(bench: Bench) -> None:
    """What maintainers pushed is nobody's, nor is what was never there."""
    assert [owner(bench, path) for path in ("submissions/old", "submissions/none")] == [None, None]


@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_pull_request_that_was_not_merged_brought_nothing(bench: Bench, state: str) -> None:
    """Anybody may open one with a commit that was pushed to main."""
    bench.fork.git.commit("mine", FILES)
    head = bench.board.git.fetch(bench.fork.git, "refs/heads/mine", "refs/heads/main")
    thief = bench.github.fork(bench.board, bench.github.user("thief"))
    bench.github.open_pull(bench.board, thief, "main").state = state
    assert bench.board.git.find("refs/heads/main") == head
    assert owner(bench) is None


def test_a_commits_author_is_not_believed(bench: Bench) -> None:
    """A commit is whoever's its maker writes; the pull request is its opener's."""
    parent = bench.board.git.resolve("refs/heads/main")
    tree = bench.fork.git.resolve(f"{bench.fork.git.commit('mine', FILES)}^{{tree}}")
    said = Author("maintainer", f"{bench.maintainer.id}+maintainer@users.noreply.github.com", bench.github.now)
    made = write_commit(bench.fork.git, tree, [parent], "By the maintainer", said)
    bench.fork.git.run("update-ref", "refs/heads/mine", made)
    bench.github.merge(bench.board, bench.github.open_pull(bench.board, bench.fork, "mine"))
    assert owner(bench) == bench.stranger.id


def test_a_path_that_was_withdrawn_stays_its_first_authors(bench: Bench) -> None:
    """Also where it comes back on a branch that left main before it was ever there: git then shows no other history."""
    before = bench.board.git.resolve("refs/heads/main")
    bench.github.merge(bench.board, bench.pull())
    merged(bench, bench.stranger, "withdraw", dict.fromkeys(FILES))
    assert owner(bench) == bench.stranger.id
    merged(bench, bench.github.user("second"), "again", {f"{PATH}/core.jsonl": b"again\n"}, old=before)
    assert bench.board.git.blob(f"main:{PATH}/core.jsonl") == b"again\n"
    assert owner(bench) == bench.stranger.id


def test_a_commit_dated_before_all_others_is_not_the_first(bench: Bench) -> None:
    """Git orders by dates, and dates are their author's."""
    before = bench.board.git.resolve("refs/heads/main")
    bench.github.merge(bench.board, bench.pull())
    thief = bench.github.fork(bench.board, bench.github.user("thief"))
    tree = thief.git.resolve(f"{thief.git.commit('y', {f'{PATH}/more.jsonl': b''}, root=True)}^{{tree}}")
    said = Author("thief", "thief@example.org", bench.github.now - timedelta(days=9_000))
    thief.git.run("update-ref", "refs/heads/theft", write_commit(thief.git, tree, [before], "Earlier", said))
    bench.github.merge(bench.board, bench.github.open_pull(bench.board, thief, "theft"))
    assert owner(bench) == bench.stranger.id


def test_another_branchs_pull_request_is_none(bench: Bench) -> None:
    """What was merged elsewhere does not make it theirs here."""
    bench.board.git.commit("next", {"NEXT.md": b"x\n"})
    pull = bench.pull()
    pull.base_ref = "next"
    bench.github.merge(bench.board, pull)
    bench.board.git.run("update-ref", "refs/heads/main", "refs/heads/next")
    assert owner(bench) is None


@pytest.mark.parametrize(
    "change", [{"merged_at": None}, {"base": {"ref": "next"}}, {"base": {"repo": {"full_name": "thief/board"}}}]
)
def test_of_what_github_names_only_a_merge_into_this_branch_counts(bench: Bench, change: dict[str, Any]) -> None:
    """It names open pull requests with the same commit too, and merges elsewhere."""
    pull = bench.pull()
    bench.github.merge(bench.board, pull)
    true = pull_document(bench.github.url, bench.board, pull)
    other = {**true, "user": user_document(bench.github.url, bench.github.user("thief")), **change}
    if "base" in change:
        repo = {**true["base"]["repo"], **change["base"].get("repo", {})}
        other["base"] = {**true["base"], **change["base"], "repo": repo}
    early = {"merged_at": other["merged_at"] and "2020-01-01T00:00:00Z"}
    bench.github.faults.append(Fault(200, method="GET", path="/pulls", document=[{**other, **early}, true]))
    assert owner(bench) == bench.stranger.id


def test_of_several_merges_the_first_counts(bench: Bench) -> None:
    pull = bench.pull()
    bench.github.merge(bench.board, pull)
    true = pull_document(bench.github.url, bench.board, pull)
    later = {**true, "number": 1, "merged_at": "2030-01-01T00:00:00Z", "merge_commit_sha": None}
    later["user"] = user_document(bench.github.url, bench.github.user("thief"))
    bench.github.faults += [Fault(200, method="GET", path="/pulls", document=each) for each in ([later, true], [later])]
    assert owner(bench) == bench.stranger.id
    assert owner(bench) == bench.github.user("thief").id


def test_an_account_may_be_gone(bench: Bench) -> None:
    pull = bench.pull()
    bench.github.merge(bench.board, pull)
    pull.user = None
    assert owner(bench) is None


def test_a_long_history_is_read_to_its_end(bench: Bench) -> None:
    bench.github.merge(bench.board, bench.pull())
    said = b"commit refs/heads/main\ncommitter A <a@b.org> 1767225600 +0000\ndata 1\nx\n"
    place = f"M 100644 inline {PATH}/core.jsonl\n".encode()
    stream = [said, f"from {bench.board.git.resolve('refs/heads/main')}\n".encode(), place, b"data 1\nx\n"]
    stream += [part for each in range(110) for part in (said, place, b"data 3\n%03d\n" % each)]
    bench.board.git.run("fast-import", "--quiet", given=b"".join(stream))
    assert owner(bench) == bench.stranger.id
    assert bench.asked().count("GET /commits") == 3


def test_a_branch_that_is_not_there_is_told(bench: Bench) -> None:
    with pytest.raises(UsageError, match="asking who first added submissions/mine"):
        first_author(bench.connect(READ), PATH, "none")
