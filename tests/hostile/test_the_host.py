"""After all attacks, the host is unchanged and no container is left over."""

from __future__ import annotations

import os

import pytest
from docker.errors import NotFound

from evaluator.sandbox.engine import Engine
from evaluator.sandbox.leftovers import LABEL, owner_label
from tests.attacks import AttackWorkers, host_state

pytestmark = pytest.mark.engine


def test_the_host_is_unchanged(attack_workers: AttackWorkers) -> None:
    """Names, core pattern, modules, swap, boot and clock are the same."""
    attack_workers.wait()
    assert host_state() == attack_workers.host_before


def test_dead_containers_are_gone(engine: Engine, attack_workers: AttackWorkers) -> None:
    """Containers that an attack ended are removed, and all others of this process are running."""
    attack_workers.wait()
    for dead in (name for worker in attack_workers.all for name in worker.dead_containers):
        with pytest.raises(NotFound):
            engine.client.containers.get(dead)
    containers = engine.client.containers.list(all=True, filters={"label": f"{LABEL}={owner_label(os.getpid())}"})
    workers = {worker.harness.worker.container.id for worker in attack_workers.all}
    assert workers <= {container.id for container in containers}
    assert all(container.status == "running" for container in containers)


def test_the_last_canary_equals_the_first(attack_workers: AttackWorkers) -> None:
    """This holds on every worker, also after a hundred attacks."""
    attack_workers.wait()
    assert {worker.run_canary() for worker in attack_workers.all} == {attack_workers.all[0].canary}


def test_workers_have_not_grown(attack_workers: AttackWorkers) -> None:
    """The number of a runner's descriptors is bounded, whatever it reads."""
    attack_workers.wait()
    for worker in attack_workers.all:
        script = "for p in /proc/[0-9]*; do echo $p $(ls $p/fd | wc -l); done"
        # the engine would mix the lines of standard error, about processes that ended, into these lines
        listing = worker.harness.worker.container.exec_run(["/bin/sh", "-c", script], stderr=False).output.decode()
        descriptors = [int(line.split()[1]) for line in listing.splitlines()]
        assert max(descriptors) < 32
