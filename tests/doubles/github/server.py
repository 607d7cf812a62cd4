"""The double's server: HTTP, tokens, pages, and faults on demand."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.doubles.github.hosted_repository import GitHubState
from tests.doubles.github.routes import ROUTES, TREE_ENTRIES, ApiRequest, ApiResponse, Refused, Route
from tests.doubles.github.state import Artifact, HostedRepo


class Exchange(NamedTuple):
    """One request and its answer; header names are in lower case, bodies are JSON or None."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    status: int
    answer: Any
    injected: bool = False


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """An answer that takes the place of the true one, once. With `late` the request is obeyed and its answer lost.

    It waits for a request of this `method`, to an address that ends as `path` says; any where they are empty.
    `document` is answered in the place of an error's.
    """

    status: int
    message: str = "Server Error"
    headers: Mapping[str, str] | None = None
    method: str = ""
    path: str = ""
    late: bool = False
    document: Any = None

    def meets(self, method: str, path: str) -> bool:
        """Whether it is for this request."""
        return self.method in ("", method) and path.endswith(self.path)


class GitHubServer(GitHubState):
    """Serves while its block runs. `examine` tells what is wrong with an exchange; it goes to `complaints`.

    `faults` are met in their order; `exchanges` keeps all requests with their answers.
    """

    def __init__(self, folder: Path, examine: Callable[[Exchange], Iterable[str]] = lambda _: ()) -> None:
        super().__init__(folder)
        self._examine = examine
        self._lock = threading.Lock()
        self._signed: dict[str, bytes] = {}
        self._server = _Server(("127.0.0.1", 0), self)
        self.tree_entries = TREE_ENTRIES
        self.faults: list[InjectedFault] = []
        self.exchanges: list[Exchange] = []
        self.complaints: list[str] = []

    @property
    def url(self) -> str:
        """The base address of its interface."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> GitHubServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering; the block's end does it otherwise."""
        self._server.shutdown()
        self._server.server_close()

    def signed(self, artifact: Artifact) -> str:
        """An address at another host that needs no token, and takes none."""
        word = secrets.token_hex(8)
        self._signed[word] = artifact.content
        return f"{self.url.replace('127.0.0.1', 'localhost')}/blobs/{word}?signature=a%2Bb"

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a request, which is recorded."""
        parts = urlsplit(target)
        with self._lock:
            if parts.path.startswith("/blobs/"):
                return self._blob(parts.path, headers)
            self.follow()
            body = json.loads(raw) if raw else None
            asked = Exchange(
                method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body, 0, None
            )
            fault = next((each for each in self.faults if each.meets(method, parts.path)), None)
            if fault is not None:
                self.faults.remove(fault)
            said, needs = (ApiResponse(0), "") if fault and not fault.late else self._say(asked)
            if fault is not None:
                said = _refusal(fault.status, fault.message, fault.headers)
                said = said._replace(document=fault.document or said.document)
            said = self._page(said, asked)
            self._record(asked._replace(status=said.status, answer=said.document, injected=fault is not None))
        sent = {"Content-Type": "application/json; charset=utf-8", **needs_header(needs), **said.headers}
        return said.status, sent, b"" if said.document is None else json.dumps(said.document).encode()

    def _record(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        self.complaints += self._examine(exchange)

    def _blob(self, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        if "authorization" in headers:
            self.complaints.append(f"{path}: a token was sent to a host that is not GitHub's")
        content = self._signed.get(path.removeprefix("/blobs/"))
        return (404, {}, b"") if content is None else (200, {"Content-Type": "application/zip"}, content)

    def _say(self, asked: Exchange) -> tuple[ApiResponse, str]:
        route, hosted, words = self._routed(asked)
        needs = "; ".join(f"{name}={level}" for name, level in route.needs) if route else ""
        token = self.tokens.get(asked.headers.get("authorization", "").partition(" ")[2])
        if token is None:
            return _refusal(401, "Bad credentials"), ""
        if route is None or hosted is None:
            return _refusal(404, "Not Found"), ""
        if not token.may(route.needs):
            return _refusal(403, "Resource not accessible by integration"), needs
        try:
            return route.answer(ApiRequest(self, hosted, token, words, asked.query, asked.body)), needs
        except Refused as refused:
            return _refusal(refused.status, refused.message), needs

    def _routed(self, asked: Exchange) -> tuple[Route | None, HostedRepo | None, Sequence[str]]:
        pieces = asked.path.split("/", 4)
        if len(pieces) < 5 or pieces[1] != "repos":
            return None, None, ()
        hosted = self.repositories.get("/".join(pieces[2:4]))
        for route in ROUTES:
            match = route.address.fullmatch(f"/{pieces[4]}")
            if match and route.method == asked.method:
                return route, hosted, match.groups()
        return None, hosted, ()

    def _page(self, said: ApiResponse, asked: Exchange) -> ApiResponse:
        """The page that was asked for, with the addresses of those beside it."""
        if not said.listing:
            return said
        size = min(int(asked.query.get("per_page", "30")), 100)
        at, last = int(asked.query.get("page", "1")), max(1, -(-len(said.document) // size))
        places = {"prev": at - 1, "next": at + 1, "last": last, "first": 1}
        links = [
            f'<{self.url}{asked.path}?{urlencode({**asked.query, "page": page})}>; rel="{name}"'
            for name, page in places.items()
            if 1 <= page <= last and page != at
        ]
        rows = said.document[(at - 1) * size : at * size]
        whole = {"total_count": len(said.document), said.under: rows} if said.under else rows
        return said._replace(document=whole, headers={**said.headers, **({"Link": ", ".join(links)} if links else {})})


def needs_header(needs: str) -> dict[str, str]:
    """The header by which GitHub says what an operation needs."""
    return {"X-Accepted-GitHub-Permissions": needs} if needs else {}


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> ApiResponse:
    document = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return ApiResponse(status, document, headers or {})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], github: GitHubServer) -> None:
        super().__init__(address, _Handler)
        self.github = github

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no error of ours; any other is the double's own, and a test must see it."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.github.complaints.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # head and body in one packet: two would wait for the client's delayed acknowledgement
    wbufsize = -1
    server: _Server

    def do_GET(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answered, body = self.server.github.answer(self.command, self.path, headers, raw)
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in {**answered, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are the base class's

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""
