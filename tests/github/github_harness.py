"""A board on the double of GitHub with a contributor's fork, and helper methods for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evaluator.github.connection import Connection, WaitPolicy, connect
from tests.doubles.github import GitHubServer, Pull
from tests.doubles.github.hosted_repository import ACTIONS_BOT

REPORT = {"pull_requests": "write", "contents": "read", "actions": "read"}
"""The permissions of the workflow job that reports to pull requests."""

FILES: Mapping[str, Any] = {"submissions/mine/submission.toml": b"format = 1\n", "submissions/mine/core.jsonl": b"{}\n"}


BOT = ACTIONS_BOT
"""The account of that job."""


class GithubHarness:
    """The server, the repository of the board, and a fork of that repository."""

    def __init__(self, github: GitHubServer) -> None:
        self.github = github
        self.maintainer, self.stranger = github.user("maintainer"), github.user("stranger")
        self.board = github.repository("board", self.maintainer)
        self.board.git.commit("main", {"README.md": b"A board.\n", "submissions/old/core.jsonl": b"{}\n"})
        self.fork = github.fork(self.board, self.stranger)
        self.waited: list[float] = []

    def pull(self, branch: str = "mine", files: Mapping[str, Any] = FILES, **fields: Any) -> Pull:
        """Open a pull request from the fork with these changes."""
        self.fork.git.commit(branch, files)
        return self.github.open_pull(self.board, self.fork, branch, **fields)

    def offered(self, number: int) -> None:
        """Open this many pull requests. Each has a branch of its own, and all branches are at the same commit."""
        first = self.pull("branch-1")
        for each in range(2, number + 1):
            self.board.issues[each] = replace(first, number=each, id=each, head_ref=f"branch-{each}")

    def connect(self, permissions: Mapping[str, str] = REPORT, **patience: Any) -> Connection:
        """Return a client that never sleeps. `waited` records the waits in seconds."""
        patient = WaitPolicy(**{"wait": self.waited.append, "between_writes_s": 0.0, "tries": 3, **patience})
        return connect(self.board.full_name, self.github.token(permissions), self.github.url, patient)

    def asked(self, method: str = "") -> list[str]:
        """Return the received requests as `METHOD /address` below the repository."""
        prefix = f"/repos/{self.board.full_name}"
        every = [(each.method, each.path.removeprefix(prefix)) for each in self.github.exchanges]
        return [f"{verb} {path}" for verb, path in every if method in ("", verb)]
