"""The state of the double, and the events that users and workflow runs cause in it, such as a push or a merge."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.doubles.github import commits
from tests.doubles.github.commits import Method
from tests.doubles.github.repositories import BareRepository
from tests.doubles.github.state import (
    Annotation,
    Artifact,
    Comment,
    HostedRepo,
    JobState,
    Label,
    Pull,
    Token,
    User,
    WorkflowRun,
)

ACTIONS_BOT: Final = User(41_898_282, "github-actions[bot]", "Bot")
"""The account of a workflow's own token."""


class GitHubState:
    """The state of the double. `now` is the time for new timestamps, and a test can change `now`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ids = itertools.count(1_001)
        self._users: dict[str, User] = {}
        self.repositories: dict[str, HostedRepo] = {}
        self.tokens: dict[str, Token] = {}
        self.now = datetime(2026, 1, 2, 12, tzinfo=UTC)

    def user(self, login: str) -> User:
        """Return the user with that login. Create the user on first use."""
        return self._users.setdefault(login, User(next(self._ids), login))

    def token(self, permissions: Mapping[str, str], user: User = ACTIONS_BOT) -> str:
        """Return a new token with exactly these permissions. By default the token belongs to a workflow."""
        made = f"token-{secrets.token_hex(8)}"
        self.tokens[made] = Token(user, permissions)
        return made

    def repository(self, name: str, owner: User) -> HostedRepo:
        """Create an empty repository."""
        return self._keep(name, owner, None)

    def fork(self, hosted: HostedRepo, owner: User) -> HostedRepo:
        """Create a fork with the present content of the repository."""
        return self._keep(hosted.name, owner, hosted)

    def _keep(self, name: str, owner: User, parent: HostedRepo | None) -> HostedRepo:
        number = next(self._ids)
        git = BareRepository(self._folder / f"{number}.git", parent.git if parent else None)
        made = HostedRepo(number, owner, name, git, self.now, parent)
        self.repositories[made.full_name] = made
        return made

    def issue(
        self,
        hosted: HostedRepo,
        user: User,
        title: str = "An issue",
        body: str | None = None,
        labels: Iterable[str] = (),
    ) -> Pull:
        """Create an issue that is not a pull request. Create those of its labels that the repository lacks."""
        number = len(hosted.issues) + 1
        made = Pull(number, next(self._ids), user, title, body, self.now, self.now)
        made.labels += [self.label(hosted, name, "ededed").name for name in labels]
        hosted.issues[number] = made
        return made

    def open_pull(
        self,
        base: HostedRepo,
        head: HostedRepo,
        branch: str,
        title: str = "A submission",
        into: str = "main",
        user: User | None = None,
    ) -> Pull:
        """Open a pull request from a branch of a fork or of the repository itself.

        By default, the owner of the head repository opens the pull request.
        """
        pull = self.issue(base, user or head.owner, title)
        pull.head_ref, pull.head_repository, pull.base_ref = branch, head, into
        self.pushed(base, pull)
        return pull

    def follow(self) -> None:
        """Update the open pull requests whose branches were changed by `git push` instead of by the double."""
        for base in self.repositories.values():
            for pull in base.issues.values():
                fork = pull.head_repository if pull.state == "open" else None
                if fork and fork.git.find(f"refs/heads/{pull.head_ref}") not in (None, pull.head):
                    self.pushed(base, pull)

    def pushed(self, base: HostedRepo, pull: Pull) -> None:
        """Update an open pull request to the present commit of its branch, also after a forced push."""
        if pull.head_repository is not None and pull.state == "open":
            ref = f"refs/heads/{pull.head_ref}"
            pull.head = base.git.fetch(pull.head_repository.git, ref, f"refs/pull/{pull.number}/head")
            pull.base, pull.updated = base.git.resolve(f"refs/heads/{pull.base_ref}"), self.now

    def push(self, base: HostedRepo, pull: Pull, files: Mapping[str, Any], *, force: bool = False) -> str:
        """Push a commit to the branch of a pull request and return the commit. `force` replaces the history."""
        assert pull.head_repository is not None
        pull.head_repository.git.commit(pull.head_ref, files, root=force)
        self.pushed(base, pull)
        return pull.head

    def merge(self, base: HostedRepo, pull: Pull, method: Method = Method.MERGE) -> str:
        """Merge a pull request and return the new head of its base branch. The default is a merge with two parents."""
        before, said = base.git.resolve(f"refs/heads/{pull.base_ref}"), f"Merge pull request #{pull.number}"
        pull.merge_commit = commits.merge(base.git, pull.base_ref, pull.head, said, method)
        pull.introduced = commits.introduced(base.git, before, pull.merge_commit)
        pull.state, pull.merged, pull.updated = "closed", self.now, self.now
        return pull.merge_commit

    def comment(self, issue: Pull, user: User | None, body: str) -> Comment:
        """Add a comment. If `user` is None, the account of the author was deleted."""
        made = Comment(next(self._ids), user, body, self.now, self.now)
        issue.comments.append(made)
        return made

    def label(self, hosted: HostedRepo, name: str, color: str, description: str | None = None) -> Label:
        """Return the label of that name without regard to case. Create the label if the repository lacks it."""
        return hosted.labels.setdefault(name.casefold(), Label(next(self._ids), name, color, description))

    def run(self, base: HostedRepo, pull: Pull, conclusion: str | None = "success") -> WorkflowRun:
        """Return a new run for the present head of a pull request. The run is finished unless `conclusion` is None."""
        assert pull.head_repository is not None
        run = self.start(base, "submission", "pull_request", pull.head, pull.head_ref, pull.head_repository)
        run.conclusion = conclusion
        return run

    def start(
        self,
        hosted: HostedRepo,
        workflow: str,
        event: str,
        head: str,
        branch: str = "main",
        origin: HostedRepo | None = None,
    ) -> WorkflowRun:
        """Start a run of `.github/workflows/<workflow>.yml` for a commit of `origin`. The run is in progress."""
        number = next(self._ids)
        hosted.runs[number] = WorkflowRun(number, head, branch, origin or hosted, event, None, self.now, workflow)
        return hosted.runs[number]

    def add_job(
        self, run: WorkflowRun, name: str, conclusion: str | None = "success", notices: Iterable[tuple[str, str]] = ()
    ) -> JobState:
        """Add a job to a run's present attempt, with notices (title, message)."""
        made = JobState(next(self._ids), next(self._ids), name, conclusion, run.attempt, self.now)
        made.annotations += [Annotation("notice", message, title) for title, message in notices]
        run.jobs.append(made)
        return made

    def upload(self, run: WorkflowRun, name: str, content: bytes, size: int | None = None) -> Artifact:
        """Add an artifact to a run. The content may be a zip archive or any other bytes."""
        made = Artifact(next(self._ids), name, content, len(content) if size is None else size, self.now)
        run.artifacts.append(made)
        return made
