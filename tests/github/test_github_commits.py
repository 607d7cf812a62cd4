"""Commits without a clone: what is written is what git holds, nothing is forced that should not be, nothing twice."""

from __future__ import annotations

import pytest

from evaluator.errors import GitHubError, MovedError, UsageError
from evaluator.github.commits import LARGEST, blob_names, branch_head, commit_files, replace_branch
from evaluator.github.connection import Connection
from tests.doubles.github import Fault, Link
from tests.github.github_bench import BOT, Bench

WRITE = {"contents": "write"}
CONTENTS = {
    "text": "Ünï\r\n\tcode\u2028\n".encode(),
    "bytes": bytes(range(256)),
    "nul": b"a\0b",
    "empty": b"",
    "large text": b"line\n" * 60_000,
    "mark": b"\xef\xbb\xbfx\n",
}


def head(bench: Bench, branch: str = "main") -> str:
    return bench.board.git.resolve(f"refs/heads/{branch}")


def put(bench: Bench, files: dict[str, bytes | None], message: str = "A change", **fields: str) -> str:
    return commit_files(bench.connect(WRITE), "main", fields.get("onto", head(bench)), files, message)


def listed(bench: Bench, name: str) -> dict[str, bytes]:
    """Every file of a commit."""
    entries = bench.board.git.tree(name, recursive=True)
    return {each.path: bench.board.git.blob(each.sha) for each in entries if each.kind == "blob"}


def test_files_are_committed_byte_for_byte(bench: Bench) -> None:
    """As text with the tree or as base64 before it; what is not named stays."""
    before = head(bench)
    made = put(bench, {f"a/b/{name}.x": content for name, content in CONTENTS.items()}, "Words\n\nand more")
    assert head(bench) == made != before
    found = listed(bench, made)
    assert {path: found[path] for path in found if path.startswith("a/b/")} == {
        f"a/b/{name}.x": content for name, content in CONTENTS.items()
    }
    assert found["README.md"] == b"A board.\n"
    assert bench.board.git.run("log", "-1", "--format=%P %an %B", made).decode().split("\n\n\n")[0].startswith(before)
    assert len([each for each in bench.asked("POST") if each == "POST /git/blobs"]) == 3


def test_a_file_is_removed_and_the_absent_one_is_no_fault(bench: Bench) -> None:
    made = put(bench, {"submissions/old/core.jsonl": None, "submissions/none": None, "new": b"x"})
    assert listed(bench, made) == {"README.md": b"A board.\n", "new": b"x"}


@pytest.mark.parametrize("files", [{}, {"README.md": b"A board.\n"}, {"none": None}])
def test_what_stands_so_already_is_not_committed(bench: Bench, files: dict[str, bytes | None]) -> None:
    before = head(bench)
    assert put(bench, files) == before == head(bench)
    assert bench.asked("POST") + bench.asked("PATCH") == []


def test_a_link_in_the_place_of_a_file_becomes_one(bench: Bench) -> None:
    """It has the same bytes and another meaning."""
    bench.board.git.commit("main", {"link": Link("README.md")})
    made = put(bench, {"link": b"README.md"})
    assert [each.mode for each in bench.board.git.tree(made, recursive=True) if each.path == "link"] == ["100644"]


def test_a_branch_that_moved_is_left_alone(bench: Bench) -> None:
    before = head(bench)
    bench.board.git.commit("main", {"other": b"x"})
    now = head(bench)
    with pytest.raises(MovedError, match=f"'main' is at {now}: expected {before}"):
        put(bench, {"mine": b"x"}, onto=before)
    with pytest.raises(MovedError, match="'none' is nowhere"):
        commit_files(bench.connect(WRITE), "none", before, {"mine": b"x"}, "m")
    assert head(bench) == now
    assert bench.asked("POST") == []


