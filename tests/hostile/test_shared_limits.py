"""The kernel's limits per user: a command that takes all it can takes nothing from the host or from another worker."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator

import pytest

from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.in_flight import INOTIFY, MQ_OPEN
from tests.sandbox_harness import SandboxHarness, planned

pytestmark = pytest.mark.engine

HOLD_S = 3
TIMERS = (
    "perl -MPOSIX -e 'for (1 .. 40) { fork or do { for (1 .. 4000) { $id = pack q(Q), 0; "
    f"syscall(222, 1, 0, $id) < 0 and last; print q(t) }} close STDOUT; sleep {HOLD_S}; exit }} }} sleep {HOLD_S}'"
)
INSTANCES = f"perl -e '$| = 1; while (syscall({INOTIFY}, 0) >= 0) {{ print q(i) }} close STDOUT; sleep {HOLD_S}'"
NEIGHBOUR = {
    "timers": (TIMERS, "timeout 5 true; echo $?"),
    "inotify instances": (INSTANCES, f"perl -e 'print syscall({INOTIFY}, 0) > 0 ? 0 : $!, qq(\\n)'"),
}
"""For each limit: the command that takes all it can, and the neighbour's command, which prints 0 if there is room."""


@pytest.fixture(scope="module")
def two_workers(engine: Engine, plan: WorkerPlan) -> Iterator[tuple[SandboxHarness, SandboxHarness]]:
    pair = SandboxHarness(engine, planned(plan, cpu_s=3.0)), SandboxHarness(engine, planned(plan, cpu_s=3.0))
    yield pair
    for harness in pair:
        harness.close()


@pytest.mark.parametrize("limit", NEIGHBOUR)
def test_a_greedy_command_takes_nothing_from_its_neighbour(
    two_workers: tuple[SandboxHarness, SandboxHarness], limit: str
) -> None:
    """The neighbour's evidence is the same beside the greedy command as alone. The host's root has room too."""
    greedy, modest = two_workers
    take, need = NEIGHBOUR[limit]
    alone = modest.run(need)
    assert (alone.stdout.data, alone.stderr.data) == (b"0\n", b"")
    taken: list[int] = []
    thread = threading.Thread(target=lambda: taken.append(greedy.run(take).stdout.size))
    thread.start()
    digests, host = set(), set()
    while thread.is_alive():
        digests.add(modest.run(need).digest)
        host.add(host_has_inotify())
    thread.join()
    assert taken[0] > 2
    assert (digests, host) == ({alone.digest}, {True})


def test_no_command_gets_a_message_queue(two_workers: tuple[SandboxHarness, SandboxHarness]) -> None:
    """The kernel frees the queues of a finished command late, so they would reach the next command."""
    _, worker = two_workers
    program = f"perl -e '$name = q(mine); print syscall({MQ_OPEN}, $name, 66, 0600, 0), qq( $!)'"
    assert {worker.run(program).stdout.data for _ in range(3)} == {b"-1 Too many open files"}


def host_has_inotify() -> bool:
    """Return whether this process can make an inotify instance."""
    descriptor = ctypes.CDLL(None).inotify_init1(0)
    if descriptor >= 0:
        os.close(descriptor)
    return bool(descriptor >= 0)
