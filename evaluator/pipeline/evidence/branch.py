"""Fetch the branch `evidence` of a repository with Git, and read the branch's files as data.

The branch always has one commit, so a fetch of depth 1 is complete. No file is checked out. Files are read from Git's
object store by their blob names. Only regular files with published paths are read, up to a size limit. Other entries of
the commit, such as links, are skipped and counted.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final, NamedTuple

from evaluator.errors import InfraError, MissingError, UsageError
from evaluator.escaping import printable
from evaluator.pipeline.evidence.bundle import READING, parse_bundle_path
from evaluator.pipeline.evidence.images import IMAGES
from evaluator.progress import Progress

BRANCH: Final = "evidence"
REMOTE: Final = "origin"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_LOCAL_REFS: Final = "refs/bashboard/"
_TIMEOUT_S: Final = 1800
_MAX_FILES: Final = 20_000
_REPOSITORY_VARIABLES: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
"""Variables that a Git hook sets for its own repository. They must not redirect Git to it."""


class Blob(NamedTuple):
    """A file in Git's object store, with its blob name and its size in bytes."""

    name: str
    size: int


class Listing(NamedTuple):
    """The published files of a fetched commit, and the number of its other entries. Other entries are skipped."""

    files: Mapping[str, Blob]
    passed_over: int


def fetch_branch(root: Path, remote: str, branch: str, environ: Mapping[str, str]) -> str | None:
    """Fetch a branch of a remote into the checkout at `root`. Return its commit, or None if there is no such branch.

    Git never asks for a password. Raises UsageError for an invalid name of a remote or branch, and InfraError if Git
    fails.
    """
    if not _NAME.fullmatch(branch) or ".." in branch or "//" in branch or branch.endswith(("/", ".", ".lock")):
        raise UsageError(f"--branch {printable(branch)!r}: expected a branch's name, such as {BRANCH}")
    if remote.startswith("-") or not remote.isprintable() or not remote:
        raise UsageError(f"--remote {printable(remote)!r}: expected a remote's name or address, such as {REMOTE}")
    wanted = f"refs/heads/{branch}"
    if _git(root, environ, "ls-remote", "--exit-code", "--", remote, wanted, may_fail=2) is None:
        return None
    local = f"{_LOCAL_REFS}{branch}"
    options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=")
    _git(root, environ, "fetch", *options, "--", remote, f"+{wanted}:{local}")
    commit = _git(root, environ, "rev-parse", "--verify", "--end-of-options", f"{local}^{{commit}}")
    return (commit or b"").decode().strip()


def list_branch(root: Path, commit: str, environ: Mapping[str, str]) -> Listing:
    """List the files of a commit that have paths of published files, and count other entries.

    Raises InfraError if Git fails.
    """
    listing = _git(root, environ, "ls-tree", "-r", "-z", "-l", "--full-tree", commit) or b""
    entries = listing.split(b"\0")[:-1]
    files: dict[str, Blob] = {}
    for entry in entries[:_MAX_FILES]:
        metadata, _, name = entry.partition(b"\t")
        mode, kind, blob, size = metadata.split()
        path = os.fsdecode(name)
        if (mode, kind) == (b"100644", b"blob") and int(size) <= READING.packed_bytes and is_published(path):
            files[path] = Blob(blob.decode(), int(size))
    return Listing(files, len(entries) - len(files))


def is_published(path: str) -> bool:
    """Return whether a path is one that the branch `evidence` publishes: a bundle's path or `images.json`."""
    return path == IMAGES or parse_bundle_path(path) is not None


def replace_files(
    root: Path, files: Mapping[str, Blob], folder: Path, progress: Progress, environ: Mapping[str, str]
) -> None:
    """Replace the content of `folder` by these files of a commit. The old content stays until all files are written."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    progress.stage("reading the branch", len(files))
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".new"))
    try:
        for path, data in _contents(root, files, environ):
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            progress.advance()
        new.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)
    except OSError as error:
        raise InfraError(f"{folder} does not take what was fetched: {error.strerror or error}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _contents(root: Path, files: Mapping[str, Blob], environ: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of every file. One Git process reads all files."""
    with subprocess.Popen(
        ["git", "-C", str(root), "cat-file", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(environ),
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise InfraError("git was started without pipes")
        for path, blob in files.items():
            process.stdin.write(f"{blob.name}\n".encode())
            process.stdin.flush()
            yield path, _read_blob(process.stdout, path, blob)
        process.stdin.close()


def _read_blob(output: IO[bytes], path: str, blob: Blob) -> bytes:
    expected = f"{blob.name} blob {blob.size}\n".encode()
    answer = output.readline(1000)
    data = output.read(blob.size + 1) if answer == expected else b""
    if len(data) != blob.size + 1:
        raise InfraError(
            f"git returned another object for {path} than it listed: {printable(answer.decode(errors='replace'))}"
        )
    return data[:-1]


def _first_error(output: str) -> str:
    """Return what Git names as fatal first, or everything that it printed if it names nothing so.

    The lines after it are general advice.
    """
    fatal = [line for line in output.splitlines() if line.startswith("fatal: ")]
    return " ".join((fatal[0] if fatal else output).split())


def _git(root: Path, environ: Mapping[str, str], *words: str, may_fail: int | None = None) -> bytes | None:
    """Run Git in the folder `root` and return its output, or None if Git exits with the status `may_fail`."""
    try:
        process = subprocess.run(
            ["git", "-C", str(root), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=_environment(environ),
            timeout=_TIMEOUT_S,
            start_new_session=True,  # without a terminal that SSH could ask on
        )
    except FileNotFoundError as error:
        raise MissingError("git is not installed here; type: sudo apt-get install -y git") from error
    except subprocess.TimeoutExpired as error:
        raise InfraError(f"git {words[0]} did not finish within {_TIMEOUT_S} s") from error
    if process.returncode == may_fail:
        return None
    if process.returncode != 0:
        message = printable(_first_error(process.stderr.decode(errors="replace")))
        hint = "; use --remote to name another repository" if words[0] in ("ls-remote", "fetch") else ""
        raise InfraError(f"git {words[0]} ended with {process.returncode}: {message[-500:]}{hint}")
    return process.stdout


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for a Git process, so that Git asks nothing and writes English messages.

    In a GitHub job with a token, Git also uses the token, but sends it only to the job's GitHub server. The token is
    not an argument of Git, because other processes can see arguments.
    """
    variables = {name: value for name, value in environ.items() if name not in _REPOSITORY_VARIABLES}
    variables |= {"GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "LC_ALL": "C.UTF-8"}
    variables["GIT_ALLOW_PROTOCOL"] = "file:git:http:https:ssh"
    token = environ.get("GITHUB_TOKEN")
    if environ.get("GITHUB_ACTIONS") == "true" and token:
        server = environ.get("GITHUB_SERVER_URL") or "https://github.com"
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        header = {f"http.{server.rstrip('/')}/.extraheader": f"AUTHORIZATION: basic {basic}"}
        variables |= _config_variables(environ, header)
    return variables


def _config_variables(environ: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables that add these settings to the Git settings in the variables `environ`."""
    count = environ.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (name, value) in enumerate(settings.items(), first):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
