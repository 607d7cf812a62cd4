"""The GitHub double behaves like GitHub for our client, and its checker finds exchanges that the API does not allow."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.doubles.github import Method
from tests.doubles.github.commits import read_commit
from tests.doubles.github.description import Description
from tests.doubles.github.server import Exchange
from tests.github.github_harness import REPORT, GithubHarness


def ask(harness: GithubHarness, address: str, token: str) -> urllib3.BaseHTTPResponse:
    headers = {"Authorization": f"Bearer {token}"}
    return urllib3.request("GET", f"{harness.github.url}{address}", headers=headers, retries=False)


def exchange(**fields: Any) -> Exchange:
    whole = Exchange("GET", "/repos/a/b/labels/x", query={}, headers={}, body=None, status=200, answer={})
    return whole._replace(**fields)


LABEL = {
    "id": 1,
    "node_id": "",
    "url": "http://x.org",
    "name": "x",
    "description": None,
    "color": "00",
    "default": False,
}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (exchange(answer=LABEL), ""),
        (exchange(answer={**LABEL, "name": None}), "None is not of type 'string'"),
        (exchange(answer={}), "'id' is a required property"),
        (exchange(status=418), "never answers 418"),
        (exchange(answer=LABEL, query={"colour": "1"}), "no parameter 'colour'"),
        (exchange(answer=LABEL, body={"a": 1}), "reads no body"),
        (exchange(path="/repos/a/b/lables/x"), "no such operation"),
        (exchange(method="POST", path="/repos/a/b/labels", status=201, body={"color": "0"}, answer=LABEL), "'name'"),
        (
            exchange(method="POST", path="/repos/a/b/labels", status=201, body={"name": "", "tint": ""}, answer=LABEL),
            "no field 'tint'",
        ),
    ],
)
def test_what_github_does_not_describe_is_found(description: Description | None, said: Exchange, found: str) -> None:
    """The checker finds each exchange that differs in one point from GitHub's description of its API."""
    if description is None:
        pytest.skip("there is no npm, or no network for it: `make description` tells")
    assert (found in " ".join(description(said))) if found else (list(description(said)) == [])


def test_a_merge_is_a_commit_with_two_parents(harness: GithubHarness) -> None:
    pull = harness.pull()
    parents = [harness.board.git.resolve("refs/heads/main"), pull.head]
    merged = harness.github.merge(harness.board, pull)
    assert [harness.board.git.resolve(f"{merged}^{number}") for number in (1, 2)] == parents
    assert harness.board.git.blob("main:submissions/mine/core.jsonl") == b"{}\n"


def test_a_merge_with_a_conflict_is_none(harness: GithubHarness) -> None:
    pull = harness.pull(files={"README.md": b"Mine.\n"})
    harness.board.git.commit("main", {"README.md": b"Ours.\n"})
    with pytest.raises(subprocess.CalledProcessError):
        harness.github.merge(harness.board, pull)


def test_a_pull_request_follows_a_push_by_force(harness: GithubHarness) -> None:
    """A force push moves the pull request, and the earlier commit stays readable by its name, as on GitHub."""
    pull = harness.pull()
    before = pull.head
    harness.github.push(harness.board, pull, {"submissions/mine/core.jsonl": b"x\n"}, force=True)
    assert pull.head != before
    assert harness.board.git.blob(f"{before}:submissions/mine/core.jsonl") == b"{}\n"


def git(*words: str | Path) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    plain = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *identity, *words], check=True, capture_output=True, env=plain)


def test_a_pull_request_follows_what_git_pushes(harness: GithubHarness, tmp_path: Path) -> None:
    """The pull request follows a push from a clone of the fork's repository."""
    pull = harness.pull()
    before, clone = pull.head, tmp_path / "clone"
    git("clone", "--branch", "mine", harness.fork.git.folder, clone)
    (clone / "submissions" / "mine" / "core.jsonl").write_text("later\n")
    git("-C", clone, "commit", "--all", "--message", "Later")
    git("-C", clone, "push", "origin", "mine")
    answer = ask(harness, "/repos/maintainer/board/pulls/1", harness.github.token(REPORT))
    assert before != pull.head == answer.json()["head"]["sha"]
    assert harness.board.git.blob(f"{pull.head}:submissions/mine/core.jsonl") == b"later\n"
    harness.github.merge(harness.board, pull)
    git("clone", harness.board.git.folder, tmp_path / "merged")
    assert (tmp_path / "merged" / "submissions" / "mine" / "core.jsonl").read_text() == "later\n"


