"""The sandbox's speed compared with other ways to run a command, as ratios measured on one machine.

The same command runs in four ways: as a bare command in the worker's container, as a job of the worker with full
evidence, with `docker exec` and with `docker run --rm`. The first two ways alternate in small rounds, so that changes
of the machine's speed affect both.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.errors import SandboxError
from evaluator.progress import Progress
from evaluator.records import SuiteManifest
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from evaluator.sandbox.leftovers import LABEL, owner_label
from evaluator.sandbox.pool import Pool
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.protocol import World
from evaluator.sandbox.worker import Worker

SPEED_COMMAND: Final = b"for ((i = 0; i < 200000; i++)); do :; done"
SPEED_RUNS: Final = 3
REFERENCE_CPU_MS: Final = 205.0
"""The CPU time of SPEED_COMMAND on the reference machine: one core of a virtual machine with 2 cores, linux/amd64."""

ROUNDS: Final = 10
COMMAND: Final = "echo hi > /tmp/x; ls /"
BARE: Final = "echo hi > /run/bashboard/x; ls /"
WORLD: Final = World("", "bench", "one", 1, b"mkdir -p /srv/bench", None, None, "/srv/bench", "root")
_BARE_LOOP: Final = """
import json, os, sys, time
null = os.open('/dev/null', os.O_WRONLY)
times_s = []
for _ in range(int(sys.argv[1])):
    started = time.perf_counter()
    to_null = [(os.POSIX_SPAWN_DUP2, null, 1)]
    pid = os.posix_spawn('/bin/bash', ['bash', '-c', sys.argv[2]], os.environ, file_actions=to_null)
    os.waitpid(pid, 0)
    times_s.append(time.perf_counter() - started)
