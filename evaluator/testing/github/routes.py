"""The requests that the double answers: where, by whose leave, and with what.

An answer of GitHub's that our client does not ask for is not here: an unknown address is 404, as there.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote

from evaluator.testing.github import documents as say
from evaluator.testing.github.state import Hosted, Label, Pull, Token

if TYPE_CHECKING:
    from evaluator.testing.github.server import GitHubServer

TREE_ENTRIES: Final = 100_000
"""How many entries of a tree GitHub answers with at most."""

CHANGED_FILES: Final = 3_000
"""How many changed files of a pull request GitHub lists at most."""

Thing = TypeVar("Thing")
Needs = tuple[tuple[str, str], ...]
_TALK_READ: Final[Needs] = (("issues", "read"), ("pull_requests", "read"))
_TALK_WRITE: Final[Needs] = (("issues", "write"), ("pull_requests", "write"))
_PULLS: Final[Needs] = (("pull_requests", "read"),)
_CONTENTS: Final[Needs] = (("contents", "read"),)
_ACTIONS: Final[Needs] = (("actions", "read"),)


class Refused(Exception):  # noqa: N818 - an answer, not an error of ours
    """The request is answered with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Asked(NamedTuple):
    """A request that was understood: the server, the repository, who asks, and what."""

    github: GitHubServer
    hosted: Hosted
    token: Token
    words: Sequence[str]
    query: Mapping[str, str]
    body: Any

    @property
    def number(self) -> int:
        """The first number of the address."""
        return int(self.words[0])

    def issue(self) -> Pull:
        """The issue or pull request that the address names."""
        return _found(self.hosted.issues.get(self.number))

    def pull(self) -> Pull:
        """The pull request that the address names."""
        issue = self.issue()
        return _found(issue if issue.head else None)


class Answer(NamedTuple):
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
    answer: Callable[[Asked], Answer]


def _found(thing: Thing | None) -> Thing:
    if thing is None:
        raise Refused(404, "Not Found")
    return thing


def _list(rows: list[Any], under: str | None = None) -> Answer:
    return Answer(200, rows, listing=True, under=under)


def _pulls(asked: Asked) -> Answer:
    wanted = asked.query.get("state", "open")
    pulls = [each for each in asked.hosted.issues.values() if each.head and wanted in (each.state, "all")]
    if asked.query.get("sort") == "updated":
        pulls.sort(key=lambda pull: pull.updated)
    if asked.query.get("direction", "desc") == "desc":
        pulls.reverse()
    return _list([say.pull_document(asked.github.url, asked.hosted, pull) for pull in pulls])


def _pull(asked: Asked) -> Answer:
    pull = asked.pull()
    changes = asked.hosted.git.changes(pull.base, pull.head)
    return Answer(200, say.whole_pull_document(asked.github.url, asked.hosted, pull, changes))


def _changed(asked: Asked) -> Answer:
    pull = asked.pull()
    changes = asked.hosted.git.changes(pull.base, pull.head)[:CHANGED_FILES]
    return _list([say.change_document(asked.github.url, asked.hosted, pull, change) for change in changes])


def _tree(asked: Asked) -> Answer:
    name = asked.words[0]
    try:
        entries = asked.hosted.git.tree(name, recursive=bool(asked.query.get("recursive")))
    except subprocess.CalledProcessError as error:
        raise Refused(404, "Not Found") from error
    sha = asked.hosted.git.resolve(f"{name}^{{tree}}")
    most = asked.github.tree_entries
    cut = len(entries) > most
    return Answer(200, say.tree_document(asked.github.url, asked.hosted, sha, entries[:most], cut))


def _blob(asked: Asked) -> Answer:
    try:
        content = asked.hosted.git.blob(asked.words[0])
    except subprocess.CalledProcessError as error:
        raise Refused(404, "Not Found") from error
    return Answer(200, say.blob_document(asked.github.url, asked.hosted, asked.words[0], content))


def _comments(asked: Asked) -> Answer:
    issue = asked.issue()
    rows = [say.comment_document(asked.github.url, asked.hosted, issue, each) for each in issue.comments]
    return _list(rows)


def _comment(asked: Asked) -> Answer:
    issue = asked.issue()
    made = asked.github.comment(issue, asked.token.user, _text(asked, "body"))
    return Answer(201, say.comment_document(asked.github.url, asked.hosted, issue, made))


