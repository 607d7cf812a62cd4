"""The runs in the store that a submission may have changed through the sandbox.

A run is *touched* if the store cannot exclude that a command of the submission affected it:

- The run has the same evidence key as a run of the submission, so one execution gave the evidence of both.
- The run came later in the same container, and the command may have changed this container.
- The run was in another container that was open at the same time. All containers of a machine share timers, inotify
  instances and other resources of the kernel. All runs of such a container are touched, because the store does not know
  when a run began.
- The run was imported, so its origin is unknown.

A container that opens later is not affected. The kernel releases the resources of a container when the engine removes
it, and `score` removes its containers at its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from evaluator.store import RunKey, StoredRun

LINGERS_S: Final = 600.0
"""Seconds that a container may stay open after its last stored run, while other workers finish with their retries.

This also covers a container in which a command of the submission was tried first and left no evidence.
"""


class TouchReason(StrEnum):
    """The reason why a run counts as touched by a submission. If several apply, the first of this list is given."""

    SHARED = "of a command that the submission also has"
    LATER = "later on the same worker"
    BESIDE = "on a worker beside it"
    UNKNOWN = "of unknown origin"


class _Stay(NamedTuple):
    """A container that executed runs of the submission. `position` is the position of the first of these runs."""

    position: int
    opened: float
    closed: float


def touched_runs(stored: Collection[StoredRun], own: Collection[RunKey]) -> dict[RunKey, TouchReason]:
    """Return the stored runs that a submission may have changed, with the reason. Include its `own` runs."""
    last_stored: dict[str, float] = {}
    for run in stored:
        last_stored[run.container] = max(run.stored, last_stored.get(run.container, 0.0))
    stays = _stays((run for run in stored if run.run in own and run.container), last_stored)
    reasons = ((run.run, _reason(run, own, stays, last_stored[run.container])) for run in stored)
    return {run: reason for run, reason in reasons if reason}


def _stays(own: Iterable[StoredRun], last_stored: Mapping[str, float]) -> dict[str, _Stay]:
    """Return a `_Stay` for each container that executed a run of the submission (`own`)."""
    stays: dict[str, _Stay] = {}
    for run in own:
        position = min(run.position, stays[run.container].position) if run.container in stays else run.position
        stays[run.container] = _Stay(position, run.started, last_stored[run.container] + LINGERS_S)
    return stays


def _reason(
    run: StoredRun, own: Collection[RunKey], stays: Mapping[str, _Stay], last_stored: float
) -> TouchReason | None:
    if run.run in own:
        return TouchReason.SHARED
    if not run.container:
        return TouchReason.UNKNOWN
    stay = stays.get(run.container)
    if stay and run.position > stay.position:
        return TouchReason.LATER
    others = (other for container, other in stays.items() if container != run.container)
    if any(run.started <= other.closed and last_stored + LINGERS_S >= other.opened for other in others):
        return TouchReason.BESIDE
    return None
