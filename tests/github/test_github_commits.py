"""Commits through the API, without a clone. Git holds the written bytes, and a lost answer repeats no commit."""

from __future__ import annotations

import pytest

from evaluator.errors import GitHubError, MovedError, UsageError
from evaluator.github.commits import LARGEST, blob_names, branch_head, commit_files, replace_branch
from evaluator.github.connection import Connection
from tests.doubles.github import InjectedFault, Link
from tests.github.github_harness import BOT, GithubHarness

WRITE = {"contents": "write"}
CONTENTS = {
    "text": "Ünï\r\n\tcode\u2028\n".encode(),
    "bytes": bytes(range(256)),
    "nul": b"a\0b",
    "empty": b"",
    "large text": b"line\n" * 60_000,
    "mark": b"\xef\xbb\xbfx\n",
}


def head(harness: GithubHarness, branch: str = "main") -> str:
    return harness.board.git.resolve(f"refs/heads/{branch}")


def put(harness: GithubHarness, files: dict[str, bytes | None], message: str = "A change", **fields: str) -> str:
    return commit_files(harness.connect(WRITE), "main", fields.get("onto", head(harness)), files, message)


def listed(harness: GithubHarness, name: str) -> dict[str, bytes]:
    """Return the content of every file of a commit, by path."""
    entries = harness.board.git.tree(name, recursive=True)
    return {each.path: harness.board.git.blob(each.sha) for each in entries if each.kind == "blob"}


def test_files_are_committed_byte_for_byte(harness: GithubHarness) -> None:
    """Text is sent with the tree and other bytes as base64 blobs before it. All other files of the branch stay."""
    before = head(harness)
    made = put(harness, {f"a/b/{name}.x": content for name, content in CONTENTS.items()}, "Words\n\nand more")
    assert head(harness) == made != before
    found = listed(harness, made)
    assert {path: found[path] for path in found if path.startswith("a/b/")} == {
        f"a/b/{name}.x": content for name, content in CONTENTS.items()
    }
    assert found["README.md"] == b"A board.\n"
    assert harness.board.git.run("log", "-1", "--format=%P %an %B", made).decode().split("\n\n\n")[0].startswith(before)
    assert len([each for each in harness.asked("POST") if each == "POST /git/blobs"]) == 3


def test_a_file_is_removed_and_the_absent_one_is_no_fault(harness: GithubHarness) -> None:
    made = put(harness, {"submissions/old/core.jsonl": None, "submissions/none": None, "new": b"x"})
    assert listed(harness, made) == {"README.md": b"A board.\n", "new": b"x"}


@pytest.mark.parametrize("files", [{}, {"README.md": b"A board.\n"}, {"none": None}])
def test_what_stands_so_already_is_not_committed(harness: GithubHarness, files: dict[str, bytes | None]) -> None:
    before = head(harness)
    assert put(harness, files) == before == head(harness)
    assert harness.asked("POST") + harness.asked("PATCH") == []


def test_a_link_in_the_place_of_a_file_becomes_one(harness: GithubHarness) -> None:
    """A symbolic link is replaced by a regular file although both have the same bytes."""
    harness.board.git.commit("main", {"link": Link("README.md")})
    made = put(harness, {"link": b"README.md"})
    assert [each.mode for each in harness.board.git.tree(made, recursive=True) if each.path == "link"] == ["100644"]


def test_a_branch_that_moved_is_left_alone(harness: GithubHarness) -> None:
    before = head(harness)
    harness.board.git.commit("main", {"other": b"x"})
    now = head(harness)
    with pytest.raises(MovedError, match=f"'main' is at {now}: expected {before}"):
        put(harness, {"mine": b"x"}, onto=before)
    with pytest.raises(MovedError, match="'none' is missing"):
        commit_files(harness.connect(WRITE), "none", before, {"mine": b"x"}, "m")
    assert head(harness) == now
    assert harness.asked("POST") == []


