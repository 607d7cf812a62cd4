"""The request and the response of an operation of the double."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote

from tests.doubles.github.state import HostedRepo, Pull, Token

if TYPE_CHECKING:
    from tests.doubles.github.server import GitHubServer

Thing = TypeVar("Thing")
Needs = tuple[tuple[str, str], ...]
CONTENTS: Final[Needs] = (("contents", "read"),)
CONTENTS_WRITE: Final[Needs] = (("contents", "write"),)
PULLS: Final[Needs] = (("pull_requests", "read"),)
PULLS_WRITE: Final[Needs] = (("pull_requests", "write"),)


class Refused(Exception):  # noqa: N818 - a response of GitHub, not an error in the double
    """The double refuses the request with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class ApiRequest(NamedTuple):
    """A routed request: the server, the repository, the token, and the parts of the request."""

    github: GitHubServer
    hosted: HostedRepo
    token: Token
    words: Sequence[str]
    query: Mapping[str, str]
    body: Any

    @property
    def number(self) -> int:
        """Return the first number of the address."""
        return int(self.words[0])

    @property
    def place(self) -> tuple[str, HostedRepo]:
        """Return the server's address and the repository, the first arguments of every function of `responses`."""
        return self.github.url, self.hosted

    @property
    def word(self) -> str:
        """Return the first word of the address, unquoted."""
        return unquote(self.words[0])

    def issue(self, level: str = "read") -> Pull:
        """Return the issue or pull request of the address. The permission `pull_requests` does not cover issues."""
        issue = found(self.hosted.issues.get(self.number))
        if not issue.head and not self.token.may((("issues", level),)):
            raise Refused(403, "Resource not accessible by integration")
        return issue

    def pull(self) -> Pull:
        """Return the pull request of the address."""
        issue = self.hosted.issues.get(self.number)
        return found(issue if issue and issue.head else None)


class ApiResponse(NamedTuple):
    """A response. The server splits a `listing` into pages. If `under` is set, it is the key of the rows in a page."""

    status: int
    document: Any = None
    headers: Mapping[str, str] = {}
    listing: bool = False
    under: str | None = None


class Route(NamedTuple):
    """An operation. `address` is relative to the repository. A token must have one of the permissions in `needs`."""

    method: str
    address: re.Pattern[str]
    needs: Needs
    answer: Callable[[ApiRequest], ApiResponse]


def found(thing: Thing | None) -> Thing:
    """Return the object, or refuse the request with 404 if there is none."""
    if thing is None:
        raise Refused(404, "Not Found")
    return thing


def listed(rows: list[Any], under: str | None = None) -> ApiResponse:
    """Return a listing, which the server splits into pages."""
    return ApiResponse(200, rows, listing=True, under=under)


def text(request: ApiRequest, name: str) -> str:
    """Return a text of the request's body. Like GitHub, refuse an empty text and more than 65,536 characters."""
    text = request.body.get(name)
    if not isinstance(text, str) or not text.strip() or len(text) > 65_536:
        raise Refused(422, "Validation Failed")
    return text


def operation(method: str, address: str, needs: Needs, answer: Callable[[ApiRequest], ApiResponse]) -> Route:
    """Return an operation. `address` is a regular expression, and its groups become the words of the request."""
    return Route(method, re.compile(address), needs, answer)