def test_pages_name_those_beside_them(harness: GithubHarness) -> None:
    harness.offered(5)
    token = harness.github.token(REPORT)
    page = ask(harness, "/repos/maintainer/board/pulls?per_page=2&page=2&direction=asc", token)
    assert [row["number"] for row in page.json()] == [3, 4]
    assert {link.split('rel="')[1][:-1] for link in page.headers["Link"].split(", ")} == {
        "prev",
        "next",
        "last",
        "first",
    }


@pytest.mark.parametrize(
    ("permissions", "status"),
    [({"issues": "read"}, 403), ({"pull_requests": "read"}, 200), ({"pull_requests": "write"}, 200)],
)
def test_a_token_may_what_it_may(harness: GithubHarness, permissions: dict[str, str], status: int) -> None:
    """A token without the permission gets 403. A header of each answer names the permission that is needed."""
    answer = ask(harness, "/repos/maintainer/board/pulls", harness.github.token(permissions))
    assert (answer.status, answer.headers["X-Accepted-GitHub-Permissions"]) == (status, "pull_requests=read")


@pytest.mark.parametrize(
    ("method", "parents", "brought"), [(Method.MERGE, 2, 3), (Method.SQUASH, 1, 1), (Method.REBASE, 1, 2)]
)
def test_a_merge_is_as_the_button_says(harness: GithubHarness, method: Method, parents: int, brought: int) -> None:
    """Each merge method makes its kind of commit, and the pull request records the commits that it added."""
    pull = harness.pull()
    harness.github.push(harness.board, pull, {"submissions/mine/core.jsonl": b"later\n"})
    harness.board.git.commit("main", {"other": b"x"})
    made = harness.github.merge(harness.board, pull, method)
    commit = read_commit(harness.board.git, made)
    assert (len(commit.parents), len(pull.introduced), made in pull.introduced) == (parents, brought, True)
    assert harness.board.git.blob("main:submissions/mine/core.jsonl") == b"later\n"
    assert harness.board.git.blob("main:other") == b"x"


def test_a_token_ends_with_its_job(harness: GithubHarness) -> None:
    token = harness.github.token(REPORT)
    address = "/repos/maintainer/board/pulls"
    assert ask(harness, address, token).status == 200
    del harness.github.tokens[token]
    assert ask(harness, address, token).status == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "/git/refs", {"ref": "refs/heads/main", "sha": "HEAD"}, "Reference already exists"),
        ("PATCH", "/git/refs/heads/none", {"sha": "HEAD"}, "Reference does not exist"),
        ("PATCH", "/git/refs/heads/main", {"sha": "1" * 40, "force": True}, "Object does not exist"),
        ("PATCH", "/git/refs/heads/main", {"sha": "ROOT"}, "Update is not a fast forward"),
        ("POST", "/git/trees", {"base_tree": "HEAD", "tree": [{"path": "x", "sha": None}]}, "BadObjectState"),
        ("POST", "/git/trees", {"tree": []}, "BadObjectState"),
        ("POST", "/git/trees", {"tree": [{"path": "x", "sha": "1" * 40}]}, "not a valid blob"),
        ("POST", "/git/commits", {"message": "m", "tree": "HEAD", "parents": ["1" * 40]}, "Parent SHA"),
        ("POST", "/pulls", {"title": "t", "head": "mine", "base": "main"}, "Validation Failed"),
        ("POST", "/pulls", {"title": "t", "head": "none", "base": "main"}, "Validation Failed"),
        ("POST", "/pulls", {"title": "t", "head": "same", "base": "main"}, "Validation Failed"),
    ],
)
def test_what_github_refuses_is_refused(
    harness: GithubHarness, method: str, path: str, body: dict[str, Any], said: str
) -> None:
    """The double refuses these requests with the same status and message as GitHub."""
    git = harness.board.git
    git.commit("mine", {"x": b"x"})
    git.run("update-ref", "refs/heads/same", "refs/heads/main")
    harness.github.open_pull(harness.board, harness.board, "mine")
    names = {"HEAD": git.resolve("refs/heads/main"), "ROOT": git.commit("root", {"x": b"x"}, root=True)}
    body = {key: names.get(value, value) if isinstance(value, str) else value for key, value in body.items()}
    rows = [{"mode": "100644", "type": "blob", **each} for each in body.get("tree", ()) if isinstance(each, dict)]
    token = harness.github.token({"contents": "write", "pull_requests": "write"})
    answer = urllib3.request(
        method,
        f"{harness.github.url}/repos/maintainer/board{path}",
        headers={"Authorization": f"Bearer {token}"},
        json={**body, **({"tree": rows} if path == "/git/trees" else {})},
        retries=False,
    )
    assert answer.status == 422
    assert said in answer.json()["message"]
