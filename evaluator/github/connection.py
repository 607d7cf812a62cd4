"""The one connection to GitHub: the repository a token is for, patience with limits, errors in our own words.

What GitHub asks of its callers is kept: after a limit it is left alone for as long as it says. What fails on its
side is asked for again, except what makes something new: a `POST` whose answer was lost may have been obeyed, so
whoever posts looks before posting again.

Which repository on GitHub a command is about, and by whose leave: a job's environment says both.
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
"""The most that GitHub puts on one page."""

Made = TypeVar("Made")
_LIMITED: Final = (403, 429)
_AGAIN: Final = frozenset({"GET", "PATCH", "PUT", "DELETE"})
_SECONDARY_S: Final = 60.0
"""GitHub's advice after a secondary limit that does not say how long to wait."""


@dataclass(frozen=True, slots=True)
class WaitPolicy:
    """How often and how long GitHub is waited for, in seconds.

    `tries` again after the first; `backoff_s` before the second of them, doubled for each after it; `limit_s`
    is the longest wait after a rate limit, longer ones are an error; `between_writes_s` is GitHub's own advice.
    `timeout_s` is enough for the largest file that we send: others measured 7 s for 5 MB.
    """

    tries: int = 5
    backoff_s: float = 1.0
    limit_s: float = 900.0
    timeout_s: float = 60.0
    between_writes_s: float = 1.0
    wait: Callable[[float], None] = time.sleep


class _PatientRetry(GithubRetry):
    """The library's, with what it leaves out: 429, a longest wait for Retry-After, and care with `POST`."""

    def __init__(self, patience: WaitPolicy, **fields: Any) -> None:
        self._patience = patience
        limits = {"secondary_rate_wait": _SECONDARY_S, "max_rate_limit_wait": patience.limit_s}
        super().__init__(**{**limits, **fields, "allowed_methods": _AGAIN})

    def new(self, **fields: Any) -> _PatientRetry:
        made: _PatientRetry = super().new(patience=self._patience, **fields)
        return made

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        if status_code in _LIMITED:
            return bool(self.total)
        return super().is_retry(method, status_code, has_retry_after)

    def increment(  # type: ignore[override]
        self, method: str | None = None, url: str | None = None, response: Any = None, *rest: Any, **fields: Any
    ) -> Retry:
        if response is not None and response.status in _LIMITED:
            if response.status == 429:
                response.headers.setdefault("Retry-After", _until_reset(response.headers))
            asked = self.get_retry_after(response)
            if asked is not None and asked > self._patience.limit_s:
                raise RateLimitExceededExceedsMaxWait(response.status, {}, dict(response.headers), wait=asked)
        return super().increment(method, url, response, *rest, **fields)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        asked = self.get_retry_after(response) if response is not None else None
        seconds = self.get_backoff_time() if asked is None else asked
        if seconds > 0:
            self._patience.wait(seconds)


def _until_reset(headers: Mapping[str, str]) -> str:
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isdigit():
        # a second more, because it is not said when in that second
        return str(max(0, int(reset) - int(time.time()) + 1))
    return str(int(_SECONDARY_S))


@dataclass(frozen=True, slots=True)
class Connection:
    """A repository on GitHub, as the library speaks to it, and the patience that it is spoken to with."""

    name: str
    github: Github
    hosted: HostedRepository
    patience: WaitPolicy


def connect(repository: str, token: str, base_url: str = API, patience: WaitPolicy | None = None) -> Connection:
    """A connection to `owner/name`; nothing is asked yet. Raises UsageError for a name that is none."""
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise UsageError(f"{printable(repository)!r} is no repository: expected owner/name, as GITHUB_REPOSITORY says")
    if not token.strip():
        raise PermissionMissingError("there is no token for GitHub; set GITHUB_TOKEN, in a workflow from github.token")
    patient = patience or WaitPolicy()
    retry = _PatientRetry(patient, total=patient.tries, backoff_factor=patient.backoff_s)
    github = Github(
        base_url=base_url,
        auth=Auth.Token(token),
        retry=retry,
        timeout=int(patient.timeout_s),
        per_page=PER_PAGE,
        seconds_between_requests=None,
        seconds_between_writes=patient.between_writes_s or None,
        lazy=True,
    )
    return Connection(repository, github, github.get_repo(repository), patient)


