"""A double of GitHub: an HTTP server on loopback with real Git repositories.

It has only the operations that the client in `evaluator/github` uses.

    with GitHubServer(folder) as github:
        board = github.repository("board", github.user("maintainer"))
        board.git.commit("main", {"README.md": b"A board.\\n"})
        fork = github.fork(board, github.user("contributor"))
        fork.git.commit("mine", {"submissions/mine/core.jsonl": b"..."})
        pull = github.open_pull(board, fork, "mine", title="Mine")
        token = github.token({"pull_requests": "write"})
        run = github.start(board, "publish", "push", board.git.resolve("refs/heads/main"))
        job = github.add_job(run, "execute (mine)", notices=[("evidence", "mine core 0f…")])

A test clones the repository from `board.git.folder`. At the end of a job, the test must delete the job's token:
`del github.tokens[token]`.

`description.py`, which needs the development dependencies, checks each request and response against GitHub's own
description of its API.
"""

from tests.doubles.github.commits import Method
from tests.doubles.github.hosted_repository import ACTIONS_BOT
from tests.doubles.github.repositories import BareRepository, Link, Submodule
from tests.doubles.github.server import Exchange, GitHubServer, InjectedFault
from tests.doubles.github.state import (
    Annotation,
    Artifact,
    Comment,
    HostedRepo,
    JobState,
    Label,
    Pull,
    Token,
    User,
    WorkflowRun,
)

__all__ = [
    "ACTIONS_BOT",
    "Annotation",
    "Artifact",
    "BareRepository",
    "Comment",
    "Exchange",
    "GitHubServer",
    "HostedRepo",
    "InjectedFault",
    "JobState",
    "Label",
    "Link",
    "Method",
    "Pull",
    "Submodule",
    "Token",
    "User",
    "WorkflowRun",
]