def _edit(asked: Asked) -> Answer:
    places = ((issue, each) for issue in asked.hosted.issues.values() for each in issue.comments)
    issue, comment = _found(next((pair for pair in places if pair[1].id == asked.number), None))
    comment.body, comment.updated = _text(asked, "body"), asked.github.now
    return Answer(200, say.comment_document(asked.github.url, asked.hosted, issue, comment))


def _text(asked: Asked, name: str) -> str:
    """A text of the request's body. GitHub refuses a comment beyond 65,536 characters, and an empty one."""
    text = asked.body.get(name)
    if not isinstance(text, str) or not text.strip() or len(text) > 65_536:
        raise Refused(422, "Validation Failed")
    return text


def _issue_labels(asked: Asked) -> Answer:
    return _list(_labels_of(asked, asked.issue()))


def _labels_of(asked: Asked, issue: Pull) -> list[say.Document]:
    labels = asked.hosted.labels
    return [say.label_document(asked.github.url, asked.hosted, labels[name.casefold()]) for name in issue.labels]


def _add_labels(asked: Asked) -> Answer:
    issue = asked.issue()
    for name in asked.body["labels"] if isinstance(asked.body, dict) else asked.body:
        label = asked.github.label(asked.hosted, name, "ededed")
        if label.name not in issue.labels:
            issue.labels.append(label.name)
    return Answer(200, _labels_of(asked, issue))


def _remove_label(asked: Asked) -> Answer:
    issue, name = asked.issue(), unquote(asked.words[1])
    if name not in issue.labels:
        raise Refused(404, "Label does not exist")
    issue.labels.remove(name)
    return Answer(200, _labels_of(asked, issue))


def _label(asked: Asked) -> Answer:
    label: Label = _found(asked.hosted.labels.get(unquote(asked.words[0]).casefold()))
    return Answer(200, say.label_document(asked.github.url, asked.hosted, label))


def _make_label(asked: Asked) -> Answer:
    name = _text(asked, "name")
    if name.casefold() in asked.hosted.labels:
        raise Refused(422, "Validation Failed")
    made = asked.github.label(asked.hosted, name, asked.body["color"], asked.body.get("description"))
    return Answer(201, say.label_document(asked.github.url, asked.hosted, made))


def _run(asked: Asked) -> Answer:
    return Answer(200, say.run_document(asked.github.url, asked.hosted, _found(asked.hosted.runs.get(asked.number))))


def _artifacts(asked: Asked) -> Answer:
    run = _found(asked.hosted.runs.get(asked.number))
    rows = [say.artifact_document(asked.github.url, asked.hosted, each) for each in run.artifacts]
    return _list(rows, under="artifacts")


def _download(asked: Asked) -> Answer:
    every = (each for run in asked.hosted.runs.values() for each in run.artifacts)
    artifact = _found(next((each for each in every if each.id == asked.number), None))
    if artifact.expired:
        raise Refused(410, "Artifact has expired")
    return Answer(302, None, {"Location": asked.github.signed(artifact)})


def _route(method: str, address: str, needs: Needs, answer: Callable[[Asked], Answer]) -> Route:
    return Route(method, re.compile(address), needs, answer)


ROUTES: Final = (
    _route("GET", r"/pulls", _PULLS, _pulls),
    _route("GET", r"/pulls/(\d+)", _PULLS, _pull),
    _route("GET", r"/pulls/(\d+)/files", _PULLS, _changed),
    _route("GET", r"/git/trees/([^/]+)", _CONTENTS, _tree),
    _route("GET", r"/git/blobs/([0-9a-f]{40})", _CONTENTS, _blob),
    _route("GET", r"/issues/(\d+)/comments", _TALK_READ, _comments),
    _route("POST", r"/issues/(\d+)/comments", _TALK_WRITE, _comment),
    _route("PATCH", r"/issues/comments/(\d+)", _TALK_WRITE, _edit),
    _route("GET", r"/issues/(\d+)/labels", _TALK_READ, _issue_labels),
    _route("POST", r"/issues/(\d+)/labels", _TALK_WRITE, _add_labels),
    _route("DELETE", r"/issues/(\d+)/labels/([^/]+)", _TALK_WRITE, _remove_label),
    _route("GET", r"/labels/([^/]+)", _TALK_READ, _label),
    _route("POST", r"/labels", _TALK_WRITE, _make_label),
    _route("GET", r"/actions/runs/(\d+)", _ACTIONS, _run),
    _route("GET", r"/actions/runs/(\d+)/artifacts", _ACTIONS, _artifacts),
    _route("GET", r"/actions/artifacts/(\d+)/zip", _ACTIONS, _download),
)
