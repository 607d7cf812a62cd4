"""A GitHub on loopback, in front of real Git repositories, with what our client asks of it and nothing else.

    with GitHubServer(folder) as github:
        board = github.repository("board", github.user("maintainer"))
        board.git.commit("main", {"README.md": b"A board.\\n"})
        fork = github.fork(board, github.user("stranger"))
        fork.git.commit("mine", {"submissions/mine/core.jsonl": b"..."})
        pull = github.open_pull(board, fork, "mine", title="Mine")
        token = github.token({"pull_requests": "write"})

`description.py`, which needs the development dependencies, holds each request and answer against GitHub's own
description of its interface.
"""

from evaluator.testing.github.repositories import BareRepository, Link, Submodule
from evaluator.testing.github.server import Exchange, Fault, GitHubServer
from evaluator.testing.github.state import Artifact, Comment, Hosted, Label, Pull, Run, Token, User

__all__ = [
    "Artifact",
    "BareRepository",
    "Comment",
    "Exchange",
    "Fault",
    "GitHubServer",
    "Hosted",
    "Label",
    "Link",
    "Pull",
    "Run",
    "Submodule",
    "Token",
    "User",
]
