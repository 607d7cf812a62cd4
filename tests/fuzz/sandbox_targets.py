"""Fuzz the readers of a command's results: shell report, archives and file trees in the runner, lines in the host."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evaluator.errors import SandboxError
from evaluator.records import Evidence, Member, PathChange, ShellState
from evaluator.sandbox.container import _Stream
from evaluator.sandbox.cores import Cores
from evaluator.sandbox.pool import WorkerSlot, _read_result
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.archives import read_archive
from evaluator.sandbox.runner.fs_changes import Reader
from evaluator.sandbox.runner.protocol import World
from evaluator.sandbox.runner.reading_budget import ReadingBudget, TruncatedError
from evaluator.sandbox.runner.shell_state import _SECTIONS, read_state
from evaluator.sandbox.worker import Line, OnSleep, WorkerDiedError
from tests.fuzz.target import target

SCRATCH: Final = Path("/dev/shm")


def _sent(value: object) -> Any:
    """Return a value of the runner as the host receives it."""
    return json.loads(json.dumps(value))


@target(
    "shell-report",
    "evaluator.sandbox.runner.shell_state",
    planted=lambda state: len(state.functions) == 2,
    tokens=(
        *(b"\0" + name.encode() + b"\0" for name in _SECTIONS),
        *(
            b"declare -x a=",
            b"declare -a ",
            b"alias -- ",
            b"alias a='",
            b"f () \n{\n}\n",
            b"g () \n{\n}\n",
            b"trap -- '{ builtin printf ",
        ),
        *(b"' EXIT\n", b"trap -- 'echo' SIGINT\n", b"shopt -s extglob\n"),
    ),
)
def read_report(data: bytes) -> ShellState | None:
    """Read the report of a shell. The host must accept the resulting state."""
    state = ShellState.model_validate(_sent(read_state(data)))
    return state if state.alive else None


@contextmanager
def _memory_file(data: bytes) -> Iterator[int]:
    descriptor = os.memfd_create("fuzz")
    try:
        os.write(descriptor, data)
        yield descriptor
    finally:
        os.close(descriptor)


@target(
    "archive",
    "evaluator.sandbox.runner.archives",
    planted=lambda found: found[0] == "zip" and any(member.mode & 0o7000 for member in found[1]),
    tokens=(
        b"ustar",
        b"PK\3\4",
        b"PK\1\2",
        b"PK\5\6",
        b"\x1f\x8b\x08",
        b"BZh9",
        b"\xfd7zXZ\0",
        b"./@LongLink",
        b"0000644",
    ),
    longest=16_384,
)
def read_members(data: bytes) -> tuple[str, list[Member]] | None:
    """Read an archive with a small budget. The host must accept the members."""
    budget = ReadingBudget(bytes_left=1 << 20, members_left=20, name_bytes_left=4096)
    with _memory_file(data) as descriptor, suppress(TruncatedError):
        found = read_archive(descriptor, budget)
        return (found[0], [Member.model_validate(_sent(member)) for member in found[1]]) if found else None
    return None


_NO_LINK: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class _Trees:
    """A builder of two file trees, the earlier one and the upper directory, from bytes.

    Each line is one step: the letter of the tree, the letter of the type, the mode, a path and the content. The owner
    may read each file, because the real reader is root and can read files of any mode. The builder follows no link, so
    it writes nothing outside the two trees.
    """

    upper: Path
    view: Path

    def build(self, data: bytes) -> None:
        for line in data.split(b"\n")[:24]:
            words = line.split(b" ", 4)
            parts = [part for part in words[3].split(b"/") if part not in (b"", b".", b"..")] if len(words) == 5 else []
            if parts:
                root = self.view if words[0] == b"v" else self.upper
                with suppress(OSError, ValueError):
                    self._step(root, words[1], int(words[2], 8), parts, words[4])

    def _step(self, root: Path, kind: bytes, mode: int, parts: list[bytes], content: bytes) -> None:
        directory = os.open(root, _NO_LINK | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=directory)
                below = os.open(part, _NO_LINK | os.O_DIRECTORY, dir_fd=directory)
                os.close(directory)
                directory = below
            _make_entry(directory, kind, mode & 0o7777 | 0o700, parts[-1], content)
        finally:
            os.close(directory)


def _make_entry(directory: int, kind: bytes, mode: int, name: bytes, content: bytes) -> None:
    match kind:
        case b"d":
            os.mkdir(name, mode, dir_fd=directory)
        case b"l":
            os.symlink(content, name, dir_fd=directory)
        case b"p":
            os.mkfifo(name, mode, dir_fd=directory)
        case b"w":
            os.mknod(name, stat.S_IFCHR, 0, dir_fd=directory)
        case b"h":
            os.link(content, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        case b"x":
            folder = os.open(name, _NO_LINK | os.O_DIRECTORY, dir_fd=directory)
            try:
                os.setxattr(folder, "trusted.overlay.opaque", content)
            finally:
                os.close(folder)
        case _:
            file = os.open(name, _NO_LINK | os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=directory)
            try:
                if kind == b"s":
                    os.truncate(file, min(int(content), 1 << 22))
                os.write(file, content)
                os.fchmod(file, mode)
            finally:
                os.close(file)


@target(
    "file-tree",
    "evaluator.sandbox.runner.fs_changes",
    planted=lambda changes: len(changes) == 5 and len({change.kind for change in changes}) == 4,
    tokens=(b"u f 644 ", b"v f 644 ", b"u d 755 ", b"v d 755 ", b"u l 0 ", b"u p 600 ", b"u w 0 ", b"u h 0 ", b"u x 0 ",
            b"u s 644 ", b"/text", b"a", b"b", b"a/b", b" y\n", b"\n"),
    longest=1024,
)  # fmt: skip
def read_tree(data: bytes) -> list[PathChange]:
    """Build two trees and read the changes between them. The host must accept the changes."""
    folder = Path(tempfile.mkdtemp(dir=SCRATCH))
    try:
        upper, view = folder / "upper", folder / "view"
        upper.mkdir()
        view.mkdir()
        _Trees(upper, view).build(data)
        texts = frozenset({b"/text", b"/a/text"})
        changes, _ = Reader(str(upper), str(view), texts, with_mtime=len(data) % 2 == 0).read()
        return [PathChange.model_validate(change) for change in _sent(changes)]
    finally:
        shutil.rmtree(folder)


WORLD: Final = World("layer", "tiny", "plain", 7, b"", None, None, "/", "root")


class _LineWorker:
    """A worker whose answers are the lines in a container's output stream."""

    container_id: Final = "fuzz"
    started: Final = datetime(2026, 1, 1, tzinfo=UTC)

    def __init__(self, frames: bytes) -> None:
        ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        theirs.sendall(frames)
        self._other_end = theirs
        theirs.shutdown(socket.SHUT_WR)
        self._stream = _Stream(ours)

    def tell(self, line: Line) -> None:
        with suppress(OSError):
            self._stream.send(line)

    def ask(self, line: Line, timeout_s: float, on_sleep: OnSleep | None = None) -> Line:
        self.tell(line)
        answer = self._stream.receive(timeout_s)
        if answer is None:
            raise WorkerDiedError("the stream ended", out_of_memory=False)
        return answer

    def close(self) -> None:
        self._stream.close()
        self._other_end.close()