def test_a_push_while_the_commit_is_made_is_not_lost(harness: GithubHarness) -> None:
    """The client updates the branch without force, and its error names the commit that another push made."""
    before = head(harness)
    other = harness.board.git.commit("other", {"other": b"x"})
    harness.board.git.run("update-ref", "refs/heads/main", other)
    connection = harness.connect(WRITE)
    # the first request still returns the commit that the branch had before the push
    document = {"ref": "refs/heads/main", "node_id": "x", "object": {"type": "commit", "sha": before, "url": "x"}}
    document["url"] = f"{harness.github.url}/repos/maintainer/board/git/refs/heads/main"
    harness.github.faults.append(InjectedFault(200, method="GET", path="/git/ref/heads/main", document=document))
    with pytest.raises(MovedError, match=f"at {other}"):
        commit_files(connection, "main", before, {"mine": b"x"}, "m")
    assert head(harness) == other
    assert harness.asked("PATCH") == ["PATCH /git/refs/heads/main"]


@pytest.mark.parametrize("allowed", [False, True])
def test_a_protected_branch_lets_those_push_that_it_lets(harness: GithubHarness, allowed: bool) -> None:
    before = head(harness)
    harness.board.protected["main"] = frozenset({BOT.id} if allowed else {})
    if allowed:
        assert put(harness, {"mine": b"x"}) == head(harness) != before
        return
    with pytest.raises(GitHubError, match=r"GitHub answered 422: Repository rule violations found") as told:
        put(harness, {"mine": b"x"})
    assert not isinstance(told.value, MovedError)
    assert head(harness) == before


LOST = [("POST", "/git/blobs"), ("POST", "/git/trees"), ("POST", "/git/commits"), ("PATCH", "/git/refs/heads/main")]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("method", "path"), LOST)
def test_a_lost_answer_makes_no_second_commit(harness: GithubHarness, method: str, path: str, late: bool) -> None:
    before = head(harness)
    harness.github.faults.append(InjectedFault(502, method=method, path=path, late=late))
    made = put(harness, {"mine": bytes(range(256))})
    assert harness.github.faults == []
    assert harness.board.git.run("rev-list", f"{before}..main").decode().split() == [made]


def test_a_commit_that_was_made_before_is_found(harness: GithubHarness) -> None:
    """A repeated call with the same base returns the commit of the first call and raises no `MovedError`."""
    before = head(harness)
    files = {"mine": b"x", "README.md": None}
    made = put(harness, files, onto=before)
    assert put(harness, files, onto=before) == made == head(harness)
    with pytest.raises(MovedError):
        put(harness, {**files, "mine": b"y"}, onto=before)
    with pytest.raises(MovedError):
        put(harness, files, "Another change", onto=before)


def test_bytes_that_github_did_not_keep_are_an_error(harness: GithubHarness) -> None:
    """A blob's name is the digest of its content, so another name in GitHub's answer is an error."""
    before = head(harness)
    document = {"sha": "1" * 40, "url": f"{harness.github.url}/x"}
    harness.github.faults.append(InjectedFault(201, method="POST", path="/git/blobs", document=document))
    with pytest.raises(GitHubError, match="stored other bytes than mine has"):
        put(harness, {"mine": b"\xff"})
    assert head(harness) == before


def test_many_texts_are_one_request_up_to_a_size(harness: GithubHarness) -> None:
    """At most 4 MiB of text is sent with the tree. The rest is sent before as blobs."""
    files: dict[str, bytes | None] = {f"{each:02}.txt": b"%02d\n" % each + b"x" * (2**18 - 3) for each in range(18)}
    made = put(harness, {**files, "small.txt": b"small\n"})
    assert harness.asked("POST").count("POST /git/blobs") == 2 + 1
    assert {path: content for path, content in listed(harness, made).items() if path in files} == files


@pytest.mark.parametrize("act", ["commit", "replace"])
def test_what_is_too_large_is_refused_before_anything_is_sent(harness: GithubHarness, act: str) -> None:
    files: dict[str, bytes | None] = {"large": bytes(LARGEST + 1)}
    with pytest.raises(UsageError, match=f"large: {LARGEST + 1} bytes: expected at most {LARGEST}"):
        put(harness, files) if act == "commit" else replace_branch(harness.connect(WRITE), "evidence", files, "m")
    assert harness.asked("POST") == []


