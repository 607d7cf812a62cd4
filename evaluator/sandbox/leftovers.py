"""Whose a container is: what a killed run left behind is told from the live workers of other runs.

Every container of ours names in its label the process it belongs to and the place where that process is to be
found: the boot of a machine, and a process namespace of it. Several places may share one engine, as the jobs of a
build server do that all hold its socket. Of a process in another place we cannot say whether it is alive, but
its containers end when it does: there, only those that have ended are left over.

A run also leaves a note in its checkout while workers of it may exist. Who finds the note of a process that is
gone knows that there is something to remove, and nobody else needs to ask the engine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from docker.errors import DockerException

from evaluator.errors import BashboardError, InfraError
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine, find_engine

LABEL: Final = "bashboard.owner"
"""Its value names the process a container belongs to, so that only what nobody owns any more is removed."""

CREW: Final = "bashboard.crew"
"""Its value names the workers that are started and ended together: one process may have several such crews."""

ENDED: Final = frozenset({"exited", "dead"})
"""States of a container that no process of ours speaks to any more."""


@functools.cache
def _place() -> str:
    """Names the boot of this machine and the namespace that our process numbers mean something in."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"


def owner_label(pid: int) -> str:
    """Names a process for ever: its number, the moment it started and its place; empty where it is gone."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{pid}-{fields[19]}-{_place()}"


def is_left_over(owner: str, status: str) -> bool:
    """Whether a container in this state with this owner is nobody's any more.

    >>> is_left_over("12-34-another machine", "running"), is_left_over("12-34-another machine", "exited")
    (False, True)
    """
    pid, _, place = owner.split("-", 2) if owner.count("-") >= 2 else (owner, "", "")
    if place != _place() or not pid.isdecimal():
        return status in ENDED
    return owner_label(int(pid)) != owner


def _remove(containers: list[Any]) -> None:
    """Remove containers; one that somebody else is removing is gone all the same."""
    for container in containers:
        with contextlib.suppress(DockerException):
            container.remove(force=True)


def _labelled(engine: Engine, label: str) -> list[Any]:
    engine.client.ping()  # one that hangs is known sooner than by a long list
    # one that goes away while the list is made is no failure
    found: list[Any] = engine.client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
    return found


def remove_leftovers(engine: Engine) -> int:
    """Remove containers whose owner is gone, as a killed run leaves them; their number. Raises EngineError."""
    with engine_errors("left-over containers could not be removed"):
        orphans = [each for each in _labelled(engine, LABEL) if is_left_over(each.labels[LABEL], each.status)]
        _remove(orphans)
    return len(orphans)


@contextlib.contextmanager
def worker_group(engine: Engine, notes: Path) -> Iterator[str]:
    """A name for workers that go together. Afterwards none of them is left, however each of them ended.

    Where the engine is away then, the note stays, and the next run in this checkout removes them.
    """
    name = secrets.token_hex(8)
    note = notes / f"{owner_label(os.getpid())}+{name}"
    try:
        notes.mkdir(parents=True, exist_ok=True)
        note.touch()
    except OSError as error:
        raise InfraError(f"{note} cannot be written ({error}): make room") from error
    try:
        yield name
    finally:
        with contextlib.suppress(BashboardError, OSError):
            with engine_errors("workers could not be removed"):
                _remove(_labelled(engine, f"{CREW}={name}"))
            note.unlink(missing_ok=True)


def clear_up(notes: Path) -> None:
    """Remove what killed runs of this checkout left in the engine; where none answers, the next run tries again."""
    found = [note for note in notes.iterdir() if is_left_over(note.name.partition("+")[0], "exited")]
    if not found:
        return
    with contextlib.suppress(BashboardError):
        engine = find_engine(os.environ)
        remove_leftovers(engine)
        engine.client.close()
        for note in found:
            note.unlink(missing_ok=True)
