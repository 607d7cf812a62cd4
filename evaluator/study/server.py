"""The HTTP server of a study. It sends the web page and runs the page's actions, for browsers on this machine or in a
laboratory's network.

The server prevents the following attacks:

* Attack: another site's page sends requests. Defence: the URL contains a secret, and the Origin header is checked.
* Attack: an attacker's host name resolves to this server (DNS rebinding). Defence: only IP addresses are accepted.
* Attack: the study's page loads content from another server. Defence: the content security policy forbids this.
* Attack: a command's output contains markup or a script. Defence: the page inserts the output as plain text.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import json
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

from evaluator.errors import InfraError, UsageError
from evaluator.study.sitting import Study

MAX_BODY_BYTES: Final = 65_536
"""Maximum size of a request's body. A command has at most a quarter of it."""
IDLE_TIMEOUT_S: Final = 30.0
"""The seconds after which a silent connection is closed."""

_FILES: Final = {"": "index.html", "study.css": "study.css", "study.js": "study.js"}
_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Body = Mapping[str, Any]


class _RefusedError(Exception):
    """A request to the study's server is invalid. The error holds the HTTP status and the message of the response."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def is_literal(host: str | None, port: int) -> bool:
    """Return whether a Host header contains exactly an IP address (or `localhost`) and this port.

    >>> [is_literal(host, 80) for host in ("127.0.0.1:80", "[::1]:80", "localhost:80", "10.0.0.7:80")]
    [True, True, True, True]
    >>> [is_literal(host, 80) for host in ("study.example:80", "127.0.0.1:81", "127.0.0.1.example:80", "", None)]
    [False, False, False, False, False]
    """
    try:
        address = urlsplit(f"//{host or ''}")
        if (address.port or 80) != port or address.netloc != host or address.username is not None:
            return False
        if address.hostname == "localhost":
            return True
        ipaddress.ip_address(address.hostname or "")
    except ValueError:
        return False
    return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], study: Study) -> None:
        self.study, self.token = study, secrets.token_urlsafe(16)
        super().__init__(address, _StudyHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, without the client's address. Ignore errors of a lost connection."""
        if not isinstance(sys.exc_info()[1], OSError):
            traceback.print_exc()


class _StudyHandler(BaseHTTPRequestHandler):
    """The handler of one HTTP connection from a participant's browser."""

    server: _Server
    request_body = b""
    timeout = IDLE_TIMEOUT_S
    server_version, sys_version = "bashboard", ""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Log no requests. The base class would print a line for each request."""

    def do_GET(self) -> None:
        """Send the study's web page or one of the files that the page loads."""

        def file() -> tuple[str, bytes]:
            name = _FILES.get(self._path())
            if name is None:
                raise _RefusedError(404, "not found")
            return _TYPES[name.rpartition(".")[2]], files("evaluator.study").joinpath("page", name).read_bytes()

        self._respond(file)

    def do_POST(self) -> None:
        """Run an action that the page requests (join, show, enter or skip). Send the action's result as JSON."""

        def reply() -> tuple[str, bytes]:
            action = _ACTIONS.get(self._path())
            if action is None:
                raise _RefusedError(404, "not found")
            return "application/json", json.dumps(action(self.server.study, self._json_body())).encode()

        self._respond(reply)

    def _respond(self, make: Callable[[], tuple[str, bytes]]) -> None:
        status = 200
        try:
            self._read_body()
            self._check_origin()
            kind, data = make()
        except _RefusedError as refusal:
            status, kind, data = refusal.status, "application/json", _error_body(refusal)
        except (KeyError, TypeError, UnicodeEncodeError):
            status, kind, data = 400, "application/json", _error_body("expected a request as the study's page sends it")
        except UsageError as error:
            status, kind, data = 409, "application/json", _error_body(error)
        except InfraError:
            message = "the study's sandbox failed, and your clock was paused; press Enter again"
            status, kind, data = 503, "application/json", _error_body(message)
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": f"{kind}; charset=utf-8", "Content-Length": len(data)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def _check_origin(self) -> None:
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if not is_literal(host, self.server.server_address[1]):
            raise _RefusedError(421, "expected the study's numeric address, such as 127.0.0.1")
        if origin not in (None, f"http://{host}") or self.headers.get("Sec-Fetch-Site", "none") not in (
            "same-origin",
            "none",
        ):
            raise _RefusedError(403, "expected a request from the study's own page")
        token = self.path.partition("/")[2].partition("/")[0]
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise _RefusedError(404, "not found: expected the complete address of the study")

    def _path(self) -> str:
        """Return the part of the URL's path after the study's secret, which is the first part."""
        return self.path.partition("?")[0].split("/", 2)[-1]

    def _read_body(self) -> None:
        """Read the body even of an invalid request. If data stays unread, the browser may not receive the response."""
        size = self.headers.get("Content-Length", "0")
        if not size.isdecimal() or len(size) > 9:
            raise _RefusedError(400, "expected a Content-Length")
        self.request_body = self.rfile.read(min(int(size), MAX_BODY_BYTES + 1))
        if len(self.request_body) > MAX_BODY_BYTES:
            raise _RefusedError(413, f"expected at most {MAX_BODY_BYTES} bytes")

    def _json_body(self) -> Body:
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(400, "expected JSON")
        try:
            value = json.loads(self.request_body)
        except (ValueError, RecursionError) as error:
            raise _RefusedError(400, "expected JSON") from error
        if not isinstance(value, dict):
            raise _RefusedError(400, "expected a JSON object")
        return value


def _error_body(message: object) -> bytes:
    return json.dumps({"error": str(message)}).encode()


def _join(study: Study, body: Body) -> object:
    return {"key": study.join()}


def _show(study: Study, body: Body) -> object:
    view = study.show(str(body["key"]))
    return {"done": True} if view is None else view._asdict()


def _enter(study: Study, body: Body) -> object:
    if not isinstance(body["command"], str) or not isinstance(body["number"], int):
        raise TypeError
    return study.enter(str(body["key"]), body["number"], body["command"].encode())._asdict()


def _skip(study: Study, body: Body) -> object:
    if not isinstance(body["number"], int):
        raise TypeError
    study.skip(str(body["key"]), body["number"])
    return {}


_ACTIONS: Final = {"join": _join, "show": _show, "enter": _enter, "skip": _skip}


@contextlib.contextmanager
def study_server(study: Study, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve a study while the `with` block runs, and yield the study's address, which contains the secret.

    If `port` is 0, use any free port. Raises OSError if the host or the port is not available.
    """
    server = _Server((host, port), study)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}/{server.token}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
