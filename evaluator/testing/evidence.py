"""This module makes evidence for tests of judges, metrics and pages without the execution of a command.

    >>> from evaluator.testing.evidence import added, case, evidence
    >>> one = evidence("3\\n", changes=[added("/srv/x", "hello")])
    >>> case([one, one], one).variants
    ('one',)

Sizes and digests are computed from the content, so evidence cannot contradict itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from evaluator.judges.case import Case, Executed
from evaluator.records import (
    Ending,
    Evidence,
    FileType,
    Kind,
    Member,
    Observation,
    Output,
    OutputMode,
    PathChange,
    Process,
    ShellState,
    Task,
    Topic,
    Trial,
)

Raw = bytes | str

CAP: Final = 262_144
"""Bytes of a stream that the evidence keeps, as with the default limits."""

SCRATCH: Final = ("/tmp", "/var/tmp", "~/.cache")  # noqa: S108 - paths inside a task's world


def raw(value: Raw) -> bytes:
    """Return bytes unchanged, and a text as its UTF-8 bytes."""
    return value.encode() if isinstance(value, str) else value


def output(data: Raw = b"", cap: int = CAP) -> Output:
    """Return a command's output stream with these bytes. The evidence keeps at most the first `cap` bytes."""
    data = raw(data)
    return Output(data=data[:cap], size=len(data), digest=hashlib.sha256(data).hexdigest())


def added(path: Raw, content: Raw = b"", *, text: bool = False, **fields: Any) -> PathChange:
    """Return the change that adds a regular file of the user root, with mode 0644. With `text`, the bytes are kept."""
    return _file(Kind.ADDED, path, content, text, {"mode": 0o644, "uid": 0, "gid": 0, **fields})


def modified(path: Raw, content: Raw = b"", *, text: bool = False, **fields: Any) -> PathChange:
    """Return a change of a regular file's bytes. The owner (root) and the mode (0644) stay the same."""
    before = {"old_mode": 0o644, "old_uid": 0, "old_gid": 0}
    return _file(Kind.MODIFIED, path, content, text, {"mode": 0o644, "uid": 0, "gid": 0, **before, **fields})


def deleted(path: Raw) -> PathChange:
    """Return the change of a path that the command removed."""
    return PathChange(path=raw(path), kind=Kind.DELETED)


def remoded(path: Raw, mode: int = 0o644, owner: tuple[int, int] = (0, 0), **fields: Any) -> PathChange:
    """Return the change of a file from the owner root and mode 0644 to `owner` and `mode`. The bytes stay the same."""
    before = {"old_mode": 0o644, "old_uid": 0, "old_gid": 0}
    values = {"type": FileType.FILE, "mode": mode, "uid": owner[0], "gid": owner[1], **before, **fields}
    return PathChange(path=raw(path), kind=Kind.MODE, **values)


def directory(path: Raw, mode: int = 0o755, **fields: Any) -> PathChange:
    """Return the change that adds a directory of the user root."""
    values = {"type": FileType.DIRECTORY, "mode": mode, "uid": 0, "gid": 0, **fields}
    return PathChange(path=raw(path), kind=Kind.ADDED, **values)


def link(path: Raw, target: Raw) -> PathChange:
    """Return the change that adds a symbolic link to `target`."""
    values: dict[str, Any] = {"type": FileType.LINK, "mode": 0o777, "uid": 0, "gid": 0}
    return PathChange(path=raw(path), kind=Kind.ADDED, target=raw(target), **values)


def archive(path: Raw, members: Iterable[Member], packing: str = "gzip+tar", content: Raw = b"") -> PathChange:
    """Return the change that adds an archive with these members. `content` holds the bytes of the archive file."""
    return added(path, content, members=tuple(members), packing=packing)


def member(name: Raw, content: Raw = b"", mode: int = 0o644) -> Member:
    """Return a regular file as a member of an archive."""
    return Member(name=raw(name), type=FileType.FILE, mode=mode, content=hashlib.sha256(raw(content)).hexdigest())


def folder(name: Raw, mode: int = 0o755) -> Member:
    """Return a directory as a member of an archive."""
    return Member(name=raw(name), type=FileType.DIRECTORY, mode=mode)


def shell(variables: Mapping[str, Raw] | None = None, **fields: Any) -> ShellState:
    """Return the state of the shell after a command: the shell still runs, in /root with umask 0022."""
    values = {name: raw(value) for name, value in (variables or {}).items()}
    return ShellState(**{"alive": True, "cwd": b"/root", "umask": "0022", "variables": values, **fields})


def process(arguments: Raw, uid: int = 0, state: str = "S") -> Process:
    """Return a process that still runs after a command. Single blanks separate its arguments in `arguments`."""
    return Process(arguments=raw(arguments).replace(b" ", b"\0") + b"\0", uid=uid, state=state)


def evidence(
    stdout: Raw = b"", *, changes: Iterable[PathChange] = (), status: int | None = 0, **fields: Any
) -> Evidence:
    """Return the evidence of a command that ended normally. `stderr` may be bytes or text."""
    stderr = fields.pop("stderr", b"")
    return Evidence(
        **{
            "ending": Ending.EXITED,
            "status": status,
            "stdout": output(stdout),
            "stderr": output(stderr),
            "changes": tuple(sorted(changes, key=lambda change: change.path)),
            **fields,
        }
    )


def trial(first: Evidence | Raw, again: Evidence | Raw | None = None) -> Trial:
    """Return one or two executions of a command in the same variant. Bytes or text are converted to evidence."""
    return Trial(first=_evidence(first), again=None if again is None else _evidence(again))


def executed(shows: Shown, command: Raw = b"true") -> Executed:
    """Return a command with its executions. `shows` maps variants to results. A single result belongs to `one`."""
    trials = shows if isinstance(shows, Mapping) else {"one": shows}
    return Executed(
        raw(command), {name: value if isinstance(value, Trial) else trial(value) for name, value in trials.items()}
    )


def task(mode: OutputMode | str = OutputMode.EXACT, observe: Sequence[Observation | str] = (), **fields: Any) -> Task:
    """Return a task for tests. The judge compares standard output according to `mode`."""
    values = {
        "id": "task-1",
        "nl": "Do what is asked",
        "references": (b"true",),
        "world": "world",
        "topic": Topic.FILES,
        "difficulty": 1,
        **fields,
    }
    return Task(output=OutputMode(mode), observe=tuple(map(Observation, observe)), **values)


def case(references: Sequence[Shown], candidate: Shown | None, of: Task | None = None, **fields: Any) -> Case:
    """Return a case for a judge from the evidence of references and a candidate. The candidate's text is `command`."""
    command = fields.pop("command", b"candidate")
    return Case(
        **{
            "task": of or task(),
            "references": tuple(executed(shows, f"reference {n}") for n, shows in enumerate(references, start=1)),
            "candidate": None if candidate is None else executed(candidate, command),
            "home": "/root",
            "scratch": SCRATCH,
            **fields,
        }
    )


Shown = Evidence | Trial | bytes | str | Mapping[str, Evidence | Trial | bytes | str]
"""The evidence of a command in the only variant, or by variant."""


def _evidence(value: Evidence | Raw) -> Evidence:
    return value if isinstance(value, Evidence) else evidence(value)


def _file(kind: Kind, path: Raw, content: Raw, text: bool, fields: Mapping[str, Any]) -> PathChange:
    content = raw(content)
    values = {
        "type": FileType.FILE,
        "size": len(content),
        "content": hashlib.sha256(content).hexdigest(),
        "text": content if text else None,
        **fields,
    }
    return PathChange(path=raw(path), kind=kind, **values)
