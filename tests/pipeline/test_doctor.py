"""Tests of what `doctor` states of the sandbox and of the speed of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import SandboxError
from evaluator.pipeline.maintenance import doctor
from evaluator.pipeline.maintenance.doctor import SLOW, speed_fact
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.sandbox.benchmark import REFERENCE_CPU_MS, SPEED_RUNS, slowness
from evaluator.sandbox.diagnostics import Fact
from evaluator.testing.workers import ScriptedWorkers, says, shows


def test_the_fastest_run_decides() -> None:
    times = [shows(cpu_ms=factor * REFERENCE_CPU_MS) for factor in (4.0, 2.5, 3.0)]
    assert len(times) == SPEED_RUNS
    workers = ScriptedWorkers(times)
    assert slowness(workers.start(0)) == pytest.approx(2.5)


def test_a_failed_run_has_no_speed() -> None:
    with pytest.raises(SandboxError, match="no layer"):
        slowness(ScriptedWorkers([says({"error": "no layer"})]).start(0))


@pytest.mark.parametrize("test", [True, False])
def test_a_sandbox_starts_only_for_its_test(monkeypatch: pytest.MonkeyPatch, test: bool) -> None:
    """Suites that share an image share its test."""
    started: list[str] = []
    for name, answer in (("find_engine", None), ("engine_facts", []), ("_image_facts", ("an image", []))):
        monkeypatch.setattr(doctor, name, lambda *values, answer=answer, **named: answer)

    def start(name: str, *others: object) -> list[Fact]:
        started.append(name)
        return [Fact(name, "holds", "")]

    monkeypatch.setattr(doctor, "_sandbox_facts", start)
    facts = doctor.machine_facts(Project.find(Path(__file__)), NullProgress(), fix=False, test=test)
    assert [fact.name for fact in facts] == started
    assert bool(started) is test


@pytest.mark.parametrize(
    ("factor", "value", "is_warning"),
    [
        (1.02, "as fast as the reference", False),
        (0.5, "2.0 x faster than the reference", False),
        (SLOW, "3.0 x slower than the reference", False),
        (8.1, "8.1 x slower than the reference", True),
    ],
)
def test_a_slow_machine_is_a_warning(factor: float, value: str, is_warning: bool) -> None:
    """From a factor on, the CPU limit may decide otherwise than on the reference machine."""
    fact = speed_fact(factor, 2.0)
    assert fact.value == value
    assert fact.why.startswith("CPU limit 2.0 s")
    assert ("only a preview" in fact.why) is is_warning