def replace(harness: GithubHarness, files: dict[str, bytes | None]) -> str:
    return replace_branch(harness.connect(WRITE), "evidence", files, "Evidence")


def test_a_replaced_branch_is_always_one_commit(harness: GithubHarness) -> None:
    """A replaced branch is created if it is missing, keeps its other files, and has one commit only."""
    main = head(harness)
    first = replace(harness, {"a": b"1", "b/c": bytes(range(256))})
    assert listed(harness, first) == {"a": b"1", "b/c": bytes(range(256))}
    second = replace(harness, {"a": None, "d": b"4"})
    assert head(harness, "evidence") == second
    assert listed(harness, second) == {"b/c": bytes(range(256)), "d": b"4"}
    assert harness.board.git.run("rev-list", "evidence").decode().split() == [second]
    assert head(harness) == main


def test_a_replaced_branch_that_says_so_already_stays(harness: GithubHarness) -> None:
    first = replace(harness, {"a": b"1"})
    before = len(harness.asked())
    assert replace(harness, {"a": b"1", "none": None}) == first
    assert [each.split()[0] for each in harness.asked()[before:]] == ["GET"] * 3


def test_a_branch_with_a_history_loses_it_even_where_its_files_stand(harness: GithubHarness) -> None:
    """A branch with several commits is replaced by one commit, even if its files are the same."""
    replace(harness, {"a": b"1"})
    harness.board.git.commit("evidence", {"a": b"2"})
    made = replace(harness, {"a": b"2"})
    assert harness.board.git.run("rev-list", "evidence").decode().split() == [made]


@pytest.mark.parametrize("late", [False, True])
def test_a_lost_answer_to_a_new_branch_is_no_fault(harness: GithubHarness, late: bool) -> None:
    harness.github.faults.append(InjectedFault(502, method="POST", path="/git/refs", late=late))
    assert replace(harness, {"a": b"1"}) == head(harness, "evidence")


def test_a_branch_of_nothing_is_wrong_use(harness: GithubHarness) -> None:
    with pytest.raises(ValueError, match="no file to create it with"):
        replace(harness, {"a": None})


@pytest.mark.parametrize("branch", ["none", "mai", "main/x"])
def test_a_branch_that_is_not_there_has_no_head(harness: GithubHarness, branch: str) -> None:
    assert branch_head(harness.connect(WRITE), branch) is None


def named(connection: Connection, commit: str, *paths: str) -> dict[str, str | None]:
    return blob_names(connection, commit, paths)


@pytest.mark.parametrize("most", [100_000, 5])
def test_contents_are_told_by_their_names(harness: GithubHarness, most: int) -> None:
    """Blob names are found even if the tree is so large that GitHub truncates its list."""
    harness.board.git.commit("main", {"a/b/c": b"deep", "a/d": b"d", "z": b"z", "link": Link("z")})
    harness.github.tree_entries = most
    found = named(harness.connect(WRITE), head(harness), "a/b/c", "a/b", "z", "a/x", "x/y", "README.md/x")
    expected = {"a/b/c": "main:a/b/c", "z": "main:z"}
    assert {path: sha for path, sha in found.items() if sha} == {
        path: harness.board.git.resolve(name) for path, name in expected.items()
    }
    assert set(found) == {"a/b/c", "a/b", "z", "a/x", "x/y", "README.md/x"}


def test_a_folder_that_github_does_not_list_whole_is_an_error(harness: GithubHarness) -> None:
    """A truncated folder is an error, because an unlisted file would seem to be missing."""
    harness.board.git.commit("main", {f"{each}.txt": b"" for each in range(4)})
    harness.github.tree_entries = 4
    with pytest.raises(GitHubError, match="the folder has more names than GitHub lists"):
        named(harness.connect(WRITE), head(harness), "README.md")
