"""The objects of the double: users, repositories, pull requests, comments, labels, runs and their artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tests.doubles.github.repositories import BareRepository


@dataclass(frozen=True, slots=True)
class User:
    """An account. `kind` is `User` or `Bot`."""

    id: int
    login: str
    kind: str = "User"


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an account. `permissions` maps names such as `contents` or `pull_requests` to `read` or `write`."""

    user: User
    permissions: Mapping[str, str]

    def may(self, needed: tuple[tuple[str, str], ...]) -> bool:
        """Return whether the token has one of these permissions (name, level). The level `write` includes `read`."""
        return any(self.permissions.get(name) in {level, "write"} for name, level in needed)


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a repository. `color` is six hexadecimal digits."""

    id: int
    name: str
    color: str
    description: str | None


@dataclass(slots=True)
class Comment:
    """A comment on an issue or a pull request."""

    id: int
    user: User | None
    body: str
    created: datetime
    updated: datetime


@dataclass(slots=True)
class Pull:
    """An issue, or a pull request if it has a `head`. `head_repository` is None if the fork was deleted."""

    number: int
    id: int
    user: User | None
    title: str
    body: str | None
    created: datetime
    updated: datetime
    state: str = "open"
    head: str = ""
    head_ref: str = ""
    head_repository: HostedRepo | None = None
    base: str = ""
    base_ref: str = "main"
    merged: datetime | None = None
    merge_commit: str | None = None
    introduced: frozenset[str] = frozenset()
    """The commits that the merge added to the base branch, including the merge commit."""
    association: str = "FIRST_TIME_CONTRIBUTOR"
    comments: list[Comment] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Artifact:
    """An uploaded zip archive. `size` is the size that GitHub reports, and a test can set a false one."""

    id: int
    name: str
    content: bytes
    size: int
    created: datetime
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation that a step made by a command in its log. `level` is `notice`, `warning` or `failure`."""

    level: str
    message: str
    title: str = ""
    path: str = ".github"
    line: int = 1


@dataclass(slots=True)
class JobState:
    """A job in one attempt of a run. `conclusion` is None while the job runs. The annotations are of its check run."""

    id: int
    check_run: int
    name: str
    conclusion: str | None
    attempt: int
    created: datetime
    annotations: list[Annotation] = field(default_factory=list)


@dataclass(slots=True)
class WorkflowRun:
    """A run of a workflow for a commit. `conclusion` is None until it ends. `workflow` is the stem of the file name."""

    id: int
    head: str
    head_ref: str
    head_repository: HostedRepo
    event: str
    conclusion: str | None
    created: datetime
    workflow: str = "submission"
    attempt: int = 1
    artifacts: list[Artifact] = field(default_factory=list)
    jobs: list[JobState] = field(default_factory=list)


@dataclass(slots=True)
class HostedRepo:
    """A repository with its issues, labels and runs. `parent` is the repository of which this one is a fork, or None.

    `protected` maps branches to the accounts that may push to them without a pull request. `actions_propose` is the
    setting that lets a workflow's own token open pull requests.
    """

    id: int
    owner: User
    name: str
    git: BareRepository
    created: datetime
    parent: HostedRepo | None = None
    issues: dict[int, Pull] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    protected: dict[str, frozenset[int]] = field(default_factory=dict)
    actions_propose: bool = True

    @property
    def full_name(self) -> str:
        """Return `owner/name`, as in addresses."""
        return f"{self.owner.login}/{self.name}"
