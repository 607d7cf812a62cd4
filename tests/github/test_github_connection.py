"""How the client handles GitHub's limits and failures, over real HTTP: repeated requests, waits and errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evaluator.errors import BashboardError, GitHubError, MissingError, PermissionMissingError, UsageError
from evaluator.github.artifacts import read_artifact
from evaluator.github.comments import upsert_comment
from evaluator.github.commits import blob_names, branch_head, commit_files, replace_branch
from evaluator.github.connection import API, Connection, connect, github_connection
from evaluator.github.history import first_author
from evaluator.github.issues import read_issue
from evaluator.github.jobs import jobs_of_run, notices
from evaluator.github.labels import StateLabel, set_labels
from evaluator.github.proposals import propose
from evaluator.github.pulls import changed_files, find_pull, read_pull, recent_pull_numbers
from evaluator.github.repository_files import read_submission
from evaluator.submissions.limits import SubmissionLimits
from tests.doubles.github import InjectedFault
from tests.github.github_harness import REPORT, GithubHarness

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
PRIMARY = "API rate limit exceeded for installation."


def test_what_failed_on_their_side_is_asked_again(harness: GithubHarness) -> None:
    """A request that GitHub answered with 5xx is repeated: the first time at once, later after a wait that doubles."""
    pull = harness.pull()
    harness.github.faults += [InjectedFault(502), InjectedFault(500), InjectedFault(503)]
    assert read_pull(harness.connect(), pull.number).head == pull.head
    assert (len(harness.asked()), harness.waited) == (4, [2.0, 4.0])


def test_what_fails_for_ever_is_an_error(harness: GithubHarness) -> None:
    harness.github.faults += [InjectedFault(502)] * 4
    with pytest.raises(GitHubError, match=r"reading pull request 1: GitHub does not answer after 4 tries"):
        read_pull(harness.connect(), 1)


@pytest.mark.parametrize(
    ("fault", "waited"),
    [
        (InjectedFault(403, SECONDARY, {"Retry-After": "7"}), 7),
        (InjectedFault(429, SECONDARY, {"Retry-After": "7"}), 7),
        (InjectedFault(403, SECONDARY), 60),
        (InjectedFault(429, "Too Many Requests"), 60),
        (InjectedFault(403, PRIMARY, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+100"}), 100),
        (InjectedFault(429, PRIMARY, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+100"}), 100),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_a_limit_is_waited_for(harness: GithubHarness, fault: InjectedFault, waited: float, write: bool) -> None:
    """The client waits as long as GitHub states, or one minute, and then repeats the request, even a write."""
    pull = harness.pull()
    headers = {**(fault.headers or {})}
    if headers.get("X-RateLimit-Reset"):
        headers["X-RateLimit-Reset"] = str(int(time.time()) + 100)
    method = "POST" if write else "GET"
    harness.github.faults.append(InjectedFault(fault.status, fault.message, headers, method))
    upsert_comment(harness.connect(), pull.number, "report", "Hello.")
    assert harness.waited == [pytest.approx(waited, abs=2)]
    assert [each.body.splitlines()[1] for each in pull.comments] == ["Hello."]


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "7200"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(2**33)}]
)
@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_that_lasts_too_long_is_an_error(harness: GithubHarness, headers: dict[str, str], status: int) -> None:
    """A limit of hours is an error and not a wait, because the job may run again later."""
    harness.github.faults.append(InjectedFault(status, PRIMARY, headers))
    with pytest.raises(GitHubError, match="rate limit is reached"):
        read_pull(harness.connect(), 1)
    assert harness.waited == []


Call = tuple[Mapping[str, str], Callable[[Connection], Any]]


def reading(harness: GithubHarness) -> list[Call]:
    """Return every function of the client that reads, with the permissions that it needs."""
    pull = harness.pull()
    harness.github.merge(harness.board, harness.pull("merged", {"submissions/merged/core.jsonl": b""}))
    run, issue = harness.github.run(harness.board, pull), harness.github.issue(harness.board, harness.stranger).number
    check, main = harness.github.add_job(run, "execute").check_run, harness.board.git.resolve("refs/heads/main")
    contents, pulls, actions = {"contents": "read"}, {"pull_requests": "read"}, {"actions": "read"}
    return [
        (actions | pulls, lambda to: find_pull(to, run.id)),
        (actions, lambda to: read_artifact(to, run.id, "preview", "preview.json")),
        (actions, lambda to: jobs_of_run(to, run.id)),
        ({"checks": "read"}, lambda to: notices(to, check)),
        (contents, lambda to: read_submission(to, pull.head, "submissions/mine", SubmissionLimits())),
        (contents, lambda to: branch_head(to, "main")),
        (contents, lambda to: blob_names(to, main, ["README.md"])),
        (contents | pulls, lambda to: first_author(to, "submissions/merged")),
        (pulls, lambda to: read_pull(to, pull.number)),
        (pulls, lambda to: changed_files(to, pull.number)),
        (pulls, lambda to: recent_pull_numbers(to, read_pull(harness.connect(), pull.number), harness.github.now)),
        ({"issues": "read"}, lambda to: read_issue(to, issue)),
    ]


def writing(harness: GithubHarness) -> list[Call]:
    """Return every function of the client that writes, with the permissions that it needs."""
    pull, issue = harness.pull(), harness.github.issue(harness.board, harness.stranger).number
    label, main = StateLabel("valid", "00ff00", "Passed the check."), harness.board.git.resolve("refs/heads/main")
    offer: dict[str, Any] = {"branch": "ours", "base": "main", "title": "t", "body": "b", "message": "m"}
    contents, pulls, issues = {"contents": "write"}, {"pull_requests": "write"}, {"issues": "write"}
    return [
        (pulls, lambda to: upsert_comment(to, pull.number, "report", "Hello.")),
        (pulls, lambda to: set_labels(to, pull.number, [label], {"valid"})),
        (issues, lambda to: upsert_comment(to, issue, "report", "Hello.", issue=True)),
        (contents | pulls, lambda to: propose(to, **offer, files={"x": b"x"})),
        (contents, lambda to: commit_files(to, "main", main, {"x": b"x"}, "m")),
        (contents, lambda to: replace_branch(to, "evidence", {"x": b"x"}, "m")),
    ]


@pytest.mark.parametrize("calls", [reading, writing])
def test_a_missing_permission_is_named(harness: GithubHarness, calls: Callable[[GithubHarness], list[Call]]) -> None:
    """The error names the permission as a workflow writes it, and no function needs further permissions."""
    for permissions, function in calls(harness):
        for name, level in permissions.items():
            lacking = {**permissions, name: "read" if level == "write" else "none"}
            with pytest.raises(PermissionMissingError, match=f"add .*`{name.replace('_', '-')}: {level}`.* to the job"):
                function(harness.connect(lacking))
        function(harness.connect(permissions))
    assert {each.status for each in harness.github.exchanges} <= {200, 201, 403, 404}


def environment(harness: GithubHarness) -> dict[str, str]:
    """Return the environment variables that GitHub sets for a job."""
    token = harness.github.token(REPORT)
    return {"GITHUB_REPOSITORY": "maintainer/board", "GITHUB_TOKEN": token, "GITHUB_API_URL": harness.github.url}


def test_a_jobs_environment_is_a_connection(harness: GithubHarness) -> None:
    environ = environment(harness)
    assert read_pull(github_connection(environ), harness.pull().number).number == 1
    assert github_connection({**environ, "GITHUB_API_URL": ""}).github.requester.base_url == API


@pytest.mark.parametrize(
    ("address", "pause"),
    [
        ("", 1.0),
        ("https://api.github.com", 1.0),
        ("https://api.octo.ghe.com", 1.0),
        ("https://git.example.org/api/v3", 0.0),
        ("https://github.com.example.org", 0.0),
    ],
)
def test_writes_keep_the_pause_that_githubs_own_hosts_ask_for(
    harness: GithubHarness, address: str, pause: float
) -> None:
    """The client pauses between writes to GitHub's own hosts, but not between writes to a self-hosted server."""
    connection = github_connection({**environment(harness), "GITHUB_API_URL": address})
    assert connection.wait_policy.between_writes_s == pause