def test_a_push_while_the_commit_is_made_is_not_lost(bench: Bench) -> None:
    """The branch is asked to go forward only; GitHub refuses, and both are told apart from a rule."""
    before = head(bench)
    other = bench.board.git.commit("other", {"other": b"x"})
    bench.board.git.run("update-ref", "refs/heads/main", other)
    connection = bench.connect(WRITE)
    # the first look still sees the branch where the work began
    document = {"ref": "refs/heads/main", "node_id": "x", "object": {"type": "commit", "sha": before, "url": "x"}}
    document["url"] = f"{bench.github.url}/repos/maintainer/board/git/refs/heads/main"
    bench.github.faults.append(Fault(200, method="GET", path="/git/ref/heads/main", document=document))
    with pytest.raises(MovedError, match=f"at {other}"):
        commit_files(connection, "main", before, {"mine": b"x"}, "m")
    assert head(bench) == other
    assert bench.asked("PATCH") == ["PATCH /git/refs/heads/main"]


@pytest.mark.parametrize("allowed", [False, True])
def test_a_protected_branch_lets_those_push_that_it_lets(bench: Bench, allowed: bool) -> None:
    before = head(bench)
    bench.board.protected["main"] = frozenset({BOT.id} if allowed else {})
    if allowed:
        assert put(bench, {"mine": b"x"}) == head(bench) != before
        return
    with pytest.raises(GitHubError, match=r"GitHub answered 422: Repository rule violations found") as told:
        put(bench, {"mine": b"x"})
    assert not isinstance(told.value, MovedError)
    assert head(bench) == before


LOST = [("POST", "/git/blobs"), ("POST", "/git/trees"), ("POST", "/git/commits"), ("PATCH", "/git/refs/heads/main")]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("method", "path"), LOST)
def test_a_lost_answer_makes_no_second_commit(bench: Bench, method: str, path: str, late: bool) -> None:
    before = head(bench)
    bench.github.faults.append(Fault(502, method=method, path=path, late=late))
    made = put(bench, {"mine": bytes(range(256))})
    assert bench.github.faults == []
    assert bench.board.git.run("rev-list", f"{before}..main").decode().split() == [made]


def test_a_commit_that_was_made_before_is_found(bench: Bench) -> None:
    """The same call again, from where the work began, is no collision with itself."""
    before = head(bench)
    files = {"mine": b"x", "README.md": None}
    made = put(bench, files, onto=before)
    assert put(bench, files, onto=before) == made == head(bench)
    with pytest.raises(MovedError):
        put(bench, {**files, "mine": b"y"}, onto=before)
    with pytest.raises(MovedError):
        put(bench, files, "Another change", onto=before)


def test_bytes_that_github_did_not_keep_are_an_error(bench: Bench) -> None:
    """What it made has the name of its content."""
    before = head(bench)
    document = {"sha": "1" * 40, "url": f"{bench.github.url}/x"}
    bench.github.faults.append(Fault(201, method="POST", path="/git/blobs", document=document))
    with pytest.raises(GitHubError, match="keeps other bytes than mine has"):
        put(bench, {"mine": b"\xff"})
    assert head(bench) == before


def test_many_texts_are_one_request_up_to_a_size(bench: Bench) -> None:
    """4 MiB go with the tree; the rest is sent before."""
    files: dict[str, bytes | None] = {f"{each:02}.txt": b"%02d\n" % each + b"x" * (2**18 - 3) for each in range(18)}
    made = put(bench, {**files, "small.txt": b"small\n"})
    assert bench.asked("POST").count("POST /git/blobs") == 2 + 1
    assert {path: content for path, content in listed(bench, made).items() if path in files} == files


@pytest.mark.parametrize("act", ["commit", "replace"])
def test_what_is_too_large_is_refused_before_anything_is_sent(bench: Bench, act: str) -> None:
    files: dict[str, bytes | None] = {"large": bytes(LARGEST + 1)}
    with pytest.raises(UsageError, match=f"large: {LARGEST + 1} bytes: expected at most {LARGEST}"):
        put(bench, files) if act == "commit" else replace_branch(bench.connect(WRITE), "evidence", files, "m")
    assert bench.asked("POST") == []


