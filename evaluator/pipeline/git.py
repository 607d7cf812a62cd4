"""Run Git commands on a checkout. Arguments are passed as a list, without a shell. Git's output is never executed."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final, NamedTuple

from evaluator.errors import InfraError, MissingError, UsageError
from evaluator.escaping import printable

_PIECE: Final = 1 << 20
_COMMIT: Final = b"commit "


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


class LoggedCommit(NamedTuple):
    """A commit of the log with its time in UTC. `entries` has the names and changes of files that the log prints."""

    commit: str
    time: datetime
    entries: tuple[bytes, ...]


def first_parent_log(folder: Path, *options: str, paths: Sequence[str], commits: str = "HEAD") -> list[LoggedCommit]:
    """Return the commits of the first-parent history that changed files at some paths, the latest first.

    A merge counts as one commit with all its changes. `options` choose what the log prints of the files, such as
    `--name-only`. Return nothing outside a Git repository. Raises MissingError if Git is not installed.
    """
    form = ("--first-parent", "--diff-merges=first-parent", "--format=commit %H %ct", "-z")
    settings = ("-c", "log.showSignature=false", "-c", "log.showRoot=true")
    output = run_git(folder, *settings, "log", *form, *options, commits, "--", *paths)
    found: list[tuple[str, datetime, list[bytes]]] = []
    for entry in (output or b"").split(b"\0"):
        line = entry.lstrip(b"\n")  # Git ends the line of a commit with both characters
        if line.startswith(_COMMIT):
            commit, seconds = line.removeprefix(_COMMIT).decode("ascii").split()
            found.append((commit, datetime.fromtimestamp(int(seconds), UTC), []))
        elif line and found:
            found[-1][2].append(line)
    return [LoggedCommit(commit, time, tuple(entries)) for commit, time, entries in found]


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


class GitObjects:
    """A running `git cat-file --batch`. Each call of `blob` asks it for one object."""

    def __init__(self, requests: IO[bytes], replies: IO[bytes]) -> None:
        self._requests, self._replies = requests, replies

    def blob(self, name: str, most: int) -> bytes | None:
        """Return the content of the file that `name` names, such as a digest or `COMMIT:./path`.

        Return None if there is no such file, or if it has more than `most` bytes. Raises InfraError if Git ends early,
        and ValueError if the name has a line break.
        """
        if "\n" in name:
            raise ValueError(f"{name!r}: expected a name without a line break")
        self._requests.write(f"{name}\n".encode())
        self._requests.flush()
        header = self._replies.readline()
        if not header:
            raise InfraError("git cat-file ended early")
        words = header.split()
        if len(words) < 3 or not words[-1].isdigit():  # "… missing" or "… ambiguous"
            return None
        size = int(words[-1])
        content = None
        if words[-2] == b"blob" and size <= most:
            content = self._replies.read(size)
        else:
            self._skip(size)
        self._replies.read(1)  # a line end follows the content
        return content

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._replies.read(min(size, _PIECE))) or size


@contextlib.contextmanager
def git_objects(folder: Path) -> Iterator[GitObjects]:
    """Read objects of the repository that has the folder, during a `with` block.

    Raises MissingError if Git is not installed.
    """
    command = ["git", "-C", str(folder), "cat-file", "--batch"]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise MissingError("git is not installed here; type: sudo apt-get install -y git") from error
    with process:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        try:
            yield GitObjects(process.stdin, process.stdout)
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.terminate()
