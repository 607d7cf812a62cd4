"""The connection to a repository on GitHub. It handles retries, rate limits and the errors of the client library.

After a rate limit the client waits as long as GitHub says. It repeats requests that fail on the server, except `POST`
requests. A `POST` may have succeeded although its response was lost. So `post` looks for the new object before it tries
again.

A command takes the repository and the token from the environment of its job: GITHUB_REPOSITORY and GITHUB_TOKEN.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import requests
from github import Auth, Github, GithubException, GithubRetry
from github.GithubException import RateLimitExceededExceedsMaxWait, RateLimitExceededException
from github.NamedUser import NamedUser
from github.Organization import Organization
from github.Repository import Repository as HostedRepository
from urllib3 import BaseHTTPResponse, Retry

from evaluator.errors import GitHubError, MissingError, PermissionMissingError, UsageError
from evaluator.escaping import printable

API: Final = "https://api.github.com"
SERVER: Final = "https://github.com"
PER_PAGE: Final = 100
"""GitHub's maximum number of entries on a page."""

Created = TypeVar("Created")
_LIMIT_STATUSES: Final = (403, 429)
_REPEATED: Final = frozenset({"GET", "PATCH", "PUT", "DELETE"})
_SECONDARY_S: Final = 60.0
"""The wait that GitHub advises after a secondary rate limit without a `Retry-After` header."""


@dataclass(frozen=True, slots=True)
class WaitPolicy:
    """The number of retries and the waits, in seconds.

    `tries` is the number of retries. `backoff_s` is the wait before the second retry and doubles with each later retry.
    `limit_s` is the longest wait for a rate limit. If GitHub asks for a longer wait, the request fails.
    `between_writes_s` is the pause that GitHub advises between writes. `timeout_s` is the longest wait for a response
    (a published measurement is 7 s for 5 MB).
    """

    tries: int = 5
    backoff_s: float = 1.0
    limit_s: float = 900.0
    timeout_s: float = 60.0
    between_writes_s: float = 1.0
    wait: Callable[[float], None] = time.sleep


class _WaitingRetry(GithubRetry):
    """The retry policy for requests to GitHub. It also handles status 429, limits all waits and repeats no `POST`."""

    def __init__(self, policy: WaitPolicy, **fields: Any) -> None:
        self._policy = policy
        limits = {"secondary_rate_wait": _SECONDARY_S, "max_rate_limit_wait": policy.limit_s}
        super().__init__(**{**limits, **fields, "allowed_methods": _REPEATED})

    def new(self, **fields: Any) -> _WaitingRetry:
        retry: _WaitingRetry = super().new(policy=self._policy, **fields)
        return retry

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        if status_code in _LIMIT_STATUSES:
            return bool(self.total)
        return super().is_retry(method, status_code, has_retry_after)

    def increment(  # type: ignore[override]
        self, method: str | None = None, url: str | None = None, response: Any = None, *rest: Any, **fields: Any
    ) -> Retry:
        if response is not None and response.status in _LIMIT_STATUSES:
            if response.status == 429:
                response.headers.setdefault("Retry-After", _until_reset(response.headers))
            seconds = self.get_retry_after(response)
            if seconds is not None and seconds > self._policy.limit_s:
                raise RateLimitExceededExceedsMaxWait(response.status, {}, dict(response.headers), wait=seconds)
        return super().increment(method, url, response, *rest, **fields)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        seconds = self.get_retry_after(response) if response is not None else None
        seconds = self.get_backoff_time() if seconds is None else seconds
        if seconds > 0:
            self._policy.wait(seconds)


def _until_reset(headers: Mapping[str, str]) -> str:
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isdigit():
        # add a second, because the header is cut to whole seconds
        return str(max(0, int(reset) - int(time.time()) + 1))
    return str(int(_SECONDARY_S))


@dataclass(frozen=True, slots=True)
class Connection:
    """A repository on GitHub with its client and its wait policy."""

    name: str
    github: Github
    hosted: HostedRepository
    wait_policy: WaitPolicy


