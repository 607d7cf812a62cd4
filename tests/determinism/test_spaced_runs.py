"""The output of a command in another container at another time has few kinds of differences.

The sandbox's own tests compare only references. This test compares all commands whose output could differ.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.determinism.spaced_commands import CAUSES, COMMANDS
from tests.sandbox_harness import SandboxHarness

pytestmark = pytest.mark.engine

SPACING_S = 20.0
MOST = 13
"""The maximum number of kinds of differences among the eighty-nine commands."""


def run_all(engine: Engine, plan: WorkerPlan, names: Sequence[str]) -> dict[str, Evidence]:
    """Run these commands in a new container, in this order, and return their evidence."""
    with closing(SandboxHarness(engine, plan)) as harness:
        return {name: harness.run(COMMANDS[name]) for name in names}


def differences(first: Evidence, again: Evidence) -> list[str]:
    """Return each field that differs. For an output, also return the first line that differs."""
    before, after = first.model_dump(), again.model_dump()
    differing = []
    for name in before.keys() - {"cpu_ms", "wall_ms"}:
        if before[name] == after[name]:
            continue
        if name in ("stdout", "stderr"):
            pairs = zip(before[name]["data"].splitlines(), after[name]["data"].splitlines(), strict=False)
            line = next(((left, right) for left, right in pairs if left != right), (b"", b""))
            differing.append(f"{name}: {line[0][:70]!r} / {line[1][:70]!r}")
        else:
            differing.append(name)
    return sorted(differing)


def test_there_are_eighty_nine_commands() -> None:
    assert len(COMMANDS) == len(set(COMMANDS.values())) == 89
    assert CAUSES.keys() <= COMMANDS.keys()


@pytest.mark.soak
def test_few_kinds_of_differences_are_between_containers_and_times(engine: Engine, plan: WorkerPlan) -> None:
    names = sorted(COMMANDS)
    first = run_all(engine, plan, names)
    time.sleep(SPACING_S)
    again = run_all(engine, replace(plan, cpu=max(os.sched_getaffinity(0))), names[::-1])
    differing = [name for name in names if first[name].digest != again[name].digest]
    kinds = {CAUSES.get(name, name) for name in differing}
    lines = [
        f"{name:32} {CAUSES.get(name, '?'):60} {'; '.join(differences(first[name], again[name]))}" for name in differing
    ]
    print(f"\n{len(differing)} of {len(names)} commands differ, in {len(kinds)} kinds:", *lines, sep="\n")  # noqa: T201
    assert len(kinds) <= MOST
