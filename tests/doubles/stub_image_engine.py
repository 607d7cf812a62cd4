"""A relay to the machine's engine that saves and loads only the names of images.

A real engine needs half a minute to save an image of 400 MB. The tests with this relay only check which program trusts
which image file, so a file with the names of the images is enough. The relay passes every other request to the real
engine byte for byte.
"""

from __future__ import annotations

import contextlib
import io
import json
import socket
import tarfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import parse_qs, urlsplit

from docker import DockerClient
from docker.errors import ImageNotFound

from evaluator.sandbox.engine import Engine

_PIECE: Final = 1 << 16
_MEMBER: Final = "names.json"


class StubImageEngine:
    """A relay with the address `host`, which serves inside its `with` block.

    `folder` must have a short path, because the path of a socket has at most 107 bytes. `saved` and `loaded` have one
    list of image names for each request.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / "light.sock"))
        self.host = f"unix://{folder / 'light.sock'}"
        self.saved: list[list[str]] = []
        self.loaded: list[list[str]] = []

    def __enter__(self) -> StubImageEngine:
        self._socket.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        """Serve one connection with one request. A header tells engine and client to close the connection after it."""
        with client, contextlib.suppress(OSError):
            head, rest = _read_head(client)
            if not head:
                return
            method, target = head.split(b" ", 2)[:2]
            parts = urlsplit(target.decode())
            if method == b"GET" and parts.path.endswith("/images/get"):
                client.sendall(self._save(parse_qs(parts.query)["names"]))
            elif method == b"POST" and parts.path.endswith("/images/load"):
                client.sendall(self._load(_read_body(client, head, rest)))
            else:
                self._relay(client, head if b"upgrade:" in head.lower() else _closing(head), rest)

    def _relay(self, client: socket.socket, head: bytes, rest: bytes) -> None:
        with self._connected() as real:
            real.sendall(head + rest)
            there = threading.Thread(target=_pump, args=(client, real), daemon=True)
            there.start()
            _pump(real, client)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            there.join()

    def _connected(self) -> socket.socket:
        address = urlsplit(self._engine.host)
        if address.scheme == "tcp":
            return socket.create_connection((str(address.hostname), address.port or 2375))
        real = socket.socket(socket.AF_UNIX)
        real.connect(address.path)
        return real

    def _save(self, names: list[str]) -> bytes:
        self.saved.append(names)
        packed, content = io.BytesIO(), json.dumps(sorted(names)).encode()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            entry = tarfile.TarInfo(_MEMBER)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        return _answer(packed.getvalue(), "application/x-tar")

    def _load(self, body: bytes) -> bytes:
        """Return the response to the upload of an image file. The real engine must already have the images."""
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            member = archive.extractfile(_MEMBER)
            names: list[str] = json.load(member) if member else []
        self.loaded.append(names)
        missing = [name for name in names if not _there(self._engine.client, name)]
        there = [{"stream": f"Loaded image: {name}\n"} for name in names]
        said = [{"error": f"no {name}"} for name in missing] or there
        return _stream([f"{json.dumps(each)}\n".encode() for each in said])


def _there(client: DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a request with its empty line, and the bytes received after it.

    Both are empty if the client closed the connection.
    """
    held = b""
    while b"\r\n\r\n" not in held:
        piece = client.recv(_PIECE)
        if not piece:
            return b"", b""
        held += piece
    head, _, rest = held.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _read_body(client: socket.socket, head: bytes, rest: bytes) -> bytes:
    """Return the body of a request, which has a Content-Length or is sent in chunks."""
    told = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    file = client.makefile("rb")
    if told:
        return rest + file.read(int(told[0]) - len(rest))
    while not rest.endswith(b"0\r\n\r\n"):
        rest += client.recv(_PIECE)
    whole, stream = b"", io.BytesIO(rest)
    while size := int(stream.readline(), 16):
        whole += stream.read(size)
        stream.readline()
    return whole


def _closing(head: bytes) -> bytes:
    lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n"


def _pump(one: socket.socket, other: socket.socket) -> None:
    """Copy all bytes from one socket to the other. At the end, close the other socket for writing."""
    with contextlib.suppress(OSError):
        while piece := one.recv(_PIECE):
            other.sendall(piece)
        other.shutdown(socket.SHUT_WR)


def _stream(lines: list[bytes]) -> bytes:
    """Return a response with one line of JSON in each chunk, as the engine sends messages."""
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    return head + b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in [*lines, b""])


def _answer(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
