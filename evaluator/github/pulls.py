"""Pull requests on GitHub: the pull request of a run, its changed files, and the recent pull requests of its author."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from github.PullRequest import PullRequest as HostedPull
from github.Repository import Repository

from evaluator.github.connection import Connection, account_id, map_errors

MOST_CHANGED: Final = 3_000
"""The maximum number of changed files that GitHub lists. It does not say whether there are more."""

_NEWCOMERS: Final = frozenset({"FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "NONE"})
_INSIDERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_READ: Final = "pull-requests: read"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request. Title, branch and login are untrusted text.

    `head` and `base` are commits. `head_repository` is the numeric id of the repository that contains `head`, or None
    if that repository was deleted. `author` is the numeric id of an account, which stays the same after a new login
    name. If the account is gone, `author` is None and the login is empty. `newcomer` means that no pull request of the
    author was merged here before. `insider` means that the author belongs to the repository or may push to it.
    """

    number: int
    title: str
    state: str
    author: int | None
    login: str
    head: str
    head_branch: str
    head_repository: int | None
    base: str
    base_branch: str
    created: datetime
    labels: frozenset[str]
    newcomer: bool
    insider: bool


class Match(StrEnum):
    """The result of the search for a run's pull request. `STALE`: the pull request has a newer commit than the run."""

    FOUND = "found"
    STALE = "stale"
    MISSING = "missing"
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class RunPull:
    """The result of the search for the pull request of a workflow run. `head` is the run's commit.

    `pull` is None unless `match` is `FOUND` or `STALE`. `finished` is False while the run is in progress.
    """

    match: Match
    head: str
    pull: PullRequest | None = None
    numbers: tuple[int, ...] = ()
    finished: bool = True


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file of a pull request. `status` is GitHub's word for the change, such as "renamed".

    `earlier` is the path before a rename.
    """

    path: str
    status: str
    earlier: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed files of a pull request. `complete` is False if GitHub may have omitted files.

    `heads` are the commits from which GitHub listed the files. Several commits mean that a push came during the
    listing.
    """

    files: tuple[ChangedFile, ...]
    complete: bool
    heads: frozenset[str] = frozenset()


def find_pull(connection: Connection, run: int) -> RunPull:
    """Find the open pull request of a workflow run.

    GitHub does not name the pull request of a run from a fork. So this function searches the open pull requests for
    the run's commit, head repository and branch. The commit alone does not suffice, because anyone can open a pull
    request with another contributor's commit.
    """
    with map_errors(connection, f"reading run {run}", "actions: read"):
        workflow_run = connection.hosted.get_workflow_run(run)
        head, source = workflow_run.head_sha, (_repository_id(workflow_run.head_repository), workflow_run.head_branch)
        finished = workflow_run.status == "completed"
    same_branch = [pull for pull in _open_pulls(connection) if (pull.head_repository, pull.head_branch) == source]
    same_commit = [pull for pull in same_branch if pull.head == head]
    numbers = tuple(pull.number for pull in same_commit or same_branch)
    if len(same_commit) == 1:
        return RunPull(Match.FOUND, head, same_commit[0], numbers, finished)
    if same_commit:
        return RunPull(Match.SEVERAL, head, None, numbers)
    return RunPull(Match.STALE, head, same_branch[0], numbers) if same_branch else RunPull(Match.MISSING, head)


def _open_pulls(connection: Connection) -> Iterable[PullRequest]:
    with map_errors(connection, "listing open pull requests", _READ):
        return [_pull(hosted) for hosted in connection.hosted.get_pulls(state="open", sort="created", direction="desc")]


def read_pull(connection: Connection, number: int) -> PullRequest:
    """Return the current state of a pull request. Callers compare its head with an earlier head to detect a push."""
    with map_errors(connection, f"reading pull request {number}", _READ):
        hosted = connection.hosted.get_pull(number)
        hosted.update()
        return _pull(hosted)


def _pull(hosted: HostedPull) -> PullRequest:
    return PullRequest(
        number=hosted.number,
        title=hosted.title,
        state=hosted.state,
        author=account_id(hosted.user),
        login=hosted.user.login if hosted.user is not None else "",
        head=hosted.head.sha,
        head_branch=hosted.head.ref,
        head_repository=_repository_id(hosted.head.repo),
        base=hosted.base.sha,
        base_branch=hosted.base.ref,
        created=hosted.created_at,
        labels=frozenset(label.name for label in hosted.labels),
        newcomer=hosted.author_association in _NEWCOMERS,
        insider=hosted.author_association in _INSIDERS or _is_own_branch(hosted),
    )


def _is_own_branch(hosted: HostedPull) -> bool:
    """Return whether a pull request comes from a branch of this repository, not from a fork.

    Only accounts with write access can push to such a branch.
    """
    head = _repository_id(hosted.head.repo)
    return head is not None and head == _repository_id(hosted.base.repo)


def _repository_id(repository: Repository | None) -> int | None:
    """Return a repository's id, or None for a deleted repository. The client library's types wrongly exclude None."""
    return repository.id if repository is not None else None


def changed_files(connection: Connection, number: int) -> ChangedFiles:
    """Return the files that a pull request changes, as GitHub lists them."""
    with map_errors(connection, f"listing the changed files of pull request {number}", _READ):
        listed = list(itertools.islice(connection.hosted.get_pull(number).get_files(), MOST_CHANGED))
        files = [
            ChangedFile(file.filename, file.status, file.previous_filename if file.status == "renamed" else None)
            for file in listed
        ]
        # a push can come between two pages; removed files belong to another commit
        heads = {file.contents_url.rpartition("?ref=")[2] for file in listed if file.status != "removed"}
    return ChangedFiles(tuple(files), len(files) < MOST_CHANGED, frozenset(heads))


def open_pulls_of(connection: Connection, author: int) -> tuple[PullRequest, ...]:
    """Return the open pull requests of one account, newest first."""
    return tuple(pull for pull in _open_pulls(connection) if pull.author == author)


def recent_pull_numbers(
    connection: Connection, pull: PullRequest, now: datetime, hours: float = 24.0
) -> tuple[int, ...]:
    """Return the numbers of the pull requests that the author of `pull` opened in the last `hours`, newest first.

    The result includes `pull` itself. If the author's account was deleted, the result is only `pull`.
    """
    if pull.author is None:
        # deleted accounts are indistinguishable
        return (pull.number,)
    since = now.astimezone(UTC) - timedelta(hours=hours)
    with map_errors(connection, "listing the pull requests of the last day", _READ):
        listed = connection.hosted.get_pulls(state="all", sort="created", direction="desc")
        recent = itertools.takewhile(lambda hosted: hosted.created_at >= since, listed)
        return tuple(hosted.number for hosted in recent if account_id(hosted.user) == pull.author)
