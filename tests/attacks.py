"""Attacks on the sandbox, and the workers that run them. After each batch, the same worker runs a canary command.

An attack is a command with its expected result. Two workers with narrow limits run all attacks of a session, and the
results are stored for the tests. The canary's evidence must be the same as before the batch, and the container must
have the same processes, mounts and shared files. `make soak` runs the canary after every single attack.
"""

from __future__ import annotations

import difflib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.records import Evidence
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.protocol import World
from evaluator.sandbox.worker import WorkerDiedError
from tests.sandbox_harness import SLOWNESS, TESS, TINY, SandboxHarness, planned

LIMITS = {"cpu_s": 0.4, "memory_mb": 192, "processes": 96, "disk_mb": 32, "inodes": 12_000, "output_kb": 64}
QUICK_S = 12.0 * SLOWNESS
"""The time limit in seconds, on a busy machine, for attacks that end by themselves or at the CPU limit."""

WALL_S = 25.0 * SLOWNESS
"""The time limit in seconds for attacks that the sandbox ends at its wall-clock limit, ten times the CPU limit."""

SETTLE_S = 10.0 * SLOWNESS
"""The time limit in seconds in which a runner prepares its next job on a busy machine."""

BATCH = 16
"""The number of attacks between two canaries. A canary and the look at its container take longer than most attacks."""

CANARY = """date '+%F %H:%M %Z'
cat file built link; ls -la; env; ps -A -o pid,ppid,args; echo $SRANDOM $$; umask; ulimit -a; nproc; df
cat /proc/{uptime,loadavg,meminfo,net/dev,net/tcp,net/unix,sys/kernel/hostname,self/oom_score_adj}
find /srv /etc /dev /tmp /run /root /home /var/tmp -printf '%p %y %m %U %G %s %T@ %l\\n' | sort | sha256sum
echo written > new; mkdir made; rm tool; sleep 0.01; echo done
"""
INSPECT = """for p in /proc/[0-9]*; do read -r c < $p/comm && echo $c; [ "$c" = python3 ] && r=$p; done; n=0
while read -r _ m _; do n=$((n+1)); [ "$m" = /run/bashboard/job ] && ready=ready; done < $r/mounts
cd -P $r/root && echo $n $ready dev/shm/* tmp/* run/bashboard/* run/* && echo /dev/shm/* /tmp/* /run/*"""


@dataclass(frozen=True, slots=True)
class Attack:
    """A command and its expected result.

    `endings` are the allowed endings. `prints` is the complete standard output and `status` the exit status, or None
    if they can vary. `fatal` allows the attack to end its container. The pool would replace such a container.
    """

    command: str | bytes
    prints: str | None = None
    endings: tuple[str, ...] = ("exited",)
    status: int | None = None
    within_s: float = QUICK_S
    user: bool = False
    start: bytes | None = None
    observe: tuple[str, ...] = ()
    fatal: bool = False

    @property
    def world(self) -> World:
        """Return the tiny world, entered as root or as its user."""
        return replace(TESS if self.user else TINY, start=self.start)

    def __str__(self) -> str:
        """Return the attack's name in a test report."""
        text = self.command if isinstance(self.command, str) else self.command.decode("latin-1")
        return text.encode("unicode_escape").decode()[:90]


Hold = Callable[[Attack], None]
"""A function that asserts that an attack failed."""


def times_out(command: str | bytes, **options: Any) -> Attack:
    """Return an attack that must end at the CPU limit."""
    return Attack(command, endings=("timeout",), **options)


