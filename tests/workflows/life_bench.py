"""A small board and its users, with real Git, real containers, and the workflows of this repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import copy_checkout
from tests.doubles.github import GitHubServer, HostedRepo, Pull, User
from tests.doubles.workflows import Actions, RunResult, completed, pull_changed, pushed

ROOT: Final = Path(__file__).parents[2]
TASKS: Final = ("files-002", "files-003", "files-010")
BASELINES: Final = ("rules", "second-reference")

FIRST_COMMIT_S: Final = 1_767_139_200
"""The time of the board's first commit: one day before all commits that the GitHub double makes."""

_MANIFEST: Final = """format = 1
system = "{system}"
open_weights = true
method = "rules"

[[authors]]
name = "An author"

[suites]
{suite} = "{version}"
"""


_PANEL: Final = """
[tool.bashboard.panel]
base_url = "{url}"
models = ["a-model"]
votes = 1

[tool.bashboard.audit]
sample = 4
max_calls = 4
"""


def small_board(folder: Path, panel: str) -> None:
    """Copy this repository with a few tasks and two submissions. `panel` is the address of a model server.

    The commands of `second-reference` are references, so this submission needs no execution of its own.
    """
    copy_checkout(ROOT, folder, lambda task: task["id"] in TASKS)
    for path in (folder / "submissions").iterdir():
        if path.is_dir() and path.name not in BASELINES:
            shutil.rmtree(path)
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text() + _PANEL.format(url=panel))
    owners = {"format": 1, "owners": dict.fromkeys(BASELINES)}
    (folder / "submissions" / "owners.json").write_text(json.dumps(owners, indent=2) + "\n")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder as a user, and return the output."""
    person = {"NAME": "A person", "EMAIL": "person@example.org", "DATE": f"{FIRST_COMMIT_S} +0000"}
    variables = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()}
    variables |= {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", "-C", str(folder), *words], env=variables, check=True, capture_output=True, text=True
    ).stdout


@dataclass
class Life:
    """A board, its maintainer, and the runner of its workflows."""

    github: GitHubServer
    board: HostedRepo
    actions: Actions

    @classmethod
    def begin(
        cls,
        github: GitHubServer,
        folder: Path,
        panel: str,
        engine: str = "",
        prepare: Callable[[Project], object] = lambda project: None,
    ) -> Life:
        """Make a repository with the small board as its first commit. `panel` and `engine` are addresses.

        `prepare` may change the files of the board before they are committed.
        """
        runtime = {name: os.environ[name] for name in ("BASHBOARD_RUNTIME",) if name in os.environ}
        variables = {**runtime, **({"DOCKER_HOST": engine} if engine else {})}
        small_board(folder / "board", panel)
        prepare(Project.find(folder / "board"))
        git(folder / "board", "init", "--quiet", "--initial-branch=main")
        git(folder / "board", "add", "--all", "--force")
        git(folder / "board", "commit", "--quiet", "-m", "A board")
        board = github.repository("board", github.user("maintainer"))
        git(folder / "board", "push", "--quiet", f"file://{board.git.folder}", "main")
        return cls(github, board, Actions(github, board, folder / "actions", variables=variables))

    @property
    def maintainer(self) -> User:
        """The owner of the repository."""
        return self.board.owner

    @property
    def main(self) -> str:
        """The commit at the head of main."""
        return self.board.git.resolve("refs/heads/main")

    def read(self, path: str, branch: str = "main") -> bytes:
        """Return a file of a branch."""
        return self.board.git.run("cat-file", "blob", f"refs/heads/{branch}:{path}")

    def paths(self, branch: str = "main") -> list[str]:
        """Return the paths of all files of a branch."""
        return [entry.path for entry in self.board.git.tree(branch, recursive=True) if entry.kind == "blob"]

    def since(self, before: str | None, *only: str) -> dict[str, RunResult]:
        """Run the workflows that a push to main starts. `before` is the earlier commit of main."""
        return self.actions.trigger(pushed(self.board, before, self.maintainer), only=only)

    def publish(self, before: str | None) -> RunResult:
        """Run the workflow `publish` for a push to main, and then `site`. Return the run of `publish`."""
        result = self.since(before, "publish")["publish"]
        site = self.run_site(result)
        assert site.conclusion == "success", site.log
        return result

    def run_site(self, run: RunResult) -> RunResult:
        """Run the workflow `site`, which the end of `run` starts."""
        event = completed(self.github, self.board, run.run, run.workflow)
        return self.actions.trigger(event, only=["site"])["site"]

    def merge(self, pull: Pull) -> RunResult:
        """Merge a pull request as the maintainer. Run `publish` and `site`, and return the run of `publish`."""
        before = self.main
        self.github.merge(self.board, pull)
        return self.publish(before)

    def run_submission(self, pull: Pull, action: str = "synchronize") -> RunResult:
        """Run the workflow `submission` for a pull request."""
        event = pull_changed(self.github, self.board, pull, action)
        assert event is not None
        return self.actions.trigger(event, only=["submission"])["submission"]

    def run_report(self, run: RunResult) -> RunResult:
        """Run the workflow `report`, which the end of `run` starts."""
        event = completed(self.github, self.board, run.run, run.workflow)
        return self.actions.trigger(event, only=["report"])["report"]

    def site(self, path: str) -> str:
        """Return a page of the deployed site."""
        return (self.actions.site / path).read_text()


def submission(
    answers: Mapping[str, Sequence[str]], system: str = "A system", version: str = "4.0.0", suite: str = "core"
) -> dict[str, Any]:
    """Return the manifest and the predictions of a submission to one suite, by file name."""
    lines = (
        json.dumps({"task": task, "candidates": [{"command": command} for command in commands]})
        for task, commands in answers.items()
    )
    manifest = _MANIFEST.format(system=system, suite=suite, version=version)
    return {"submission.toml": manifest.encode(), f"{suite}.jsonl": "".join(f"{line}\n" for line in lines).encode()}


def below(slug: str, files: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a submission by their paths in the repository."""
    return {f"submissions/{slug}/{name}": content for name, content in files.items()}


ANSWERS: Final[Mapping[str, Sequence[str]]] = {
    "files-002": [
        'for f in inbox/*; do [ -f "$f" ] && mkdir -p "inbox/${f##*.}" && mv -- "$f" "inbox/${f##*.}/"; done'
    ],
    "files-003": ["for m in 0{1..9} 1{0..2}; do mkdir -p reports/2025/$m; done"],
    "files-010": ["find jobs -type f -name '*.nc' -exec perl -e 'utime 1735689600, 1735689600, @ARGV' {} +"],
}
"""The first command is wrong. The second is right. The third sets a different time from the one in the task."""