def connect(repository: str, token: str, base_url: str = API, wait_policy: WaitPolicy | None = None) -> Connection:
    """Return a connection to the GitHub repository `repository` (`owner/name`). Send no request yet.

    Raises UsageError for an invalid repository name, and PermissionMissingError for an empty token.
    """
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise UsageError(f"{printable(repository)!r} is not a repository: expected owner/name, as in GITHUB_REPOSITORY")
    if not token.strip():
        raise PermissionMissingError("there is no token for GitHub; set GITHUB_TOKEN, in a workflow to github.token")
    policy = wait_policy or WaitPolicy()
    retry = _WaitingRetry(policy, total=policy.tries, backoff_factor=policy.backoff_s)
    github = Github(
        base_url=base_url,
        auth=Auth.Token(token),
        retry=retry,
        timeout=int(policy.timeout_s),
        per_page=PER_PAGE,
        seconds_between_requests=None,
        seconds_between_writes=policy.between_writes_s or None,
        lazy=True,
    )
    return Connection(repository, github, github.get_repo(repository), policy)


def github_connection(environ: Mapping[str, str]) -> Connection:
    """Return the connection that the variables GITHUB_REPOSITORY, GITHUB_TOKEN and GITHUB_API_URL define.

    Raises MissingError without a repository, PermissionMissingError without a token, and UsageError for an invalid
    repository name.
    """
    repository = environ.get("GITHUB_REPOSITORY", "").strip()
    if not repository:
        raise MissingError("the repository on GitHub is not known; set GITHUB_REPOSITORY=owner/name")
    address = environ.get("GITHUB_API_URL") or API
    host = urlsplit(address).hostname or ""
    # only GitHub's own hosts ask for a pause between writes
    is_github = host.endswith((".github.com", ".ghe.com"))
    policy = WaitPolicy() if is_github else WaitPolicy(between_writes_s=0.0)
    return connect(repository, environ.get("GITHUB_TOKEN", ""), address, policy)


@contextlib.contextmanager
def map_errors(connection: Connection, what: str, permission: str) -> Iterator[None]:
    """Convert errors of the GitHub client library in the `with` block to errors of this project.

    `what` names the action of the block, and `permission` names the permission that this action needs. Raises
    PermissionMissingError if the token lacks this permission, UsageError for a missing object, and GitHubError for all
    other errors.
    """
    prefix = f"{connection.name}: {what}"
    try:
        yield
    except RateLimitExceededException as error:
        message = f"GitHub's rate limit is reached: {_message(error)}; run this again later"
        raise GitHubError(f"{prefix}: {message}") from error
    except GithubException as error:
        if error.status in (401, 403):
            raise PermissionMissingError(f"{prefix}: {_refusal(error, permission)}") from error
        if error.status == 404:
            message = f"GitHub finds nothing there, or the token may not read it ({permission})"
            raise UsageError(f"{prefix}: {message}") from error
        raise GitHubError(f"{prefix}: GitHub answered {error.status}: {_message(error)}") from error
    except (requests.RequestException, OSError) as error:
        tries = connection.wait_policy.tries
        raise GitHubError(f"{prefix}: GitHub does not answer after {tries + 1} tries: {error}") from error


def post(connection: Connection, act: Callable[[], Created], find: Callable[[], Created | None]) -> Created:
    """Create an object on GitHub by calling `act`, and return the object.

    If the response was lost, the object may exist already, so call `find` to look for it before the next attempt.
    """
    policy = connection.wait_policy
    for attempt in range(policy.tries):
        try:
            return act()
        except (GithubException, requests.RequestException) as error:
            if isinstance(error, GithubException) and error.status < 500:
                raise
        policy.wait(policy.backoff_s * 2**attempt)
        existing = find()
        if existing is not None:
            return existing
    return act()


def account_id(user: NamedUser | Organization | None) -> int | None:
    """Return an account's numeric id, or None for a deleted account. The library's types wrongly exclude None."""
    return user.id if user is not None else None


def _refusal(error: GithubException, permission: str) -> str:
    if error.status == 401:
        return "GitHub does not know the token: a run's token ends with its job; expected the token of this run"
    if "not permitted to create" in _message(error):
        # no permission of a job helps if the repository's settings forbid it
        setting = "Settings > Actions > General > Workflow permissions"
        return f"{_message(error)} Allow it in {setting}, and give `{permission}`"
    needed = (error.headers or {}).get("x-accepted-github-permissions", "")
    accepted = f"; GitHub accepts {printable(str(needed)).replace('_', '-').replace('=', ': ')!r}" if needed else ""
    return f"the token lacks a permission: {_message(error)}; add `{permission}` to the job's permissions{accepted}"


def _message(error: GithubException) -> str:
    """Return the message of an error response from GitHub. Escape it, because it may quote untrusted text."""
    message = error.data.get("message") if isinstance(error.data, dict) else None
    return printable(str(message or error.message or "no reason given"))[:300]
