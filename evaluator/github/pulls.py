"""Pull requests as our own values: whose run it was, what changed, how many their author opened of late."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from github.PullRequest import PullRequest as HostedPull
from github.Repository import Repository

from evaluator.github.connection import Connection, account, map_errors

MOST_CHANGED: Final = 3_000
"""Changed files of one pull request that GitHub lists; of what comes after them it says nothing."""

_NEWCOMERS: Final = frozenset({"FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "NONE"})
_INSIDERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_READ: Final = "pull-requests: read"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request; title, branch and login are a stranger's text.

    `head_repository` is the numeric id of the repository it comes from, None where that was deleted. `author` is the
    numeric id that stays when its owner takes another name; None, and no login, when they are gone. `newcomer` tells
    that nothing of theirs was merged here before; `insider` that they belong here, or may push to the branch it is of.
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
    """What was found for a run: its pull request; one that has another head by now; none; several."""

    FOUND = "found"
    STALE = "stale"
    MISSING = "missing"
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class FoundPull:
    """The pull request of a run. `pull` is set where it was `found` or is `stale`; `head` is the run's commit.

    `finished` is False while the run is under way.
    """

    match: Match
    head: str
    pull: PullRequest | None = None
    numbers: tuple[int, ...] = ()
    finished: bool = True


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a pull request changes: `status` as GitHub says it, `earlier` its path before it was renamed."""

    path: str
    status: str
    earlier: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed files; `complete` is False where there may be more than GitHub lists.

    `heads` are the commits that they are found at: one, unless a push came while they were listed.
    """

    files: tuple[ChangedFile, ...]
    complete: bool
    heads: frozenset[str] = frozenset()


def find_pull(connection: Connection, run: int) -> FoundPull:
    """The open pull request that a run is for.

    GitHub names none for a run of a fork, so it is looked for among the open ones: by the commit, and by the
    repository and branch it came from, because anybody can open a pull request with another's commit.
    """
    with map_errors(connection, f"reading run {run}", "actions: read"):
        about = connection.hosted.get_workflow_run(run)
        head, branch, origin = about.head_sha, about.head_branch, _number(about.head_repository)
        finished = about.status == "completed"
    same = [pull for pull in _open(connection) if (pull.head_repository, pull.head_branch) == (origin, branch)]
    fitting = [pull for pull in same if pull.head == head]
    numbers = tuple(pull.number for pull in fitting or same)
    if len(fitting) == 1:
        return FoundPull(Match.FOUND, head, fitting[0], numbers, finished)
    if fitting:
        return FoundPull(Match.SEVERAL, head, None, numbers)
    return FoundPull(Match.STALE, head, same[0], numbers) if same else FoundPull(Match.MISSING, head)


def _open(connection: Connection) -> Iterable[PullRequest]:
    with map_errors(connection, "listing open pull requests", _READ):
        return [_pull(each) for each in connection.hosted.get_pulls(state="open", sort="created", direction="desc")]


def read_pull(connection: Connection, number: int) -> PullRequest:
    """A pull request as it is now, so that who worked on its head can see whether that was pushed over."""
    with map_errors(connection, f"reading pull request {number}", _READ):
        found = connection.hosted.get_pull(number)
        found.update()
        return _pull(found)


def _pull(found: HostedPull) -> PullRequest:
    return PullRequest(
        number=found.number,
        title=found.title,
        state=found.state,
        author=account(found.user),
        login=found.user.login if found.user is not None else "",
        head=found.head.sha,
        head_branch=found.head.ref,
        head_repository=_number(found.head.repo),
        base=found.base.sha,
        base_branch=found.base.ref,
        created=found.created_at,
        labels=frozenset(label.name for label in found.labels),
        newcomer=found.author_association in _NEWCOMERS,
        insider=found.author_association in _INSIDERS or _is_own_branch(found),
    )


def _is_own_branch(found: HostedPull) -> bool:
    """True where it is of a branch of this repository, from which only those may offer who may push to it."""
    return _number(found.head.repo) is not None and _number(found.head.repo) == _number(found.base.repo)


def _number(repository: Repository | None) -> int | None:
    """A repository's number; the library's types leave out that a fork may be gone."""
    return repository.id if repository is not None else None


def changed_files(connection: Connection, number: int) -> ChangedFiles:
    """Every file that a pull request changes, by GitHub's own comparison."""
    with map_errors(connection, f"listing the changed files of pull request {number}", _READ):
        listed = list(itertools.islice(connection.hosted.get_pull(number).get_files(), MOST_CHANGED))
        files = [
            ChangedFile(each.filename, each.status, each.previous_filename if each.status == "renamed" else None)
            for each in listed
        ]
        # pages are answered one by one; what is removed is found at another commit
        heads = {each.contents_url.rpartition("?ref=")[2] for each in listed if each.status != "removed"}
    return ChangedFiles(tuple(files), len(files) < MOST_CHANGED, frozenset(heads))


def open_of(connection: Connection, author: int) -> tuple[PullRequest, ...]:
    """The open pull requests of one account, newest first."""
    return tuple(each for each in _open(connection) if each.author == author)


def opened_lately(connection: Connection, pull: PullRequest, now: datetime, hours: float = 24.0) -> tuple[int, ...]:
    """Numbers of the pull requests that the same person opened in the last hours, this one included, newest first."""
    if pull.author is None:
        # nothing tells one account that is gone from another
        return (pull.number,)
    since = now.astimezone(UTC) - timedelta(hours=hours)
    with map_errors(connection, "listing the pull requests of the last day", _READ):
        listed = connection.hosted.get_pulls(state="all", sort="created", direction="desc")
        late = itertools.takewhile(lambda each: each.created_at >= since, listed)
        return tuple(each.number for each in late if account(each.user) == pull.author)
