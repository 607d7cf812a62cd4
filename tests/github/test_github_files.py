"""A submission is read at a commit: regular files within limits are read, and other entries are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import GitHubError, Problem
from evaluator.github.repository_files import SubmissionFiles, read_file, read_submission
from evaluator.submissions.limits import SubmissionLimits
from tests.doubles.github import InjectedFault, Link, Submodule
from tests.github.github_harness import FILES, GithubHarness

PLACE = Path("submissions/mine")
LIMITS = SubmissionLimits(file_bytes=1_000, manifest_bytes=100, entries=8)


def read(harness: GithubHarness, commit: str, folder: str = "submissions/mine") -> SubmissionFiles:
    return read_submission(harness.connect(), commit, folder, LIMITS)


def told(files: SubmissionFiles) -> dict[str, str]:
    return {problem.path.as_posix(): problem.message for problem in files.problems}


def test_files_are_read_byte_for_byte(harness: GithubHarness, tmp_path: Path) -> None:
    """Files are read as they are at the commit, even after a later push, and are written with the same bytes."""
    content = bytes(range(256)) * 3
    pull = harness.pull(files={**FILES, "submissions/mine/core.jsonl": content})
    head = pull.head
    harness.github.push(harness.board, pull, {"submissions/mine/core.jsonl": b"other\n"}, force=True)
    files = read(harness, head)
    assert (dict(files.files), files.problems) == ({"submission.toml": b"format = 1\n", "core.jsonl": content}, ())
    files.write(tmp_path / "written" / "mine")
    assert (tmp_path / "written" / "mine" / "core.jsonl").read_bytes() == content


@pytest.mark.parametrize("content", ["YWxpZW4=", "e30", "", "=!"])
def test_bytes_that_the_commit_does_not_hold_are_an_error(harness: GithubHarness, content: str) -> None:
    """A blob's name is the digest of its content, so content with another digest is an error."""
    sha = harness.fork.git.store("blob", b"{}\n")
    document = {"sha": sha, "size": 3, "content": content, "encoding": "base64"}
    head = harness.pull().head
    harness.github.faults.append(InjectedFault(200, path=f"/git/blobs/{sha}", document=document))
    with pytest.raises(GitHubError, match=r"other bytes than blob|is not valid base64"):
        read(harness, head)


def test_what_is_no_regular_file_is_refused_and_not_fetched(harness: GithubHarness) -> None:
    files = {
        "submissions/mine/link.jsonl": Link("/etc/passwd"),
        "submissions/mine/module": Submodule("1" * 40),
        "submissions/mine/folder/core.jsonl": b"{}\n",
    }
    found = read(harness, harness.pull(files=files).head)
    rest = ": expected a regular file; put the file itself here, or remove it"
    assert found.files == {}
    assert told(found) == {
        "submissions/mine/link.jsonl": f"a symbolic link{rest}",
        "submissions/mine/module": f"a submodule{rest}",
        "submissions/mine/folder": f"a folder{rest}",
    }
    assert not [each for each in harness.asked() if "/git/blobs/" in each]


@pytest.mark.parametrize(("name", "most"), [("core.jsonl", 1_000), ("submission.toml", 100)])
def test_what_is_too_large_is_refused_and_not_fetched(harness: GithubHarness, name: str, most: int) -> None:
    """The tree gives the size of a file. A file of exactly the limit is read, and a larger one is not downloaded."""
    large = harness.pull(files={f"submissions/mine/{name}": b"x" * (most + 1)})
    assert told(read(harness, large.head)) == {f"submissions/mine/{name}": f"{most + 1} bytes: expected at most {most}"}
    assert not [each for each in harness.asked() if "/git/blobs/" in each]
    fitting = harness.pull("fitting", {f"submissions/mine/{name}": b"x" * most})
    assert len(read(harness, fitting.head).files[name]) == most


def test_no_more_names_are_read_than_the_limit(harness: GithubHarness) -> None:
    """A folder with more names than the limit is reported, and so is one whose list GitHub truncates."""
    pull = harness.pull(files={f"submissions/mine/{number}.jsonl": b"" for number in range(9)})
    found = read(harness, pull.head)
    assert (len(found.files), found.problems) == (
        8,
        (Problem(PLACE, 0, "more than 8 names in this folder: the rest is not checked"),),
    )
    harness.github.tree_entries = 5
    assert "the rest is not checked" in told(read(harness, pull.head))["submissions/mine"]


@pytest.mark.parametrize("name", ["..", ".", "../../x", ".GIT", "a\\b", "a\nb", "\u202eb", "n" * 300])
def test_a_name_that_git_would_not_write_is_refused(harness: GithubHarness, name: str, tmp_path: Path) -> None:
    """A tree that was made without git may hold unsafe names. Such a name never becomes part of a path."""
    head = harness.fork.git.commit_entries(
        "mine", ("submissions", "mine"), [("100644", name, b"x"), ("100644", "z", b"")]
    )
    harness.github.open_pull(harness.board, harness.fork, "mine")
    found = read(harness, head)
    assert (set(found.files), len(found.problems)) == ({"z"}, 1)
    assert found.problems[0].path == PLACE
    found.write(tmp_path / "written")
    assert [each.name for each in (tmp_path / "written").iterdir()] == ["z"]


@pytest.mark.parametrize(
    "files", [{"submissions/other/core.jsonl": b""}, {"submissions/mine": Link("other")}, {"x": b""}]
)
def test_a_folder_that_is_not_there_is_told(harness: GithubHarness, files: dict[str, bytes | Link]) -> None:
    """A missing folder is reported. A link with the folder's name does not count as a folder."""
    assert told(read(harness, harness.pull(files=files).head)) == {
        "submissions/mine": "there is no such folder in this commit"
    }


def test_one_file_is_read_as_it_is_at_a_commit(harness: GithubHarness) -> None:
    at = harness.board.git.commit("main", {"deep/down/kept": b"\0\xff", "deep/link": Link("down/kept")})
    harness.board.git.commit("main", {"deep/down/kept": b"later"})
    connection = harness.connect()
    assert read_file(connection, at, "deep/down/kept") == b"\0\xff"
    assert [read_file(connection, at, path) for path in ("deep/none", "no/where", "deep/link", "deep")] == [None] * 4
    with pytest.raises(GitHubError, match="has 2 bytes: expected at most 1"):
        read_file(connection, at, "deep/down/kept", 1)
