"""A double of an engine that hangs: an HTTP server on loopback that answers only the configured requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final

VERSION: Final = {"Version": "28.0.4", "ApiVersion": "1.48", "Arch": "amd64", "Components": [{"Name": "Engine"}]}
INFO: Final = {"CgroupVersion": "2", "Driver": "overlay2", "DefaultRuntime": "runc", "Runtimes": {"runc": {}}}
WELL: Final = {"/version": VERSION, "/info": INFO, "/_ping": "OK"}
"""Answers, by the end of the request's path, of an engine that reports its version and hangs at any other request."""


class HangingEngine:
    """A server with the address `host`, which serves inside its `with` block.

    `answers` maps the end of a path to the response. A test may change `answers` while the server runs. The server
    accepts any other request and never answers it. `asked` records the method and path of each request, in order.
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self._closing = threading.Event()
        handler = type("Handler", (_Handler,), {"engine": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = False  # close() waits for all request threads, so that no socket stays open
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.host = f"tcp://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HangingEngine:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, line: str) -> bytes | None:
        """Return the response to a request. If none is configured, wait until the server closes and return None."""
        self.asked.append(line)
        path = line.split()[1].partition("?")[0]
        for end, said in self.answers.items():
            if path.endswith(end):
                return said.encode() if isinstance(said, str) else json.dumps(said).encode()
        self._closing.wait()
        return None


class _Handler(BaseHTTPRequestHandler):
    """A handler that answers a request completely, or holds it until the server closes."""

    engine: HangingEngine

    def _serve(self) -> None:
        body = self.engine.answer(f"{self.command} {self.path}")
        if body is not None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_DELETE = _serve  # noqa: N815 - the names are the base class's

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Write no log."""
