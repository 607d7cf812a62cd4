"""What the kernel shares between jobs, containers and the host: an honest command beside and after each attack.

One worker runs every attack and then the probe, with no look at the container between the two. A second worker runs the
probe beside each attack. All evidence of the probe must be the same as in a fresh worker.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.attacks import host_state
from tests.sandbox_harness import SandboxHarness, planned
from tests.shared_resources import PROBE, TABLES, TRIALS

pytestmark = pytest.mark.engine


@dataclass(frozen=True, slots=True)
class Session:
    """The evidence of all attacks and of the probe: alone, after each attack, and beside the attacks."""

    attacks: dict[str, Evidence]
    alone: str
    after: dict[str, str]
    beside: set[str]
    host: tuple[dict[str, str], dict[str, str]]


def shown(evidence: Evidence) -> str:
    """Return all evidence except durations, with one line of JSON for each field."""
    return evidence.model_dump_json(exclude={"cpu_ms", "wall_ms"}, indent=1)


@pytest.fixture(scope="module")
def session(engine: Engine, plan: WorkerPlan) -> Session:
    cpus = sorted(os.sched_getaffinity(0))
    roomy = planned(replace(plan, cpu=cpus[0]), cpu_s=2.0)
    host_before = host_state()
    hostile = SandboxHarness(engine, roomy)
    neighbour = SandboxHarness(engine, replace(roomy, cpu=cpus[-1]))
    attacks, after, beside = {}, {}, set()
    try:
        alone = shown(hostile.run(PROBE))
        with ThreadPoolExecutor(1) as threads:
            for name, trial in TRIALS.items():
                watch = threads.submit(neighbour.run, PROBE)
                attacks[name] = hostile.run(trial.command)
                after[name] = shown(hostile.run(PROBE))
                beside.add(shown(watch.result()))
    finally:
        hostile.close()
        neighbour.close()
    return Session(attacks, alone, after, beside, (host_before, host_state()))


@pytest.mark.parametrize("table", TABLES)
def test_the_kernel_refuses_the_attack_or_it_is_harmless(session: Session, table: str) -> None:
    """Every step of each attack ends as the table says."""
    unexpected = {}
    for name, trial in TABLES[table].items():
        evidence = session.attacks[name]
        output = evidence.stdout.data.decode()
        if evidence.ending.value != "exited" or not re.fullmatch(trial.prints, output, re.DOTALL):
            unexpected[name] = evidence.ending.value, output, evidence.stderr.data
    assert not unexpected


@pytest.mark.parametrize("name", TRIALS)
def test_the_next_command_has_the_evidence_of_a_fresh_worker(session: Session, name: str) -> None:
    """The evidence is the same, byte for byte."""
    assert session.after[name] == session.alone


def test_a_neighbour_has_the_same_evidence_all_the_time(session: Session) -> None:
    """The probe beside the attacks shows nothing of them, and the host is unchanged."""
    assert session.beside == {session.alone}
    before, after = session.host
    changed = {name: set(before[name].split()) ^ set(after[name].split()) for name in before}
    assert not {name: words for name, words in changed.items() if words}
    assert after == before


def test_the_attacks_are_many_and_different() -> None:
    """No command is in the tables twice."""
    assert len({trial.command for trial in TRIALS.values()}) == len(TRIALS) >= 50
