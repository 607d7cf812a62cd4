"""A small board on the GitHub double, and a checkout of its main branch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from evaluator.cli import app
from evaluator.github.connection import Connection, WaitPolicy, connect
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes
from evaluator.records import (
    Finding,
    Outcome,
    PublishedVerdict,
    Step,
    VerdictsHeader,
    command_digest,
    digest_of,
)
from evaluator.testing.checkouts import small_checkout, small_task
from tests.command_runner import CommandRunner
from tests.doubles.github import Exchange, GitHubServer

TASKS = [small_task("files-1", references=("ls a", "echo a")), small_task("files-2", references=("cat b", "echo b"))]
ANSWERS = {
    "first": {"files-1": ["ls -l a", "ls a"], "files-2": ["cat b"]},
    "second": {"files-1": ["ls -l a"], "files-2": ["cat c"]},
}
OWNERS = "submissions/owners.json"
WRITES = {"contents": "write", "issues": "write", "pull_requests": "write", "actions": "read", "checks": "read"}
"""The permissions of the jobs in these tests."""


def verdicts(*found: tuple[str, str, Outcome], judge_version: int = 1) -> bytes:
    """Return a verdict file with these tasks, commands and outcomes."""
    header = VerdictsHeader(
        format=VerdictsHeader.newest_format,
        suite="tiny",
        suite_version="1.0.0",
        judge="consensus",
        judge_version=judge_version,
        fingerprint=digest_of(b"here"),
    )
    rows = [
        PublishedVerdict(
            key=digest_of(task.encode(), command.encode(), str(judge_version).encode()),
            task=task,
            command=command_digest(command.encode()),
            finding=Finding(outcome=outcome, step=Step.OUTPUT, reason="shows `another` row", variant="small"),
        )
        for task, command, outcome in found
    ]
    return verdict_bytes(VerdictFile(header, tuple(rows)))


class Watch:
    """An observer of every exchange with the GitHub double.

    It runs the hook `then`, and checks the exchange against GitHub's API description.
    """

    def __init__(self, describe: Callable[[Exchange], Iterable[str]] | None) -> None:
        self._describe = describe or (lambda _: ())
        self.then: Callable[[Exchange], object] = lambda _: None

    def __call__(self, exchange: Exchange) -> Iterable[str]:
        """Run the hook, and return the differences between the exchange and GitHub's API description."""
        self.then(exchange)
        return self._describe(exchange)


class HostedCheckout:
    """A small board on the GitHub double, with a checkout of its repository.

    `waited` records the seconds that the client would have waited.
    """

    def __init__(self, github: GitHubServer, root: Path, watch: Watch) -> None:
        self.github, self.root, self.watch = github, root, watch
        self.project = small_checkout(root, TASKS, ANSWERS)
        (root / OWNERS).write_text(json.dumps({"format": 1, "owners": dict.fromkeys(ANSWERS)}))
        self.maintainer, self.contributor = github.user("maintainer"), github.user("contributor")
        self.board = github.repository("board", self.maintainer)
        self.push(self.files())
        self.waited: list[float] = []

    def files(self) -> dict[str, bytes]:
        """Return every file of the checkout by its path."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def push(self, files: Mapping[str, Any], branch: str = "main") -> str:
        """Push these files to the board's repository. The checkout does not change."""
        return self.board.git.commit(branch, files)

    def write(self, files: Mapping[str, bytes | None]) -> str:
        """Write these files to the checkout and to the branch main. A file with the value None is removed."""
        for path, content in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                (self.root / path).unlink()
            else:
                (self.root / path).write_bytes(content)
        return self.push(files)

    def connect(self, permissions: Mapping[str, str] = WRITES, **patience: Any) -> Connection:
        """Return a client that does not wait."""
        patient = WaitPolicy(**{"wait": self.waited.append, "between_writes_s": 0.0, "tries": 3, **patience})
        return connect(self.board.full_name, self.github.token(permissions), self.github.url, patient)

    def command(self, *words: str, **environ: str) -> tuple[int, str]:
        """Run `bashboard` in the checkout as a job of this repository. Return its exit code and output."""
        environment = {
            "GITHUB_REPOSITORY": self.board.full_name,
            "GITHUB_API_URL": self.github.url,
            "GITHUB_TOKEN": self.github.token(WRITES),
            **environ,
        }
        with contextlib.chdir(self.root):
            result = CommandRunner().invoke(app, words, env=environment)
        return result.exit_code, result.output

    def head(self, branch: str = "main") -> str | None:
        """Return the current commit of a branch."""
        return self.board.git.find(f"refs/heads/{branch}")

    def content(self, path: str, branch: str = "main") -> bytes | None:
        """Return a file of the board's repository, or None if it does not exist."""
        sha = self.board.git.find(f"{self.head(branch)}:{path}")
        return self.board.git.blob(sha) if sha else None

    def paths(self, branch: str) -> set[str]:
        """Return the paths of all files of a branch."""
        return {
            each.path for each in self.board.git.tree(f"refs/heads/{branch}", recursive=True) if each.kind == "blob"
        }

    def writes(self) -> list[str]:
        """Return the changing requests as `METHOD /address`, with the address relative to the repository."""
        prefix = f"/repos/{self.board.full_name}"
        every = [(each.method, each.path.removeprefix(prefix)) for each in self.github.exchanges]
        return [f"{verb} {path}" for verb, path in every if verb != "GET"]