@pytest.mark.parametrize("name", ["GITHUB_REPOSITORY", "GITHUB_TOKEN"])
@pytest.mark.parametrize("value", [None, "", " "])
def test_what_an_environment_lacks_is_named(harness: GithubHarness, name: str, value: str | None) -> None:
    environ = {key: said for key, said in {**environment(harness), name: value}.items() if said is not None}
    with pytest.raises(MissingError, match=f"set {name}"):
        github_connection(environ)


@pytest.mark.parametrize(
    ("repository", "token", "error", "said"),
    [
        ("board", "x", UsageError, "expected owner/name"),
        ("a/b", " ", PermissionMissingError, "set GITHUB_TOKEN"),
        ("maintainer/board", "wrong", PermissionMissingError, "does not know the token"),
        ("maintainer/other", "", UsageError, "finds nothing there"),
    ],
)
def test_a_wrong_address_or_token_is_told(
    harness: GithubHarness, repository: str, token: str, error: type[BashboardError], said: str
) -> None:
    with pytest.raises(error, match=said):
        read_pull(connect(repository, token or harness.github.token(REPORT), harness.github.url), 1)


def test_a_server_that_is_not_there_is_told(harness: GithubHarness) -> None:
    """The error states how many times the client tried."""
    quiet = harness.connect(tries=1)
    harness.github.close()
    with pytest.raises(GitHubError, match="does not answer after 2 tries"):
        read_pull(quiet, 1)