print(json.dumps(times_s))
"""


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """The milliseconds per command for one way of running a command, and the ratio to a bare run of bash."""

    name: str
    commands: int
    p50: float
    p95: float
    p99: float
    per_second: float
    ratio: float


def _row(name: str, times_s: Sequence[float], bare_p50: float) -> BenchmarkRow:
    ordered = sorted(times_s)

    def quantile_ms(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 2)

    p50, p95, p99 = (quantile_ms(share) for share in (0.5, 0.95, 0.99))
    ratio = round(statistics.median(ordered) * 1000 / bare_p50, 2) if bare_p50 else 1.0
    return BenchmarkRow(name, len(ordered), p50, p95, p99, round(len(ordered) / sum(ordered), 1), ratio)


def _time(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def slowness(worker: Worker) -> float:
    """Return the CPU time of a fixed command in the sandbox as a multiple of the time on the reference machine.

    It is the best of SPEED_RUNS runs. Raises SandboxError if a run gives no evidence.
    """
    request = Request.of(WORLD, SPEED_COMMAND)
    worker.tell(request.world.to_line())
    lines = [worker.ask(request.job.to_line(), 60) for _ in range(SPEED_RUNS)]
    for line in lines:
        if "error" in line:
            raise SandboxError(line["error"])
    return min(float(line["evidence"]["cpu_ms"]) for line in lines) / REFERENCE_CPU_MS


def bench_sandbox(
    engine: Engine, image: SuiteImage, manifest: SuiteManifest, progress: Progress, *, jobs: int, cpus: Sequence[int]
) -> tuple[list[BenchmarkRow], dict[str, float]]:
    """Measure the time of a command in the sandbox, as a bare command, and with Docker's own commands.

    Return one row for each way to run the command, and the mean milliseconds of each phase of a sandboxed job.
    """
    plan = WorkerPlan(image, manifest, cpus[0])
    worker = ContainerWorker(engine, plan)
    try:
        request = Request.of(WORLD, COMMAND.encode())
        worker.tell(request.world.to_line())
        worker.ask(request.job.to_line(), 60)
        bare, sandboxed, phases = _alternate(worker, request, manifest.environment, jobs, progress)
        executed = [
            _time(lambda: worker.container.exec_run(["bash", "-c", BARE], environment=dict(manifest.environment)))
            for _ in range(max(5, jobs // 20))
        ]
    finally:
        worker.close()
    bare_p50 = statistics.median(bare) * 1000
    rows = [
        _row("bash -c, bare, same container", bare, 0),
        _row("ours, full evidence, 1 worker", sandboxed, bare_p50),
        _all_workers(engine, plan, jobs, cpus, bare_p50, progress),
        _row("docker exec", executed, bare_p50),
        _row("docker run --rm", _docker_runs(engine, plan, max(5, jobs // 40), progress), bare_p50),
    ]
    return rows, phases


def _alternate(
    worker: ContainerWorker, request: Request, environment: Mapping[str, str], jobs: int, progress: Progress
) -> tuple[list[float], list[float], dict[str, float]]:
    """Run a command alternately as a bare command and as a sandboxed job, both in the worker's container.

    Return the seconds of each bare run, the seconds of each job, and the mean milliseconds of each phase of a job.
    """
    bare: list[float] = []
    sandboxed: list[float] = []
    phases: dict[str, float] = {}
    per_round = max(1, jobs // ROUNDS)
    progress.stage("bare and ours in turns", ROUNDS)
    for _ in range(ROUNDS):
        with engine_errors("the bare loop could not be run"):
            answer = worker.container.exec_run(
                ["python3", "-I", "-S", "-c", _BARE_LOOP, str(per_round), BARE], environment=dict(environment)
            )
        bare += json.loads(answer.output)
        for _ in range(per_round):
            started = time.perf_counter()
            line = worker.ask(request.job.to_line(), 60)
            sandboxed.append(time.perf_counter() - started)
            if "error" in line:
                raise SandboxError(line["error"])
            for name, phase_ms in line["phases"].items():
                phases[name] = phases.get(name, 0.0) + phase_ms
        progress.advance()
    means = {name: round(total_ms / len(sandboxed), 3) for name, total_ms in phases.items()}
    rest = statistics.mean(sandboxed) * 1000 - sum(means.values())
    return bare, sandboxed, {**means, "host and line": round(rest, 3)}


def _all_workers(
    engine: Engine, plan: WorkerPlan, jobs: int, cpus: Sequence[int], bare_p50: float, progress: Progress
) -> BenchmarkRow:
    """Measure all workers together. The time per command is the wall time divided by the number of commands."""

    def start(slot: int) -> ContainerWorker:
        return ContainerWorker(engine, WorkerPlan(plan.image, plan.manifest, cpus[slot]))

    requests = [Request.of(WORLD, f"{COMMAND} # {number}".encode()) for number in range(jobs)]
    with Pool(start, len(cpus), plan.manifest.limits.wall_s) as pool:
        for _ in pool.execute(requests[: len(cpus) * 4]):
            pass
        progress.stage(f"{len(cpus)} workers", jobs)
        started = time.perf_counter()
        for _ in pool.execute(requests):
            progress.advance()
        per_command_s = (time.perf_counter() - started) / jobs
    return _row(f"ours, full evidence, {len(cpus)} workers", [per_command_s] * jobs, bare_p50)


def _docker_runs(engine: Engine, plan: WorkerPlan, count: int, progress: Progress) -> list[float]:
    options = {
        "remove": True,
        "network_mode": "none",
        "tmpfs": {"/run/bashboard": ""},
        "labels": {LABEL: owner_label(os.getpid())},
        "environment": dict(plan.manifest.environment),
    }

    def run_once() -> None:
        with engine_errors("docker run failed"):
            engine.client.containers.run(plan.image.reference, ["bash", "-c", BARE], **options)

    progress.stage("docker run --rm", count)
    times_s = []
    for _ in range(count):
        times_s.append(_time(run_once))
        progress.advance()
    return times_s
