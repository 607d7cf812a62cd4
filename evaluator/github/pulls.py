"""Pull requests read from GitHub: the one that a run belongs to, its changed files, and its author's recent ones."""

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
"""The maximum number of changed files that GitHub lists. It does not say whether there are more."""

_NEWCOMERS: Final = frozenset({"FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "NONE"})
_INSIDERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_READ: Final = "pull-requests: read"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request. Title, branch and login are untrusted text.

    `head` and `base` are commits. `head_repository` is the numeric id of the head's repository, or None if it was
    deleted. `author` is the numeric id of the account, which stays when the account is renamed. If the account is gone,
    it is None and the login is empty. `newcomer`: nothing by this author was merged here before. `insider`: the author
    belongs to the repository or may push to it.
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
    """The result of the search for a run's pull request. `STALE`: its head is another commit by now."""

    FOUND = "found"
    STALE = "stale"
    MISSING = "missing"
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class FoundPull:
    """The pull request of a run. `pull` is set if it was `found` or is `stale`. `head` is the run's commit.

    `finished` is False while the run is under way.
    """

    match: Match
    head: str
    pull: PullRequest | None = None
    numbers: tuple[int, ...] = ()
    finished: bool = True


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file of a pull request. `status` is GitHub's word, `earlier` the path before a rename."""

    path: str
    status: str
    earlier: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed files of a pull request. `complete` is False if there may be more than GitHub lists.

    `heads` are the head commits to which the files belong. There are several only if a push came during the listing.
    """

    files: tuple[ChangedFile, ...]
    complete: bool
    heads: frozenset[str] = frozenset()


def find_pull(connection: Connection, run: int) -> FoundPull:
    """Find the open pull request that a run belongs to.

    For a run of a fork GitHub names none. So it is looked up among the open pull requests, by commit and by head
    repository and branch. The commit alone does not suffice, because anyone can open a pull request with another
    contributor's commit.
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
    """Return a pull request in its present state. A caller compares its head to detect a push in between."""
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
    """Return whether the head is a branch of this repository, to which only accounts with write access can push."""
    return _number(found.head.repo) is not None and _number(found.head.repo) == _number(found.base.repo)


def _number(repository: Repository | None) -> int | None:
    """Return a repository's id, or None if a fork is gone. The library's types leave out that it can be."""
    return repository.id if repository is not None else None


def changed_files(connection: Connection, number: int) -> ChangedFiles:
    """Return the files that a pull request changes, by GitHub's own comparison."""
    with map_errors(connection, f"listing the changed files of pull request {number}", _READ):
        listed = list(itertools.islice(connection.hosted.get_pull(number).get_files(), MOST_CHANGED))
        files = [
            ChangedFile(each.filename, each.status, each.previous_filename if each.status == "renamed" else None)
            for each in listed
        ]
        # a push can come between two pages; removed files belong to another commit
        heads = {each.contents_url.rpartition("?ref=")[2] for each in listed if each.status != "removed"}
    return ChangedFiles(tuple(files), len(files) < MOST_CHANGED, frozenset(heads))


def open_of(connection: Connection, author: int) -> tuple[PullRequest, ...]:
    """Return the open pull requests of one account, newest first."""
    return tuple(each for each in _open(connection) if each.author == author)


def opened_lately(connection: Connection, pull: PullRequest, now: datetime, hours: float = 24.0) -> tuple[int, ...]:
    """Return the numbers of the author's pull requests of the last hours, this one included, newest first."""
    if pull.author is None:
        # deleted accounts are indistinguishable
        return (pull.number,)
    since = now.astimezone(UTC) - timedelta(hours=hours)
    with map_errors(connection, "listing the pull requests of the last day", _READ):
        listed = connection.hosted.get_pulls(state="all", sort="created", direction="desc")
        late = itertools.takewhile(lambda each: each.created_at >= since, listed)
        return tuple(each.number for each in late if account(each.user) == pull.author)
