"""The owner labels of containers. They distinguish the leftovers of killed runs from the live workers of other runs.

A run is one execution of this program, and a worker is a container in which the run executes commands. Each container
has a label that names its owner: a process, the id of the machine's current boot and the id of the process namespace.
Several machines or namespaces may share one container engine, such as all jobs of a build server. If both ids are those
of this process, a container is a leftover if its owner has ended. Otherwise this module cannot check the owner. Then
the container is a leftover only if the container itself has ended.

A run keeps a note file in its checkout while its workers may exist. If a later run in this checkout finds the note of
an ended process, the later run removes the leftovers. Without such a note, the later run does not ask the engine.
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
"""The label of a container's owner process. Only containers without a living owner are removed."""

WORKER_GROUP_LABEL: Final = "bashboard.crew"
"""The label of a worker group: the workers that start and end together. One process may have several groups."""

ENDED: Final = frozenset({"exited", "dead"})
"""The states of a container that no process of ours uses any more."""


@functools.cache
def _namespace() -> str:
    """Return a text with the id of the machine's current boot and the id of our process namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"


def owner_label(pid: int) -> str:
    """Return the label for the containers of a process, or an empty label if the process has ended.

    The label contains the number and the start time of the process, and the ids of the current boot and namespace.
    """
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{pid}-{fields[19]}-{_namespace()}"


def is_left_over(owner: str, status: str) -> bool:
    """Return whether a container with this owner label and this state is a leftover.

    If the owner is a process of our boot and namespace, return whether this process has ended. Otherwise return whether
    the container has ended.

    >>> is_left_over("12-34-another machine", "running"), is_left_over("12-34-another machine", "exited")
    (False, True)
    """
    pid, _, namespace = owner.split("-", 2) if owner.count("-") >= 2 else (owner, "", "")
    if namespace != _namespace() or not pid.isdecimal():
        return status in ENDED
    return owner_label(int(pid)) != owner


def _remove(containers: list[Any]) -> None:
    """Remove containers. Ignore errors, because another process may remove the same containers at the same time."""
    for container in containers:
        with contextlib.suppress(DockerException):
            container.remove(force=True)


def _labelled(engine: Engine, label: str) -> list[Any]:
    engine.client.ping()  # a hanging engine fails here sooner than at a long list
    # a container may be removed while the engine makes the list
    containers: list[Any] = engine.client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
    return containers


def remove_leftovers(engine: Engine) -> int:
    """Remove the left-over containers and return the number of removed ones. Raises EngineError if the engine fails."""
    with engine_errors("left-over containers could not be removed"):
        containers = _labelled(engine, LABEL)
        leftovers = [container for container in containers if is_left_over(container.labels[LABEL], container.status)]
        _remove(leftovers)
    return len(leftovers)


@contextlib.contextmanager
def worker_group(engine: Engine, notes: Path) -> Iterator[str]:
    """Yield the name of a new group of workers, and remove all workers of the group at the end of the context.

    During the context, a note file in the folder `notes` names this process and the group. If the engine does not
    answer at the end, the note stays, and the next run in this checkout removes the workers. Raises InfraError if the
    note cannot be written.
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
                _remove(_labelled(engine, f"{WORKER_GROUP_LABEL}={name}"))
            note.unlink(missing_ok=True)


def clear_up(notes: Path) -> None:
    """Remove the containers of the killed runs that have a note file in `notes`.

    If no engine answers, the note files stay, so that the next run tries again.
    """
    stale = [note for note in notes.iterdir() if is_left_over(note.name.partition("+")[0], "exited")]
    if not stale:
        return
    with contextlib.suppress(BashboardError):
        engine = find_engine(os.environ)
        remove_leftovers(engine)
        engine.client.close()
        for note in stale:
            note.unlink(missing_ok=True)
