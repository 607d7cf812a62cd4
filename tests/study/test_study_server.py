"""The study's server: the requests that it answers or refuses, and several participants at once."""

from __future__ import annotations

import doctest
import http.client
import json
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from evaluator.records import Measurement
from evaluator.study import server as server_module
from evaluator.study.server import MAX_BODY_BYTES, study_server
from evaluator.study.sitting import Study
from evaluator.testing.boards import drawn_board
from evaluator.testing.examiner import FakeExaminer

TASKS = drawn_board(1, 4).tasks
RIGHT = {task.id: b"right" for task in TASKS}


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Served(NamedTuple):
    """A running server: its port, the path with the secret, and the measurements that the study recorded."""

    port: int
    path: str
    lines: list[Measurement]

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send a request and return the reply. The names in `headers` have underscores instead of dashes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        reply = connection.getresponse()
        found = Reply(reply.status, reply.headers, reply.read())
        connection.close()
        return found

    def ask(self, what: str, **body: object) -> tuple[int, dict[str, object]]:
        reply = self.request("POST", self.path + what, json.dumps(body).encode(), Content_Type="application/json")
        return reply.status, json.loads(reply.body)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    lines: list[Measurement] = []
    study = Study("core", "2.0.0", TASKS, FakeExaminer(RIGHT), lines.append, time.monotonic, measured=3)
    with study_server(study) as address:
        parts = urlsplit(address)
        yield Served(parts.port or 0, parts.path, lines)


@pytest.mark.parametrize("host", ["study.example", "127.0.0.1.example", "localhost.example", "", "127.0.0.1:1"])
def test_a_name_made_to_lead_here_is_refused(served: Served, host: str) -> None:
    """A request with a foreign host name is refused, even if its path has the secret.

    An attacker's domain name can resolve to this machine, so that the attacker's page can send requests to the server.
    """
    name = f"{host}:{served.port}" if host and ":" not in host else host
    for method, path in (("GET", served.path), ("POST", f"{served.path}join")):
        reply = served.request(method, path, b"{}" if method == "POST" else None, Host=name)
        assert reply.status == 421
    assert served.request("GET", served.path, Host=f"localhost:{served.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_page_asks_nothing(served: Served, headers: dict[str, str]) -> None:
    """A request that a browser marks as sent by another site's page is refused."""
    reply = served.request("POST", f"{served.path}join", b"{}", Content_Type="application/json", **headers)
    assert reply.status == 403


@pytest.mark.parametrize("path", ["/", "/study.js", "/join", "/guess/", "/guess/study.js", "*", "/%2e%2e/"])
def test_without_the_secret_there_is_nothing(served: Served, path: str) -> None:
    """A request without the secret in its path gets status 404."""
    assert served.request("GET", path).status == 404
    assert served.request("POST", path, b"{}", Content_Type="application/json").status == 404


@pytest.mark.parametrize("name", ["../server.py", "%2e%2e/ledger.py", "page/study.js", "index.html/", "nothing"])
def test_no_other_file_is_served(served: Served, name: str) -> None:
    """The server serves three files by name, and no other path."""
    assert served.request("GET", served.path + name).status == 404


def test_the_page_may_fetch_from_here_alone(served: Served) -> None:
    """The content security policy allows only this server, and no file of the page names another host."""
    for name in ("", "study.css", "study.js"):
        reply = served.request("GET", served.path + name)
        assert reply.status == 200
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert "unsafe" not in reply.headers["Content-Security-Policy"]
        assert (reply.headers["Cache-Control"], reply.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
        assert b"http://" not in reply.body.replace(b"http://www.w3.org", b"")
        assert b"https://" not in reply.body
        assert b"innerHTML" not in reply.body
        assert "Access-Control-Allow-Origin" not in reply.headers


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {"Content_Type": "text/plain"}, 400),
        (b"{", {"Content_Type": "application/json"}, 400),
        (b"[]", {"Content_Type": "application/json"}, 400),
        (b"[" * 50_000, {"Content_Type": "application/json"}, 400),
        (b"\xff", {"Content_Type": "application/json"}, 400),
        (b" " * (MAX_BODY_BYTES + 1), {"Content_Type": "application/json"}, 413),
        (b"{}", {"Content_Type": "application/json"}, 400),
        (b'{"key": "k", "number": 1}', {"Content_Type": "application/json"}, 400),
        (b'{"key": "k", "number": "1", "command": "ls"}', {"Content_Type": "application/json"}, 400),
        (b'{"key": "k", "number": 1, "command": "\\ud800"}', {"Content_Type": "application/json"}, 400),
        (b'{"key": "k", "number": 1, "command": "ls"}', {"Content_Type": "application/json"}, 409),
    ],
)
def test_what_the_page_would_not_ask_is_refused(
    served: Served, body: bytes, headers: dict[str, str], status: int
) -> None:
    """A request that the page would never send is refused with an error text, and the server continues."""
    reply = served.request("POST", f"{served.path}enter", body, **headers)
    assert reply.status == status
    assert set(json.loads(reply.body)) == {"error"}
    assert served.ask("join")[0] == 200


def test_several_take_part_at_once(served: Served) -> None:
    """Six concurrent participants each get three measurements under an id of their own."""

    def take_part() -> None:
        _, joined = served.ask("join")
        for number in range(len(TASKS)):
            served.ask("show", **joined)
            assert served.ask("enter", **joined, number=number, command="wrong")[1]["passed"] is False
            assert served.ask("enter", **joined, number=number, command="right")[1]["passed"] is True
        assert served.ask("show", **joined) == (200, {"done": True})

    threads = [threading.Thread(target=take_part) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    participants = [line.participant for line in served.lines]
    assert sorted(participants.count(each) for each in set(participants)) == [3] * 6


def test_a_worked_example_of_hosts_comes_out() -> None:
    """The examples in the module's docstrings give the documented results."""
    assert doctest.testmod(server_module) == (0, 2)
