"""A double of a model server: an HTTP server on loopback without a model, which can fail as real servers do.

    with JudgeServer(says("yes"), script=[refuses(429, {"Retry-After": "1"}), stalls()]) as server:
        settings = PanelSettings(base_url=server.url, models=("a-model",))

Each request gets the next response of `script`. After the last one, `brain` answers. `asked` records all requests.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, NamedTuple

DIMENSIONS: Final = 64
"""The number of dimensions of the double's embeddings."""


class ReceivedRequest(NamedTuple):
    """A received request: path, headers with names in lower case, body, and time on the monotonic clock in seconds."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float

    @property
    def messages(self) -> Sequence[Mapping[str, str]]:
        """Return the messages of the chat."""
        messages: Sequence[Mapping[str, str]] = self.body["messages"]
        return messages


class Said(NamedTuple):
    """A response, which the server sends after `after_s` seconds.

    If `sent` is not None, the server sends only this many bytes of the body and closes the connection.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    sent: int | None = None
    after_s: float = 0.0


Act = Callable[[ReceivedRequest], Said]


def completion(text: str | None, *, usage: bool = True, finish: str = "stop", **fields: Any) -> Said:
    """Return a complete chat response with this text, for 100 tokens of input and 10 of output."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "double", "choices": [choice]}
    counted = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} if usage else None
    return Said(200, json.dumps({**body, "usage": counted}).encode(), **fields)


def vote(verdict: str, reason: str = "so it seems") -> str:
    """Return a reply that matches the schema."""
    return json.dumps({"reason": reason, "verdict": verdict})


def says(verdict: str, reason: str = "so it seems", **fields: Any) -> Act:
    """Return a function that answers every chat with this verdict."""
    return lambda _: completion(vote(verdict, reason), **fields)


def replies(text: str | None, **fields: Any) -> Act:
    """Return a function that answers every chat with this text, which need not match the schema."""
    return lambda _: completion(text, **fields)


def refuses(status: int, headers: Mapping[str, str] | None = None, message: str = "no", code: str = "") -> Act:
    """Return a function that answers every request with an error in the format of the API."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code or None}}).encode()
    return lambda _: Said(status, body, headers or {})


def sends(body: bytes, **fields: Any) -> Act:
    """Return a function that answers every request with status 200 and these bytes."""
    return lambda _: Said(200, body, **fields)


def half_closes() -> Act:
    """Return a function whose response has a full Content-Length, but ends after 40 bytes."""
    return lambda _: completion(vote("yes"), sent=40)


def stalls(seconds: float = 3600.0) -> Act:
    """Return a function that delays the response by this time, or until the server closes."""
    return lambda _: completion(vote("yes"), after_s=seconds)


def knows_no_schema(brain: Act) -> Act:
    """Return a function that refuses requests with a `response_format`, as older servers do. `brain` answers others."""
    refusal = refuses(400, message="response_format is not supported")
    return lambda asked: refusal(asked) if "response_format" in asked.body else brain(asked)


def embeds(asked: ReceivedRequest) -> Said:
    """Return an embedding of the text: the count of its letter triples, each hashed to one of the dimensions."""
    text = str(asked.body["input"])
    numbers = [0.0] * DIMENSIONS
    for at in range(max(1, len(text) - 2)):
        numbers[hashlib.sha256(text[at : at + 3].encode()).digest()[0] % DIMENSIONS] += 1
    data = [{"object": "embedding", "index": 0, "embedding": numbers}]
    body = {"object": "list", "model": "double", "data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}}
    return Said(200, json.dumps(body).encode())


class JudgeServer:
    """A server that serves inside its `with` block.

    After the script, `embeds` answers requests for embeddings, and `brain` answers all others. `models` are the names
    that it lists. Without them, it has no list.
    """

    def __init__(self, brain: Act, script: Sequence[Act] = (), models: Sequence[str] = ()) -> None:
        self._brain, self._script, self.models = brain, list(script), models
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.asked: list[ReceivedRequest] = []
        self._server = _Server(("127.0.0.1", 0), self)

    @property
    def url(self) -> str:
        """Return the base address of the API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> JudgeServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: ReceivedRequest) -> Said:
        """Record a request, wait for the delay of its response, and return the response."""
        with self._lock:
            self.asked.append(asked)
            act = self._script.pop(0) if self._script else self._brain
        said = embeds(asked) if act is self._brain and asked.path.endswith("/embeddings") else act(asked)
        if said.after_s:
            self._closing.wait(said.after_s)
        return said


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], judge: JudgeServer) -> None:
        super().__init__(address, _Handler)
        self.judge = judge

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error, because a client that disconnects is not a fault of the double."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # sends head and body in one packet, because a second packet would wait for the client's delayed acknowledgement
    wbufsize = -1
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = ReceivedRequest(self.path, headers, json.loads(self.rfile.read(length)), time.monotonic())
        said = self.server.judge.answer(asked)
        with contextlib.suppress(OSError):
            self._send(said)

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model"} for name in self.server.judge.models]
        found = self.path.endswith("/models") and models
        body = {"object": "list", "data": models} if found else {"detail": "Not Found"}
        with contextlib.suppress(OSError):
            self._send(Said(200 if found else 404, json.dumps(body).encode()))

    def _send(self, said: Said) -> None:
        self.send_response(said.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(said.body)), **said.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said.body[: said.sent])
        if said.sent is not None:
            self.close_connection = True

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002 - the name is the base class's
        """Write no log."""
