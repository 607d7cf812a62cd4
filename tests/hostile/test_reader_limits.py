"""Commands that make the runner read for long. The limits count work, so the evidence is the same on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.runner.processes import MAX_ARGUMENTS
from evaluator.sandbox.runner.reading_budget import MAX_LINE
from tests.sandbox_harness import SandboxHarness, planned

pytestmark = pytest.mark.engine

TARS = 'perl -e \'for (1 .. 2000) { open F, ">", "t$_"; seek F, 257, 0; print F "ustar"; truncate F, 67108863 }\''
PAGES = (
    'perl -e \'for $f (1 .. 60) { open F, ">", "p$f"; for (0 .. 250) { sysseek F, $_ << 18, 0; syswrite F, "x" } }\''
)
REPORT = (
    "trap - EXIT; for name in cwd umask options aliases traps functions variables; do printf '\\0%s\\0' $name; "
    '[ $name = {name} ] && printf %s "$text"; done >&251'
)
"""Writes a forged report with `$text` as one section."""

TRAPS = "text=$(perl -e 'print qq(trap -- \\x27{ builtin printf ) x 36000'); " + REPORT.format(name="traps")
CONTROLS = "text=$(perl -e 'print map qq(declare -- v$_=\\1\\1\\1\\1\\1\\1\\1\\1\\n), 1 .. 35000'); " + REPORT.format(
    name="variables"
)
ARGUMENTS = (
    "x=$(head -c 120000 /dev/zero | tr '\\0' x); setsid perl -e 'fork // last for 1 .. 5; sleep 60' "
    "$x $x $x $x $x $x $x $x $x $x $x $x $x $x $x $x >&- 2>&- & sleep 0.5"
)
NAMES = 'perl -e \'for (1 .. 10000) { open F, ">", "\\1" x 200 . $_ }\''
OUTPUT = "head -c 1m /dev/zero; head -c 1m /dev/zero | tr '\\0' '\\1' >&2"


@dataclass(frozen=True, slots=True)
class Load:
    """A command that makes reading long, its observations, and whether its list of changes is cut."""

    command: str
    observe: tuple[str, ...] = ()
    is_cut: bool = False


LOADS = {
    "files that look like tars": Load(TARS, is_cut=True),
    "a page in every chunk": Load(PAGES, is_cut=True),
    "traps": Load(TRAPS, ("shell",)),
    "control characters": Load(CONTROLS, ("shell",)),
    "arguments": Load(ARGUMENTS, ("processes",)),
    "names": Load(NAMES, is_cut=True),
    "output": Load(OUTPUT),
    "zips": Load(
        "head -c 1m /dev/urandom > r; zip -q -1 z r; for i in {1..20}; do cp z.zip $i; done; rm r z.zip", is_cut=True
    ),
    "bzip2": Load("head -c 1m /dev/urandom | bzip2 -1 > b; for i in {1..9}; do cp b $i; done", is_cut=True),
}


@pytest.fixture(scope="module")
def roomy_sandbox(engine: Engine, plan: WorkerPlan) -> Iterator[SandboxHarness]:
    """Yield a worker with the suite's limits, but with more CPU time and output."""
    harness = SandboxHarness(engine, planned(plan, cpu_s=5.0, output_kb=1024))
    yield harness
    harness.close()


def shown(evidence: Evidence) -> dict[str, Any]:
    """Return all evidence except durations."""
    return evidence.model_dump(mode="json", exclude={"cpu_ms", "wall_ms"})


@pytest.mark.parametrize("name", LOADS)
def test_reading_ends_at_a_limit_and_is_marked(roomy_sandbox: SandboxHarness, name: str) -> None:
    """The runner answers before its deadline with one line of limited size, and twice the same."""
    load = LOADS[name]
    first = roomy_sandbox.run(load.command, observe=load.observe)
    assert first.ending.value == "exited"
    assert first.changes_truncated is load.is_cut
    assert len(first.to_json().encode()) < MAX_LINE
    assert shown(roomy_sandbox.run(load.command, observe=load.observe)) == shown(first)


def test_forged_reports_are_read_to_their_end(roomy_sandbox: SandboxHarness) -> None:
    """A megabyte of traps is a state. A state whose JSON is too long counts as not alive."""
    traps, controls = (roomy_sandbox.run(command, observe=["shell"]).shell for command in (TRAPS, CONTROLS))
    assert traps is not None
    assert traps.alive
    assert len(traps.traps[0]) > 900_000
    assert controls is not None
    assert not controls.alive


def test_long_arguments_are_cut_and_marked(roomy_sandbox: SandboxHarness) -> None:
    """Each process keeps the beginning of its arguments."""
    processes = roomy_sandbox.run(ARGUMENTS, observe=["processes"]).processes
    assert processes is not None
    assert len(processes) > 30
    assert {(len(process.arguments), process.truncated) for process in processes} == {(MAX_ARGUMENTS, True)}


BUSY_LOOPS = 4


@pytest.mark.soak
def test_a_busy_machine_changes_no_evidence(roomy_sandbox: SandboxHarness) -> None:
    """The evidence beside four busy loops is the same as without them."""
    alone = {name: shown(roomy_sandbox.run(load.command, observe=load.observe)) for name, load in LOADS.items()}
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_LOOPS)]
    try:
        beside = {name: shown(roomy_sandbox.run(load.command, observe=load.observe)) for name, load in LOADS.items()}
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert beside == alone