@target(
    "runner-lines",
    *(
        "evaluator.sandbox.container:_Stream",
        "evaluator.sandbox.pool:_read_result",
        "evaluator.sandbox.pool:WorkerSlot.ask",
        "evaluator.sandbox.pool:_job_s",
    ),
    planted=lambda results: any(isinstance(each, Evidence) and each.status == 1 for each in results),
    tokens=(
        *(b"\1\0\0\0\0\0\0\x40", b"\2\0\0\0\0\0\0\x08", b'{"evidence":', b'"by_wall":false', b'"phases":', b'"error":'),
        *(
            b'"lost_time_known":true',
            b'"ending":"exited"',
            b'"status":7',
            b'"changes":[',
            b'"shell":',
            b'"processes":',
            b"}\n",
        ),
    ),
    is_json=True,
    longest=8192,
)
def receive_lines(data: bytes) -> list[Any]:
    """Receive the answers of a runner. Without a frame's header, the input is the content of one frame."""
    framed = data[:1] in (b"\1", b"\2") and data[1:4] == b"\0\0\0"
    worker = _LineWorker(data if framed else b"\1\0\0\0" + len(data).to_bytes(4, "big") + data)
    slot = WorkerSlot(lambda _: worker, 0, 1.0, Cores(1, 1))
    results: list[Any] = []
    try:
        for _ in range(min(20, data.count(b"\n"))):
            try:
                results.append(_read_result(slot.ask(Request.of(WORLD, b":")))[0])
            except WorkerDiedError:
                break
            except SandboxError:
                continue
    finally:
        slot.replace()
        worker.close()
    return results
