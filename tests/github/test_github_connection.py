"""GitHub's limits and failures, met over real HTTP: what is asked again, after how long, and what is said at last."""

from __future__ import annotations

import time
from typing import Any

import pytest
from github_bench import REPORT, Bench

from evaluator.errors import BashboardError, GitHubError, PermissionMissingError, UsageError
from evaluator.github.artifacts import read_artifact
from evaluator.github.comments import upsert_comment
from evaluator.github.connection import connect
from evaluator.github.files import read_submission
from evaluator.github.labels import StateLabel, set_labels
from evaluator.github.pulls import changed_files, find_pull, opened_lately, read_pull
from evaluator.submissions.limits import SubmissionLimits
from evaluator.testing.github import Fault

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
PRIMARY = "API rate limit exceeded for installation."


def test_what_failed_on_their_side_is_asked_again(bench: Bench):
    """Each wait is twice the one before; the first repetition waits for nothing."""
    pull = bench.pull()
    bench.github.faults += [Fault(502), Fault(500), Fault(503)]
    assert read_pull(bench.connect(), pull.number).head == pull.head
    assert (len(bench.asked()), bench.waited) == (4, [2.0, 4.0])


def test_what_fails_for_ever_is_an_error(bench: Bench):
    bench.github.faults += [Fault(502)] * 4
    with pytest.raises(GitHubError, match=r"reading pull request 1: GitHub does not answer, asked 4 times"):
        read_pull(bench.connect(), 1)


@pytest.mark.parametrize(
    ("fault", "waited"),
    [
        (Fault(403, SECONDARY, {"Retry-After": "7"}), 7),
        (Fault(429, SECONDARY, {"Retry-After": "7"}), 7),
        (Fault(403, SECONDARY), 60),
        (Fault(429, "Too Many Requests"), 60),
        (Fault(403, PRIMARY, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+100"}), 100),
        (Fault(429, PRIMARY, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+100"}), 100),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_a_limit_is_waited_for(bench: Bench, fault: Fault, waited: float, write: bool):
    """As long as GitHub says, or a minute where it does not; a refused write was not done and is sent again."""
    pull = bench.pull()
    headers = {**(fault.headers or {})}
    if headers.get("X-RateLimit-Reset"):
        headers["X-RateLimit-Reset"] = str(int(time.time()) + 100)
    method = "POST" if write else "GET"
    bench.github.faults.append(Fault(fault.status, fault.message, headers, method))
    upsert_comment(bench.connect(), pull.number, "report", "Hello.")
    assert bench.waited == [pytest.approx(waited, abs=2)]
    assert [each.body.splitlines()[1] for each in pull.comments] == ["Hello."]


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "7200"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(2**33)}]
)
@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_that_lasts_too_long_is_an_error(bench: Bench, headers: dict[str, str], status: int):
    """A job is not held for hours; it may run again."""
    bench.github.faults.append(Fault(status, PRIMARY, headers))
    with pytest.raises(GitHubError, match="rate limit is reached"):
        read_pull(bench.connect(), 1)
    assert bench.waited == []


def calls(bench: Bench) -> dict[str, Any]:
    """Every function of the client, by the permission that it must not do without."""
    pull = bench.pull()
    run = bench.github.run(bench.board, pull).id
    label = StateLabel("valid", "00ff00", "Passed the check.")
    return {
        "actions: read": [lambda to: find_pull(to, run), lambda to: read_artifact(to, run, "preview", "preview.json")],
        "contents: read": [lambda to: read_submission(to, pull.head, "submissions/mine", SubmissionLimits())],
        "pull-requests: read": [
            lambda to: read_pull(to, pull.number),
            lambda to: changed_files(to, pull.number),
            lambda to: opened_lately(to, read_pull(bench.connect(), pull.number), bench.github.now),
        ],
        "pull-requests: write": [
            lambda to: upsert_comment(to, pull.number, "report", "Hello."),
            lambda to: set_labels(to, pull.number, [label], {"valid"}),
        ],
    }


def test_a_missing_permission_is_named(bench: Bench):
    """As a workflow writes it, and each function needs no more than that one says."""
    for permission, functions in calls(bench).items():
        name, _, level = permission.replace("-", "_").partition(": ")
        lacking = {**REPORT, name: "read"} if level == "write" else {k: v for k, v in REPORT.items() if k != name}
        for function in functions:
            with pytest.raises(PermissionMissingError, match=f"add `{permission}` to the job's permissions"):
                function(bench.connect(lacking))
            function(bench.connect())
    assert {each.status for each in bench.github.exchanges} <= {200, 201, 403, 404}


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
    bench: Bench, repository: str, token: str, error: type[BashboardError], said: str
):
    with pytest.raises(error, match=said):
        read_pull(connect(repository, token or bench.github.token(REPORT), bench.github.url), 1)


def test_a_server_that_is_not_there_is_told(bench: Bench):
    """After as many attempts as were said."""
    quiet = bench.connect(tries=1)
    bench.github.close()
    with pytest.raises(GitHubError, match="does not answer, asked 2 times"):
        read_pull(quiet, 1)
