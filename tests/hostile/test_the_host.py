"""After all attacks: the machine that runs us is as it was, and no container stays behind."""

from __future__ import annotations

import os

import pytest
from docker.errors import NotFound

from evaluator.sandbox.engine import Engine
from evaluator.sandbox.leftovers import LABEL, owner_label
from tests.attacks import Pits, host_figures

pytestmark = pytest.mark.engine


def test_the_host_is_as_it_was(pits: Pits) -> None:
    """Names, core pattern, modules, swap, boot and clock."""
    pits.wait()
    assert host_figures() == pits.host_before


def test_dead_containers_are_gone(engine: Engine, pits: Pits) -> None:
    """One that an attack took down is not there any more, nor anything else of ours that nobody holds."""
    pits.wait()
    for buried in (name for pit in pits.all for name in pit.buried):
        with pytest.raises(NotFound):
            engine.client.containers.get(buried)
    found = engine.client.containers.list(all=True, filters={"label": f"{LABEL}={owner_label(os.getpid())}"})
    assert {pit.harness.worker.container.id for pit in pits.all} <= {container.id for container in found}
    assert all(container.status == "running" for container in found)


def test_the_last_canary_sings_as_the_first(pits: Pits) -> None:
    """On every worker, also on one that took a hundred attacks."""
    pits.wait()
    assert {pit.sing() for pit in pits.all} == {pits.all[0].canary}


def test_workers_have_not_grown(pits: Pits) -> None:
    """Memory and descriptors of a runner are bounded, whatever it had to read."""
    pits.wait()
    for pit in pits.all:
        look = "cat /proc/7/status /proc/[0-9]*/comm; for p in /proc/[0-9]*; do echo $p $(ls $p/fd | wc -l); done"
        status = pit.harness.worker.container.exec_run(["/bin/sh", "-c", look]).output.decode()
        descriptors = [int(line.split()[1]) for line in status.splitlines() if line.startswith("/proc/")]
        assert max(descriptors) < 32