def replace(bench: Bench, files: dict[str, bytes | None]) -> str:
    return replace_branch(bench.connect(WRITE), "evidence", files, "Evidence")


def test_a_replaced_branch_is_always_one_commit(bench: Bench) -> None:
    """Made where it is not there; then what is not named stays, and earlier commits are nobody's any more."""
    main = head(bench)
    first = replace(bench, {"a": b"1", "b/c": bytes(range(256))})
    assert listed(bench, first) == {"a": b"1", "b/c": bytes(range(256))}
    second = replace(bench, {"a": None, "d": b"4"})
    assert head(bench, "evidence") == second
    assert listed(bench, second) == {"b/c": bytes(range(256)), "d": b"4"}
    assert bench.board.git.run("rev-list", "evidence").decode().split() == [second]
    assert head(bench) == main


def test_a_replaced_branch_that_says_so_already_stays(bench: Bench) -> None:
    first = replace(bench, {"a": b"1"})
    before = len(bench.asked())
    assert replace(bench, {"a": b"1", "none": None}) == first
    assert [each.split()[0] for each in bench.asked()[before:]] == ["GET"] * 3


def test_a_branch_with_a_history_loses_it_even_where_its_files_stand(bench: Bench) -> None:
    """Somebody may have pushed to it by hand."""
    replace(bench, {"a": b"1"})
    bench.board.git.commit("evidence", {"a": b"2"})
    made = replace(bench, {"a": b"2"})
    assert bench.board.git.run("rev-list", "evidence").decode().split() == [made]


@pytest.mark.parametrize("late", [False, True])
def test_a_lost_answer_to_a_new_branch_is_no_fault(bench: Bench, late: bool) -> None:
    bench.github.faults.append(Fault(502, method="POST", path="/git/refs", late=late))
    assert replace(bench, {"a": b"1"}) == head(bench, "evidence")


def test_a_branch_of_nothing_is_wrong_use(bench: Bench) -> None:
    with pytest.raises(ValueError, match="no file to make it of"):
        replace(bench, {"a": None})


@pytest.mark.parametrize("branch", ["none", "mai", "main/x"])
def test_a_branch_that_is_not_there_has_no_head(bench: Bench, branch: str) -> None:
    assert branch_head(bench.connect(WRITE), branch) is None


def named(connection: Connection, commit: str, *paths: str) -> dict[str, str | None]:
    return blob_names(connection, commit, paths)


@pytest.mark.parametrize("most", [100_000, 5])
def test_contents_are_told_by_their_names(bench: Bench, most: int) -> None:
    """Also where a tree is so large that GitHub cuts its list."""
    bench.board.git.commit("main", {"a/b/c": b"deep", "a/d": b"d", "z": b"z", "link": Link("z")})
    bench.github.tree_entries = most
    found = named(bench.connect(WRITE), head(bench), "a/b/c", "a/b", "z", "a/x", "x/y", "README.md/x")
    expected = {"a/b/c": "main:a/b/c", "z": "main:z"}
    assert {path: sha for path, sha in found.items() if sha} == {
        path: bench.board.git.resolve(name) for path, name in expected.items()
    }
    assert set(found) == {"a/b/c", "a/b", "z", "a/x", "x/y", "README.md/x"}


def test_a_folder_that_github_does_not_list_whole_is_an_error(bench: Bench) -> None:
    """What it leaves out would pass for what is not there."""
    bench.board.git.commit("main", {f"{each}.txt": b"" for each in range(4)})
    bench.github.tree_entries = 4
    with pytest.raises(GitHubError, match="does not list a folder of so many names"):
        named(bench.connect(WRITE), head(bench), "README.md")
