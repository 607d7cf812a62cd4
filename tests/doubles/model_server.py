"""A server of models that are none: real HTTP on loopback, with every way a real one fails.

    with JudgeServer(says("yes"), script=[refuses(429, {"Retry-After": "1"}), stalls()]) as server:
        settings = PanelSettings(base_url=server.url, models=("a-model",))

Each request takes the next act of the script; when that is done, the brain answers. `asked` keeps all requests.
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
"""Numbers of an embedding that the double makes."""


class ReceivedRequest(NamedTuple):
    """One request: its path, headers in lower case, body, and when it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float

    @property
    def messages(self) -> Sequence[Mapping[str, str]]:
        """The chat's messages."""
        messages: Sequence[Mapping[str, str]] = self.body["messages"]
        return messages


class Said(NamedTuple):
    """An answer. `sent` bytes of the body are sent where that is less than all; `after_s` is waited before."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    sent: int | None = None
    after_s: float = 0.0


Act = Callable[[ReceivedRequest], Said]


def completion(text: str | None, *, usage: bool = True, **fields: Any) -> Said:
    """A chat's whole answer with this text; 100 tokens in and 10 out."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "double", "choices": [choice]}
    counted = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} if usage else None
    return Said(200, json.dumps({**body, "usage": counted}).encode(), **fields)


def vote(verdict: str, reason: str = "so it seems") -> str:
    """A reply that holds to the schema."""
    return json.dumps({"reason": reason, "verdict": verdict})


def says(verdict: str, reason: str = "so it seems", **fields: Any) -> Act:
    """Answers every chat with this verdict."""
    return lambda _: completion(vote(verdict, reason), **fields)


def replies(text: str | None, **fields: Any) -> Act:
    """Answers every chat with this text, whatever it is."""
    return lambda _: completion(text, **fields)


def refuses(status: int, headers: Mapping[str, str] | None = None, message: str = "no", code: str = "") -> Act:
    """Answers with an error of the interface's form."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code or None}}).encode()
    return lambda _: Said(status, body, headers or {})


def sends(body: bytes, **fields: Any) -> Act:
    """Answers 200 with these bytes."""
    return lambda _: Said(200, body, **fields)


def half_closes() -> Act:
    """Promises a whole answer and goes away in the middle of it."""
    return lambda _: completion(vote("yes"), sent=40)


def stalls(seconds: float = 3600.0) -> Act:
    """Says nothing for so long, or until the server is closed."""
    return lambda _: completion(vote("yes"), after_s=seconds)


def knows_no_schema(brain: Act) -> Act:
    """Refuses every request that names a response format, as older servers do."""
    refusal = refuses(400, message="response_format is not supported")
    return lambda asked: refusal(asked) if "response_format" in asked.body else brain(asked)


def embeds(asked: ReceivedRequest) -> Said:
    """Answers with the text's bag of letter triples, each hashed to one of the dimensions."""
    text = str(asked.body["input"])
    numbers = [0.0] * DIMENSIONS
    for at in range(max(1, len(text) - 2)):
        numbers[hashlib.sha256(text[at : at + 3].encode()).digest()[0] % DIMENSIONS] += 1
    data = [{"object": "embedding", "index": 0, "embedding": numbers}]
    body = {"object": "list", "model": "double", "data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}}
    return Said(200, json.dumps(body).encode())


class JudgeServer:
    """Serves while its block runs. Requests for embeddings are answered by `embeds`, all others as said above."""

    def __init__(self, brain: Act, script: Sequence[Act] = ()) -> None:
        self._brain, self._script = brain, list(script)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.asked: list[ReceivedRequest] = []
        self._server = _Server(("127.0.0.1", 0), self)

    @property
    def url(self) -> str:
        """The base address of its interface."""
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
        """What is said to a request, when it is time to say it."""
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
        """A client that went away is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = ReceivedRequest(self.path, headers, json.loads(self.rfile.read(length)), time.monotonic())
        said = self.server.judge.answer(asked)
        with contextlib.suppress(OSError):
            self._send(said)

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
        """Keep quiet."""
