"""What an operation of the double is asked, and what it answers."""

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


class Refused(Exception):  # noqa: N818 - an answer, not an error of ours
    """The request is answered with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class ApiRequest(NamedTuple):
    """A request that was understood: the server, the repository, who asks, and what."""

    github: GitHubServer
    hosted: HostedRepo
    token: Token
    words: Sequence[str]
    query: Mapping[str, str]
    body: Any

    @property
    def number(self) -> int:
        """The first number of the address."""
        return int(self.words[0])

    @property
    def place(self) -> tuple[str, HostedRepo]:
        """The server's address and the repository, with which every document begins."""
        return self.github.url, self.hosted

    @property
    def word(self) -> str:
        """The first word of the address, as it was before it was quoted."""
        return unquote(self.words[0])

    def issue(self, level: str = "read") -> Pull:
        """The issue or pull request that the address names; of issues `pull_requests` tells nothing."""
        issue = found(self.hosted.issues.get(self.number))
        if not issue.head and not self.token.may((("issues", level),)):
            raise Refused(403, "Resource not accessible by integration")
        return issue

    def pull(self) -> Pull:
        """The pull request that the address names."""
        issue = self.hosted.issues.get(self.number)
        return found(issue if issue and issue.head else None)


class ApiResponse(NamedTuple):
    """Status, document and headers; a `listing` is cut into pages by the server, below `under` where that is set."""

    status: int
    document: Any = None
    headers: Mapping[str, str] = {}
    listing: bool = False
    under: str | None = None


class Route(NamedTuple):
    """One operation: its method, its address below the repository's, the permissions of which one is needed."""

    method: str
    address: re.Pattern[str]
    needs: Needs
    answer: Callable[[ApiRequest], ApiResponse]


def found(thing: Thing | None) -> Thing:
    """The thing; 404 for none."""
    if thing is None:
        raise Refused(404, "Not Found")
    return thing


def listed(rows: list[Any], under: str | None = None) -> ApiResponse:
    """A listing, whose pages the server cuts."""
    return ApiResponse(200, rows, listing=True, under=under)


def text(asked: ApiRequest, name: str) -> str:
    """A text of the request's body. GitHub refuses a comment beyond 65,536 characters, and an empty one."""
    text = asked.body.get(name)
    if not isinstance(text, str) or not text.strip() or len(text) > 65_536:
        raise Refused(422, "Validation Failed")
    return text


def operation(method: str, address: str, needs: Needs, answer: Callable[[ApiRequest], ApiResponse]) -> Route:
    """An operation at an address, a regular expression whose groups are its words."""
    return Route(method, re.compile(address), needs, answer)