def hangs(command: str | bytes, **options: Any) -> Attack:
    """Return an attack that must end at the wall-clock limit."""
    return Attack(command, endings=("timeout",), within_s=WALL_S, **options)


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """The evidence of a canary run. Two results are equal if their digests are equal."""

    digest: str
    evidence: Evidence = field(compare=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attack, and of the canary after its batch. `evidence` is None if it ended its container."""

    evidence: Evidence | None
    took_s: float
    canary: CanaryResult
    container: str


class AttackWorker:
    """One worker for attacks. If an attack ends the worker, a new one replaces it."""

    def __init__(self, engine: Engine, plan: WorkerPlan) -> None:
        self._engine, self._plan = engine, planned(plan, **LIMITS)
        self.dead_containers: list[str] = []
        self._open()

    def _open(self) -> None:
        self.harness = SandboxHarness(self._engine, self._plan)
        self.harness.run("true", world=TESS)
        self.canary, self.container = self.run_canary(), ""
        while self.container != (found := self.look()) or " ready " not in found:  # not yet prepared for a job
            self.container = found

    def run_canary(self) -> CanaryResult:
        """Run the canary.

        It shows no seconds and no number that bash derives from them, because a slow machine may need more than a
        second to start bash.
        """
        evidence = self.harness.run(CANARY, observe=["shell"])
        return CanaryResult(evidence.digest, evidence)

    def inspect_container(self) -> str:
        """Return the result of `look`. Repeat the look for a while if the result differs from the first look.

        The result can differ while the runner prepares the next job.
        """
        deadline = time.monotonic() + SETTLE_S
        while (found := self.look()) != self.container and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def look(self) -> str:
        """Return the container's processes, mounts and shared files, listed with shell builtins only."""
        output = b""
        while not output:  # an engine may lose the output of a short command
            output = self.harness.worker.container.exec_run(["/bin/sh", "-c", INSPECT]).output
        return "\n".join(sorted(output.decode().split("\n")))

    def run(self, batch: Sequence[Attack]) -> dict[Attack, Outcome]:
        """Run these attacks, then the canary, and inspect the container.

        If the canary or the container differs, run each attack alone to find the one that changes something. If no
        attack does so alone, every outcome has the difference.
        """
        results = {attack: self._run_alone(attack) for attack in batch}
        canary, container = self.run_canary(), self.inspect_container()
        if len(batch) > 1 and not self._is_unchanged(canary, container):
            alone = {attack: self.run([attack])[attack] for attack in batch}
            if not all(self._is_unchanged(outcome.canary, outcome.container) for outcome in alone.values()):
                return alone
        return {attack: Outcome(*result, canary, container) for attack, result in results.items()}

    def _is_unchanged(self, canary: CanaryResult, container: str) -> bool:
        return (canary, container) == (self.canary, self.container)

    def _run_alone(self, attack: Attack) -> tuple[Evidence | None, float]:
        """Run one attack. Return its evidence, or None if it ended the container, and its time in seconds."""
        command = attack.command.encode() if isinstance(attack.command, str) else attack.command
        request = Request.of(attack.world, command, observe=frozenset(attack.observe))
        started = time.monotonic()
        try:
            answer = self.harness.ask(request)
        except WorkerDiedError:
            took_s = time.monotonic() - started
            self.dead_containers.append(self.harness.worker.container.id)
            self.harness.close()
            self._open()
            return None, took_s
        return Evidence.model_validate(answer["evidence"]), time.monotonic() - started

    def close(self) -> None:
        """Remove the worker."""
        self.harness.close()


class AttackWorkers:
    """All workers for attacks of a session.

    A scheduled attack runs in the background before its test. Any other attack runs at the first request.
    """

    def __init__(self, engine: Engine, plan: WorkerPlan, cpus: Sequence[int]) -> None:
        self._free: list[AttackWorker] = [AttackWorker(engine, replace(plan, cpu=cpu)) for cpu in cpus]
        self.all = tuple(self._free)
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(len(cpus))
        self._batches: dict[Attack, Future[dict[Attack, Outcome]]] = {}
        self.host_before = host_state()

    def schedule(self, attacks: Sequence[Attack]) -> None:
        """Start to run these attacks in the background, in batches."""
        waiting = [attack for attack in dict.fromkeys(attacks) if attack not in self._batches]
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            self._batches |= dict.fromkeys(batch, self._threads.submit(self._run, batch))

    def _run(self, batch: Sequence[Attack]) -> dict[Attack, Outcome]:
        with self._lock:
            worker = self._free.pop()
        try:
            return worker.run(batch)
        finally:
            with self._lock:
                self._free.append(worker)

    def outcome(self, attack: Attack) -> Outcome:
        """Return the outcome of an attack. Run the attack first if necessary."""
        self.schedule([attack])
        return self._batches[attack].result()[attack]

    def repeat(self, attacks: Sequence[Attack]) -> list[Outcome]:
        """Run attacks again, each with a canary of its own. Start them in this order on the next free worker."""
        futures = [(attack, self._threads.submit(self._run, [attack])) for attack in attacks]
        return [future.result()[attack] for attack, future in futures]

    def wait(self) -> None:
        """Wait until all scheduled attacks are done."""
        for future in list(self._batches.values()):
            future.result()

    def close(self) -> None:
        """Remove all workers."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self.all:
            worker.close()


def host_state() -> dict[str, str]:
    """Return properties of this machine that an attack might change. The clock is rounded to the minute."""
    paths = ("hostname", "domainname", "core_pattern", "modprobe", "sysrq", "random/boot_id", "panic", "printk")
    state = {path: read(Path("/proc/sys/kernel") / path) for path in paths}
    state["modules"] = " ".join(sorted(line.split()[0] for line in read(Path("/proc/modules")).splitlines()))
    state["swaps"] = read(Path("/proc/swaps"))
    state["clock"] = str(round((time.time() - time.monotonic()) / 60))
    state["shared"] = " ".join(sorted(path.name for path in Path("/dev/shm").glob("*attack*")))
    return state


def read(path: Path) -> str:
    """Return the content of a kernel file, or an empty text if the file cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def differences(canary: CanaryResult, first: CanaryResult) -> str:
    """Return the differences of two canary runs."""
    then, now = first.evidence, canary.evidence
    before, after = (evidence.stdout.data.decode().splitlines() for evidence in (then, now))
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    summary = f"{now.ending}, {now.wall_ms} ms, {now.cpu_ms} ms of CPU, changes equal: {now.changes == then.changes}"
    return "\n".join([summary, *lines])


def assert_held(workers: AttackWorkers, attack: Attack) -> None:
    """Check that the attack ended as expected and in time, and that it changed neither canary result nor container."""
    outcome = workers.outcome(attack)
    assert outcome.took_s < attack.within_s, f"it took {outcome.took_s:.1f} s"
    assert outcome.canary == workers.all[0].canary, differences(outcome.canary, workers.all[0].canary)
    assert outcome.container in {worker.container for worker in workers.all}, outcome.container
    evidence = outcome.evidence
    if evidence is None:
        assert attack.fatal, "it ended its container"
        return
    output = (evidence.stdout.data[:500], evidence.stderr.data[:500])
    assert evidence.ending.value in attack.endings, output
    if attack.prints is not None:
        assert evidence.stdout.data.decode(errors="replace").rstrip("\n") == attack.prints, output
    if attack.status is not None:
        assert evidence.status == attack.status, output
