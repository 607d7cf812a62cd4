"""Tests of cores: one job at a time uses a core, and a job whose processes all sleep yields its core."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import pytest

from evaluator.sandbox.cores import Cores
from evaluator.sandbox.pool import Pool
from evaluator.sandbox.requests import Request
from evaluator.sandbox.worker import Line, OnSleep
from evaluator.testing.workers import FIRST_START, shows
from tests.sandbox.test_pool import WORLD
from tests.sandbox_harness import ANSWER_S, TINY, SandboxHarness

PATIENCE_S = 10.0


def acquired(cores: Cores, slot: int) -> threading.Event:
    """Acquire a core in a thread of its own. The event is set when the slot has it."""
    done = threading.Event()

    def run() -> None:
        cores.acquire(slot)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    return done


def test_a_second_slot_of_a_core_waits_until_the_first_one_sleeps() -> None:
    cores = Cores(2, 4)
    cores.acquire(0)
    second = acquired(cores, 2)
    assert not second.wait(0.1)
    cores.release(0)
    assert second.wait(PATIENCE_S)


def test_slots_of_different_cores_do_not_wait_for_each_other() -> None:
    cores = Cores(2, 4)
    cores.acquire(0)
    assert acquired(cores, 1).wait(PATIENCE_S)


def test_the_earliest_waiting_slot_comes_first() -> None:
    """Its worker has built more worlds than the workers of later slots."""
    cores = Cores(1, 3)
    cores.acquire(0)
    third, second = acquired(cores, 2), acquired(cores, 1)
    while len(cores._waiting[0]) < 2:
        time.sleep(0.01)
    cores.release(0)
    assert second.wait(PATIENCE_S)
    assert not third.wait(0.1)


def test_a_slot_gives_way_to_an_earlier_one_after_its_job() -> None:
    """Slot 0 slept, and slot 1 took the core. When the job of slot 0 has ended, slot 1 lets it in."""
    cores = Cores(1, 2)
    cores.acquire(0)
    cores.release(0)
    cores.acquire(1)
    cores.resume(0)
    first = acquired(cores, 0)
    assert not first.wait(0.1)
    again = acquired(cores, 1)
    assert first.wait(PATIENCE_S)
    assert not again.wait(0.1)


def test_a_new_slot_begins_only_if_the_core_stays_free() -> None:
    """A job that sleeps for a moment is not worth a container. A slot that has run a job begins at once."""
    now = 100.0
    cores = Cores(1, 2, clock=lambda: now, start_delay_s=0.3)
    cores.acquire(0)
    cores.release(0)
    second = acquired(cores, 1)
    assert not second.wait(0.6)
    now += 0.3
    assert second.wait(PATIENCE_S)
    cores.release(1)
    assert acquired(cores, 1).wait(PATIENCE_S)


def test_short_sleeps_of_many_jobs_add_up_until_a_new_slot_begins() -> None:
    now = 100.0
    cores = Cores(1, 3, clock=lambda: now, start_delay_s=0.3)
    cores.acquire(0)
    second, third = acquired(cores, 1), acquired(cores, 2)
    for _ in range(2):
        cores.release(0)
        assert not second.wait(0.1)
        now += 0.16
        if not second.wait(0.1):
            cores.resume(0)
            now += 10.0
    assert second.wait(PATIENCE_S)
    cores.release(1)
    assert not third.wait(0.4), "the next slot needs as much time again"


def test_no_slot_waits_for_its_core_after_the_last_job() -> None:
    """Otherwise each slot without a worker would wait until its core stays free, one after the other."""
    cores = Cores(1, 3, clock=lambda: 0.0, start_delay_s=0.3)
    waiting = [acquired(cores, slot) for slot in (1, 2)]
    assert not any(slot.wait(0.1) for slot in waiting)
    cores.end()
    assert all(slot.wait(PATIENCE_S) for slot in waiting)
    for number in (1, 2):
        cores.leave(number)
    with cores.counted():
        cores.acquire(0)
        assert not acquired(cores, 1).wait(0.1), "the next jobs wait again"


def test_a_job_that_runs_alone_waits_for_the_sleeping_jobs_of_its_core() -> None:
    cores = Cores(2, 4)
    cores.acquire(0)
    cores.begin(0)
    cores.release(0)
    cores.acquire(2)
    begun = threading.Event()

    def run() -> None:
        cores.begin(2, alone=True)
        begun.set()

    threading.Thread(target=run, daemon=True).start()
    assert not begun.wait(0.1)
    cores.resume(0)
    assert not begun.wait(0.1)
    acquired(cores, 0)
    assert begun.wait(PATIENCE_S)


def test_a_core_is_idle_when_no_job_on_it_is_awake() -> None:
    """Of 10 seconds, core 0 has an awake job in seconds 0 to 2 and 5 to 6. Core 1 has none."""
    now = 100.0
    cores = Cores(2, 4, clock=lambda: now)
    cores.acquire(0)
    with cores.counted():
        cores.begin(0)
        now += 2
        cores.release(0)
        now += 3
        cores.resume(0)
        now += 1
        cores.acquire(0)  # waits for its next job
        now += 4
    now += 1000
    share, of_s = cores.idle_time()
    assert share == pytest.approx(1 - 3 / 20)
    assert of_s == 10


def test_two_awake_jobs_of_one_core_count_once() -> None:
    now = 0.0
    cores = Cores(1, 2, clock=lambda: now, start_delay_s=0)
    with cores.counted():
        for slot in (0, 1):
            cores.acquire(slot)
            cores.begin(slot)
            cores.release(slot)
            cores.resume(slot)
            if slot == 0:
                cores.release(0)
        cores.resume(0)
        now += 4
    assert cores.idle_time() == (0.0, 4)


def test_a_pool_reports_its_idle_time() -> None:
    """A pool with one core and one job at a time was busy for some of the time in which it executed."""
    workers = SleepyWorkers(1)
    with Pool(workers.start, 1, wall_s=1) as pool:
        assert pool.idle_time() == (0.0, 0.0)
        list(pool.execute([Request.of(WORLD, b"a")]))
        share, of_s = pool.idle_time()
    assert 0.0 <= share < 1.0
    assert of_s > 0.0


@dataclass
class SleepyWorkers:
    """Workers whose jobs sleep until all of them have begun. `most` is the largest number of jobs at the same time."""

    jobs: int
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    most: int = 0
    awake: int = 0
    running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, slot: int) -> SleepyWorker:
        return SleepyWorker(self, f"container {slot}")

    def count(self, jobs: int, awake: int) -> None:
        with self.lock:
            self.running += jobs
            self.awake += awake
            self.most = max(self.most, self.running)


@dataclass
class SleepyWorker:
    workers: SleepyWorkers
    container_id: str
    started = FIRST_START

    def ask(self, line: Line, timeout_s: float, on_sleep: OnSleep | None = None) -> Line:
        assert on_sleep is not None
        self.workers.count(1, 1)
        assert self.workers.awake == 1, "two jobs of one core are awake"
        self.workers.count(0, -1)
        on_sleep(True)
        deadline = time.monotonic() + PATIENCE_S
        while self.workers.most < self.workers.jobs and time.monotonic() < deadline:
            time.sleep(0.01)
        on_sleep(False)
        self.workers.count(-1, 0)
        return shows("slept")(line)

    def tell(self, line: Line) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("in_flight", [1, 3])
def test_sleeping_jobs_of_one_core_overlap(in_flight: int) -> None:
    """With three slots for the core, three jobs sleep at the same time. With one slot, no two do."""
    workers = SleepyWorkers(in_flight)
    requests = [Request.of(WORLD, b"sleep %d" % number) for number in range(3 * in_flight)]
    with Pool(workers.start, 1, wall_s=1, in_flight=in_flight) as pool:
        assert len(list(pool.execute(requests))) == len(requests)
    assert workers.most == in_flight


def reports(sandbox: SandboxHarness, command: str) -> list[bool]:
    """Run a command in a real container, and return what the runner reported about sleep."""
    sandbox.run("true")
    reported: list[bool] = []
    sandbox.worker.ask(Request.of(TINY, command.encode(), wall_s=4).job.to_line(), ANSWER_S, reported.append)
    return reported


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("true", []),
        ("sleep 0.5", [True]),
        ("sleep 0.4; for ((i = 0; i < 150000; i++)); do :; done; sleep 0.3", [True, False, True]),
        ("for ((i = 0; i < 300000; i++)); do :; done", []),
        ("sleep 0.6 & for ((i = 0; i < 200000; i++)); do :; done; kill $!", []),
        ("(for ((i = 0; i < 200000; i++)); do :; done) | cat", []),
        ("kill -STOP $$ & sleep 0.4", [True]),
    ],
)
def test_the_runner_reports_when_all_processes_sleep(
    sandbox: SandboxHarness, command: str, expected: list[bool]
) -> None:
    """A busy process beside sleeping ones keeps the core. A stopped process needs none."""
    assert reports(sandbox, command)[: len(expected) or None] == expected
