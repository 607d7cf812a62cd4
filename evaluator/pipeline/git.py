"""Run Git commands on a checkout. Arguments are passed as a list, without a shell. Git's output is never executed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from evaluator.errors import MissingError, UsageError
from evaluator.escaping import printable


def run_git(folder: Path, *arguments: str) -> bytes | None:
    """Run a Git command in `folder` and return its output, or None if Git exits with an error.

    Raises MissingError if Git is not installed.
    """
    command = ["git", "-C", str(folder), *arguments]
    try:
        process = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise MissingError("git is not installed here; type: sudo apt-get install -y git") from error
    return process.stdout if process.returncode == 0 else None


def resolve_commit(folder: Path, revision: str) -> str:
    """Return the commit that `revision` names in the checkout `folder`. The revision may be untrusted text.

    Raises UsageError if this checkout has no such commit.
    """
    output = run_git(folder, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    if output is None:
        raise UsageError(
            f"{printable(revision)!r}: expected a commit of this checkout, such as HEAD^1 or origin/main; "
            "a shallow clone lacks the earlier ones: git fetch --unshallow"
        )
    return output.decode().strip()
