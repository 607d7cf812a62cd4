"""The HTTP server of the double, with tokens, pages, and faults that a test injects."""

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
    """A request and its response. Header names are in lower case. Bodies are JSON or None."""

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
    """A response that replaces one real response.

    The fault applies to the next request with this `method` to an address that ends with `path`. An empty `method` or
    `path` matches every request. With `late`, the request takes effect, and only its response is replaced. `document`
    replaces the document of the error.
    """

    status: int
    message: str = "Server Error"
    headers: Mapping[str, str] | None = None
    method: str = ""
    path: str = ""
    late: bool = False
    document: Any = None

    def meets(self, method: str, path: str) -> bool:
        """Return whether the fault applies to this request."""
        return self.method in ("", method) and path.endswith(self.path)


class GitHubServer(GitHubState):
    """The running double. For each exchange, the server adds the messages of `examine` to `complaints`.

    A request gets the first fault in `faults` that applies to it, and the fault is removed. `exchanges` records all
    requests with their responses.
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
        """Return the base address of the API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> GitHubServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server. The end of the `with` block calls this method too."""
        self._server.shutdown()
        self._server.server_close()

    def signed(self, artifact: Artifact) -> str:
        """Return a signed address of an artifact, on another host. The address needs no token and accepts none."""
        word = secrets.token_hex(8)
        self._signed[word] = artifact.content
        return f"{self.url.replace('127.0.0.1', 'localhost')}/blobs/{word}?signature=a%2Bb"

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Record a request and return status, headers and body of its response."""
        parts = urlsplit(target)
        with self._lock:
            if parts.path.startswith("/blobs/"):
                return self._blob(parts.path, headers)
            self.follow()
            body = json.loads(raw) if raw else None
            exchange = Exchange(
                method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body, 0, None
            )
            fault = next((each for each in self.faults if each.meets(method, parts.path)), None)
            if fault is not None:
                self.faults.remove(fault)
            response, needs = (ApiResponse(0), "") if fault and not fault.late else self._respond(exchange)
            if fault is not None:
                response = _refusal(fault.status, fault.message, fault.headers)
                response = response._replace(document=fault.document or response.document)
            response = self._page(response, exchange)
            self._record(
                exchange._replace(status=response.status, answer=response.document, injected=fault is not None)
            )
        sent = {"Content-Type": "application/json; charset=utf-8", **needs_header(needs), **response.headers}
        return response.status, sent, b"" if response.document is None else json.dumps(response.document).encode()

    def _record(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        self.complaints += self._examine(exchange)

    def _blob(self, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        if "authorization" in headers:
            self.complaints.append(f"{path}: a token was sent to a host that is not GitHub's")
        content = self._signed.get(path.removeprefix("/blobs/"))
        return (404, {}, b"") if content is None else (200, {"Content-Type": "application/zip"}, content)

    def _respond(self, exchange: Exchange) -> tuple[ApiResponse, str]:
        route, hosted, words = self._routed(exchange)
        needs = "; ".join(f"{name}={level}" for name, level in route.needs) if route else ""
        token = self.tokens.get(exchange.headers.get("authorization", "").partition(" ")[2])
        if token is None:
            return _refusal(401, "Bad credentials"), ""
        if route is None or hosted is None:
            return _refusal(404, "Not Found"), ""
        if not token.may(route.needs):
            return _refusal(403, "Resource not accessible by integration"), needs
        try:
            return route.answer(ApiRequest(self, hosted, token, words, exchange.query, exchange.body)), needs
        except Refused as refused:
            return _refusal(refused.status, refused.message), needs

    def _routed(self, exchange: Exchange) -> tuple[Route | None, HostedRepo | None, Sequence[str]]:
        pieces = exchange.path.split("/", 4)
        if len(pieces) < 5 or pieces[1] != "repos":
            return None, None, ()
        hosted = self.repositories.get("/".join(pieces[2:4]))
        for route in ROUTES:
            match = route.address.fullmatch(f"/{pieces[4]}")
            if match and route.method == exchange.method:
                return route, hosted, match.groups()
        return None, hosted, ()

    def _page(self, response: ApiResponse, exchange: Exchange) -> ApiResponse:
        """Return the requested page, with a `Link` header to the neighbouring pages."""
        if not response.listing:
            return response
        size = min(int(exchange.query.get("per_page", "30")), 100)
        at, last = int(exchange.query.get("page", "1")), max(1, -(-len(response.document) // size))
        places = {"prev": at - 1, "next": at + 1, "last": last, "first": 1}
        links = [
            f'<{self.url}{exchange.path}?{urlencode({**exchange.query, "page": page})}>; rel="{name}"'
            for name, page in places.items()
            if 1 <= page <= last and page != at
        ]
        rows = response.document[(at - 1) * size : at * size]
        whole = {"total_count": len(response.document), response.under: rows} if response.under else rows
        return response._replace(
            document=whole, headers={**response.headers, **({"Link": ", ".join(links)} if links else {})}
        )


def needs_header(needs: str) -> dict[str, str]:
    """Return the header with the permissions that an operation needs."""
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
        """Ignore the error of a client that disconnected. Report any other error, because it is a bug of the double."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.github.complaints.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # sends head and body in one packet, because a second packet would wait for the client's delayed acknowledgement
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
        """Write no log."""
