"""Attacks on the sandbox, and the pit they are made in: each is followed by a canary on the same worker.

An attack is a command with what must become of it. Two pits, each a worker with narrow limits, take all attacks
of a session in turn; what happened is kept for the test that asks. Right after an attack the worker runs the
canary, whose evidence must be as if nothing had been, and the container must hold what it held before: the same
processes, mounts and shared files.
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
from tests.sandbox_harness import TESS, TINY, SandboxHarness, planned

LIMITS = {"cpu_s": 0.4, "memory_mb": 192, "processes": 96, "disk_mb": 32, "inodes": 12_000, "output_kb": 64}
QUICK_S = 12.0
"""For what ends by itself or by its CPU seconds, on a machine that is busy."""

WALL_S = 25.0
"""For what has to be ended by the wall clock, at ten times the CPU seconds."""

SONGS, SLOW_MS = 4, 700.0

CANARY = """
cat file built link; ls -la; env; ps -A -o pid,ppid,args; echo $RANDOM $$; date; umask; ulimit -a; nproc; df
cat /proc/{uptime,loadavg,meminfo,net/dev,net/tcp,net/unix,sys/kernel/hostname,self/oom_score_adj}
find /srv /etc /dev /tmp /run /root /home /var/tmp -printf '%p %y %m %U %G %s %T@ %l\\n' | sort | sha256sum
echo written > new; mkdir made; rm tool; sleep 0.01; echo done
"""
LOOK = """for p in /proc/[0-9]*; do read -r c < $p/comm && echo $c; [ "$c" = python3 ] && r=$p; done; n=0
while read -r m; do n=$((n+1)); done < $r/mounts
cd -P $r/root && echo $n dev/shm/* tmp/* run/bashboard/* run/* && echo /dev/shm/* /tmp/* /run/*"""


@dataclass(frozen=True, slots=True)
class Attack:
    """A command, and what must become of it.

    `endings` are those allowed, `prints` its whole standard output and `status` its exit status where they are
    certain. `fatal` allows that it takes its container down, as the pool provides for.
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
        """The tiny world, or its user's."""
        return replace(TESS if self.user else TINY, start=self.start)

    def __str__(self) -> str:
        """What a report calls it."""
        text = self.command if isinstance(self.command, str) else self.command.decode("latin-1")
        return text.encode("unicode_escape").decode()[:90]


Hold = Callable[[Attack], None]
"""Makes sure that an attack was held."""


def times_out(command: str | bytes, **asked: Any) -> Attack:
    """One that must be ended by its CPU seconds."""
    return Attack(command, endings=("timeout",), **asked)


def hangs(command: str | bytes, **asked: Any) -> Attack:
    """One that must be ended by the wall clock."""
    return Attack(command, endings=("timeout",), within_s=WALL_S, **asked)


@dataclass(frozen=True, slots=True)
class Song:
    """What the canary showed; two are equal if their digests are."""

    digest: str
    evidence: Evidence = field(compare=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attack; `evidence` is None where it took its container down."""

    evidence: Evidence | None
    took_s: float
    canary: Song
    container: str


class Pit:
    """One worker, replaced when an attack takes it down."""

    def __init__(self, engine: Engine, plan: WorkerPlan) -> None:
        self._engine, self._plan = engine, planned(plan, **LIMITS)
        self.buried: list[str] = []
        self._open()

    def _open(self) -> None:
        self.harness = SandboxHarness(self._engine, self._plan)
        self.harness.run("true", world=TESS)
        self.canary, self.container = self.sing(), self.look()

    def sing(self) -> Song:
        """The canary's evidence. On a busy machine its clock may move on to the next second: then it sings again."""
        for _ in range(SONGS):
            song = self.harness.run(CANARY, observe=["shell"])
            if song.wall_ms < SLOW_MS:
                break
        return Song(song.digest, song)

    def look(self) -> str:
        """Processes, mounts and shared files of the container, by shell builtins alone."""
        output = b""
        while not output:  # an engine may lose the output of what ends at once
            output = self.harness.worker.container.exec_run(["/bin/sh", "-c", LOOK]).output
        return "\n".join(sorted(output.decode().split("\n")))

    def make(self, attack: Attack) -> Outcome:
        """Make one attack and look what became of it and of the pit."""
        command = attack.command.encode() if isinstance(attack.command, str) else attack.command
        request = Request.of(attack.world, command, observe=frozenset(attack.observe))
        began = time.monotonic()
        try:
            answer = self.harness.ask(request)
        except WorkerDiedError:
            self.buried.append(self.harness.worker.container.id)
            self.harness.close()
            self._open()
            return Outcome(None, time.monotonic() - began, self.canary, self.container)
        took_s = time.monotonic() - began
        evidence = Evidence.model_validate(answer["evidence"])
        return Outcome(evidence, took_s, self.sing(), self.look())

    def close(self) -> None:
        """Take the worker down."""
        self.harness.close()


class Pits:
    """All pits of a session. Attacks that are announced are made ahead, in order; others when asked for."""

    def __init__(self, engine: Engine, plan: WorkerPlan, places: Sequence[int]) -> None:
        self._free: list[Pit] = [Pit(engine, replace(plan, cpu=place)) for place in places]
        self.all = tuple(self._free)
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(len(places))
        self._made: dict[Attack, Future[Outcome]] = {}
        self.host_before = host_figures()

    def announce(self, attacks: Sequence[Attack]) -> None:
        """Begin to make these."""
        for attack in attacks:
            if attack not in self._made:
                self._made[attack] = self._threads.submit(self._make, attack)

    def _make(self, attack: Attack) -> Outcome:
        with self._lock:
            pit = self._free.pop()
        try:
            return pit.make(attack)
        finally:
            with self._lock:
                self._free.append(pit)

    def outcome(self, attack: Attack) -> Outcome:
        """What became of an attack."""
        self.announce([attack])
        return self._made[attack].result()

    def repeat(self, attacks: Sequence[Attack]) -> list[Outcome]:
        """Make attacks that were made before once more, in this order on whichever worker is free."""
        return [future.result() for future in [self._threads.submit(self._make, attack) for attack in attacks]]

    def wait(self) -> None:
        """Until all that was announced is made."""
        for future in list(self._made.values()):
            future.result()

    def close(self) -> None:
        """Take all workers down."""
        self._threads.shutdown(cancel_futures=True)
        for pit in self.all:
            pit.close()


def host_figures() -> dict[str, str]:
    """What of this machine an attack might have changed; the clock is told to the minute."""
    paths = ("hostname", "domainname", "core_pattern", "modprobe", "sysrq", "random/boot_id", "panic", "printk")
    figures = {path: read(Path("/proc/sys/kernel") / path) for path in paths}
    figures["modules"] = " ".join(sorted(line.split()[0] for line in read(Path("/proc/modules")).splitlines()))
    figures["swaps"] = read(Path("/proc/swaps"))
    figures["clock"] = str(round((time.time() - time.monotonic()) / 60))
    figures["shared"] = " ".join(sorted(path.name for path in Path("/dev/shm").glob("*attack*")))
    return figures


def read(path: Path) -> str:
    """A file of the kernel; empty where there is none or it is not ours to read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def differences(song: Song, first: Song) -> str:
    """In what way a canary sang another song."""
    then, now = first.evidence, song.evidence
    before, after = (each.stdout.data.decode().splitlines() for each in (then, now))
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    told = f"{now.ending}, {now.wall_ms} ms, {now.cpu_ms} ms of CPU, changes equal: {now.changes == then.changes}"
    return "\n".join([told, *lines])


def assert_held(pits: Pits, attack: Attack) -> None:
    """The attack ended as it must and in time; canary and container are as they were."""
    outcome = pits.outcome(attack)
    assert outcome.took_s < attack.within_s, f"it took {outcome.took_s:.1f} s"
    assert outcome.canary == pits.all[0].canary, differences(outcome.canary, pits.all[0].canary)
    assert outcome.container in {pit.container for pit in pits.all}, outcome.container
    evidence = outcome.evidence
    if evidence is None:
        assert attack.fatal, "it took its container down"
        return
    said = (evidence.stdout.data[:500], evidence.stderr.data[:500])
    assert evidence.ending.value in attack.endings, said
    if attack.prints is not None:
        assert evidence.stdout.data.decode(errors="replace").rstrip("\n") == attack.prints, said
    if attack.status is not None:
        assert evidence.status == attack.status, said