def connect_from(environ: Mapping[str, str], patience: WaitPolicy | None = None) -> Connection:
    """The connection of a workflow's job, or of whoever sets the same: GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_API_URL.

    Raises MissingError for what is not set, UsageError for a repository that is none.
    """
    repository = environ.get("GITHUB_REPOSITORY", "").strip()
    if not repository:
        raise MissingError("it is not said which repository on GitHub is meant; set GITHUB_REPOSITORY=owner/name")
    address = environ.get("GITHUB_API_URL") or API
    return connect(repository, environ.get("GITHUB_TOKEN", ""), address, patience or _patience(address))


def _patience(address: str) -> WaitPolicy:
    """GitHub's limits are its own hosts'; a server of one's own has none, so there nobody waits between writes."""
    host = urlsplit(address).hostname or ""
    return WaitPolicy() if host.endswith((".github.com", ".ghe.com")) else WaitPolicy(between_writes_s=0.0)


def server_address(environ: Mapping[str, str]) -> str:
    """Where people read the repository: `https://github.com/owner/name`, without a slash behind it."""
    server, name = environ.get("GITHUB_SERVER_URL") or SERVER, environ.get("GITHUB_REPOSITORY", "")
    return f"{server.rstrip('/')}/{name}".rstrip("/")


@contextlib.contextmanager
def map_errors(connection: Connection, what: str, permission: str) -> Iterator[None]:
    """Turn what the library raises into our errors: `what` was done, which needs this `permission`.

    Raises PermissionMissingError where the token may not, UsageError for what is not there, GitHubError for the rest.
    """
    place = f"{connection.name}: {what}"
    try:
        yield
    except RateLimitExceededException as error:
        raise GitHubError(f"{place}: GitHub's rate limit is reached: {_said(error)}; run this again later") from error
    except GithubException as error:
        if error.status in (401, 403):
            raise PermissionMissingError(f"{place}: {_refusal(error, permission)}") from error
        if error.status == 404:
            raise UsageError(f"{place}: GitHub finds nothing there, or may not show it ({permission})") from error
        raise GitHubError(f"{place}: GitHub answered {error.status}: {_said(error)}") from error
    except (requests.RequestException, OSError) as error:
        tries = connection.patience.tries
        raise GitHubError(f"{place}: GitHub does not answer, asked {tries + 1} times: {error}") from error


def post(connection: Connection, act: Callable[[], Made], find: Callable[[], Made | None]) -> Made:
    """Make something new. Where the answer is lost it may be there, so it is looked for before it is made again."""
    patience = connection.patience
    for attempt in range(patience.tries):
        try:
            return act()
        except (GithubException, requests.RequestException) as error:
            if isinstance(error, GithubException) and error.status < 500:
                raise
        patience.wait(patience.backoff_s * 2**attempt)
        found = find()
        if found is not None:
            return found
    return act()


def account(user: NamedUser | Organization | None) -> int | None:
    """An account's number; the library's types leave out that it may be gone, or never have been a person's."""
    return user.id if user is not None else None


def _refusal(error: GithubException, permission: str) -> str:
    if error.status == 401:
        return "GitHub does not know the token; expected one of this run, which ends with its job"
    if "not permitted to create" in _said(error):
        # no permission of a job's helps where the repository's owner did not allow it
        return f"{_said(error)} Tick it in Settings > Actions > General > Workflow permissions, and give `{permission}`"
    needs = (error.headers or {}).get("x-accepted-github-permissions", "")
    known = f"; GitHub accepts {printable(str(needs)).replace('_', '-').replace('=', ': ')!r}" if needs else ""
    return f"the token may not: {_said(error)}; add `{permission}` to the job's permissions{known}"


def _said(error: GithubException) -> str:
    """GitHub's own words, which may hold a stranger's."""
    said = error.data.get("message") if isinstance(error.data, dict) else None
    return printable(str(said or error.message or "no reason given"))[:300]


def github_connection(environ: Mapping[str, str]) -> Connection:
    """The repository of GITHUB_REPOSITORY, by GITHUB_TOKEN. Raises MissingError for what is not set."""
    return connect_from(environ)
