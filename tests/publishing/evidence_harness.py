"""A harness with a checkout, fake executions, a bare repository as its remote, and its published files."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from typer.testing import Result

from evaluator.cli import app
from evaluator.pipeline.evidence.bundle import bundle_path
from evaluator.pipeline.evidence.images import published_images, write_images
from evaluator.pipeline.evidence.produce import make_references, make_submissions
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import FINGERPRINT, RequestedExecution, Shows, fake_boards
from tests.command_runner import CommandRunner

TASKS = [small_task("files-1"), small_task("files-2", references=("also right", "right"))]
ANSWERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "first": {"files-1": ["mine", "right"], "files-2": ["wrong"]},
    "second": {"files-1": ["wrong"], "files-2": ["mine"]},
}
SHA256 = "5" * 64
_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def play(call: RequestedExecution) -> Shows:
    """Return `yes` as the output of every command except the wrong one."""
    return "no\n" if call.command == "wrong" else "yes\n"


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Bashboard", "-c", "user.email=bashboard@example.org")
    run = ["git", *identity, *words]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True, env={**os.environ, **_GIT})
    return done.stdout.strip()


def checkout(root: Path, answers: Mapping[str, Mapping[str, Sequence[str]]] = ANSWERS) -> Project:
    """Create a checkout with a suite and submissions, under Git and without a store."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    return small_checkout(root, TASKS, answers)


def bundles(project: Project, out: Path) -> dict[str, bytes]:
    """Return all published files of a checkout by their paths on the branch. The executions are fake."""
    fake_boards(project, play, everything=True)
    made = [
        *make_references(project, NullProgress(), out).bundles,
        *make_submissions(project, NullProgress(), out, list(ANSWERS)).bundles,
    ]
    files = {each.path.relative_to(out).as_posix(): each.path.read_bytes() for each in made}
    (suite,) = project.suites()
    return files | {"images.json": write_images(published_images([suite], {"tiny": FINGERPRINT}, SHA256))}


class Remote:
    """A bare repository with a branch `evidence`."""

    def __init__(self, root: Path) -> None:
        self.path = root / "remote.git"
        self._work = root / "work"
        git(root, "init", "--quiet", "--bare", str(self.path))
        git(root, "init", "--quiet", str(self._work))

    def publish(self, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> str:
        """Commit exactly these files to the branch and return the commit."""
        for old in git(self._work, "ls-files").splitlines():
            (self._work / old).unlink()
        for name, data in files.items():
            (self._work / name).parent.mkdir(parents=True, exist_ok=True)
            (self._work / name).write_bytes(data)
        for name, target in (links or {}).items():
            (self._work / name).parent.mkdir(parents=True, exist_ok=True)
            (self._work / name).symlink_to(target)
        git(self._work, "add", "--all")
        git(self._work, "commit", "--quiet", "--allow-empty", "--message=Evidence")
        git(self._work, "push", "--quiet", str(self.path), "HEAD:evidence")
        return git(self._work, "rev-parse", "HEAD")


def run(folder: Path, *words: str, **environment: str) -> Result:
    """Run a command in a folder."""
    with contextlib.chdir(folder):
        return CommandRunner().invoke(app, list(words), env={**_GIT, **environment})


REFERENCES, FIRST, SECOND = (str(bundle_path("tiny", slug)) for slug in (None, "first", "second"))
