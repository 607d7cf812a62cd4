"""Tests of the wall-clock limit: at the limit, a job gets the time back that it lost to other programs or machines."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.requests import Request, evidence_key
from evaluator.sandbox.runner.lost_time import MAX_LOST_S, LostTime
from tests.sandbox_harness import SLOWNESS, TINY, SandboxHarness

RUNNER, JAIL = 7, 12
"""The pid of a process that does not belong to the job, and of the program that starts jobs."""

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Proc:
    """A folder with the files of /proc that are read. Times are in seconds."""

    def __init__(self, folder: Path, *, counts_delays: bool = True) -> None:
        self.folder = folder
        self.write("self", "915150 1200 41" if counts_delays else "0 0 0")
        self.write(f"{RUNNER}/task/{RUNNER}", "99000000000 99000000000 7")
        self.set_thread(JAIL, JAIL, cpu_s=40.0, delay_s=9.0)
        self.set_steal(3.0)

    def write(self, place: str, schedstat: str) -> None:
        folder = self.folder / place
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedstat").write_text(f"{schedstat}\n")

    def set_thread(self, pid: int, tid: int, *, cpu_s: float, delay_s: float) -> None:
        self.write(f"{pid}/task/{tid}", f"{cpu_s * 1e9:.0f} {delay_s * 1e9:.0f} 12")

    def set_steal(self, steal_s: float) -> None:
        ticks = round(steal_s / TICK_S)
        cpus = "".join(f"cpu{cpu} 3738 0 2750 55207 86 0 20 {ticks} 0 0\n" for cpu in os.sched_getaffinity(0))
        (self.folder / "stat").write_text(f"cpu  14326 0 7177 101338 624 0 199 99999 0 0\n{cpus}intr 4432 0 9\n")

    def lost_time(self) -> LostTime:
        """Return the lost time of a job that starts at 100 s, when the container has used 5 s of CPU time."""
        return LostTime(100.0, 5.0, JAIL, {RUNNER}, self.folder)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_the_run_delays_of_all_threads_count(proc: Proc) -> None:
    """The runner's own delay does not count."""
    lost = proc.lost_time()
    proc.set_thread(20, 20, cpu_s=0.1, delay_s=0.5)
    proc.set_thread(20, 21, cpu_s=0.1, delay_s=0.25)
    assert lost.total_s(102.0, 5.2) == pytest.approx(0.75)


def test_the_delay_of_the_start_counts(proc: Proc) -> None:
    """The runner and the jail start the job. Later delays of the runner do not matter, because the job is running."""
    lost = proc.lost_time()
    proc.set_thread(JAIL, JAIL, cpu_s=40.0, delay_s=9.25)
    proc.write("self", "915150 500001200 42")
    lost.sample(101.0, 5.0)
    proc.write("self", "915150 900001200 43")
    assert lost.total_s(102.0, 5.0) == pytest.approx(0.75)


def test_a_thread_that_ended_keeps_its_share(proc: Proc) -> None:
    """A later thread with its number starts from zero again."""
    lost = proc.lost_time()
    proc.set_thread(20, 20, cpu_s=0.1, delay_s=0.5)
    lost.sample(101.0, 5.1)
    (proc.folder / "20/task/20/schedstat").unlink()
    lost.sample(102.0, 5.1)
    proc.set_thread(20, 20, cpu_s=0.05, delay_s=0.2)
    assert lost.total_s(103.0, 5.15) == pytest.approx(0.7)


def test_only_the_growth_since_the_last_sample_counts(proc: Proc) -> None:
    lost = proc.lost_time()
    for second, delay_s in enumerate((0.5, 0.75, 0.75), start=101):
        proc.set_thread(20, 20, cpu_s=0.1, delay_s=delay_s)
        lost.sample(float(second), 5.1)
    assert lost.total_s(104.0, 5.1) == pytest.approx(0.75)


def test_threads_that_wait_for_each_other_lose_nothing(proc: Proc) -> None:
    """Two busy threads of one job share one CPU. The container has all of it, and the later sleep does not matter."""
    lost = proc.lost_time()
    for second in range(1, 3):
        proc.set_thread(20, 20, cpu_s=second / 2, delay_s=second / 2)
        proc.set_thread(20, 21, cpu_s=second / 2, delay_s=second / 2)
        lost.sample(100.0 + second, 5.0 + second)
    assert lost.total_s(110.0, 7.0) == pytest.approx(0.0)


def test_a_delay_that_ends_in_the_next_interval_counts(proc: Proc) -> None:
    """The kernel counts a wait when it ends. A wait from 100.5 to 101.5 s counts in the second interval as a whole."""
    lost = proc.lost_time()
    proc.set_thread(20, 20, cpu_s=0.5, delay_s=0.0)
    lost.sample(101.0, 5.5)
    proc.set_thread(20, 20, cpu_s=1.0, delay_s=1.0)
    assert lost.total_s(102.0, 6.0) == pytest.approx(1.0)


def test_steal_counts_from_the_first_sample_on(proc: Proc) -> None:
    lost = proc.lost_time()
    lost.sample(101.0, 5.0)
    proc.set_steal(4.5)
    assert lost.total_s(110.0, 5.0) == pytest.approx(1.5)


def test_a_job_never_gets_more_back_than_it_did_not_use(proc: Proc) -> None:
    """Run delay and steal may contain the same time."""
    lost = proc.lost_time()
    lost.sample(100.1, 5.0)
    proc.set_thread(20, 20, cpu_s=1.0, delay_s=1.0)
    proc.set_steal(4.0)
    assert lost.total_s(102.0, 6.0) == pytest.approx(1.0)


def test_there_is_a_highest_time_to_get_back(proc: Proc) -> None:
    lost = proc.lost_time()
    proc.set_thread(20, 20, cpu_s=0.1, delay_s=200.0)
    assert lost.total_s(400.0, 5.1) == MAX_LOST_S


@pytest.mark.parametrize(("seen_s", "is_known"), [(0.0, False), (0.4, False), (0.6, True), (1.0, True)])
def test_the_lost_time_is_unknown_if_few_processes_were_seen(proc: Proc, seen_s: float, is_known: bool) -> None:
    """The job used 1 s of CPU time under a limit of 10 s. Short processes used the time that no sample saw."""
    lost = proc.lost_time()
    proc.set_thread(20, 20, cpu_s=seen_s, delay_s=0.0)
    lost.sample(109.0, 6.0)
    assert lost.is_known(10.0, 6.0) is is_known


def test_the_lost_time_is_unknown_if_the_kernel_does_not_count_delays(tmp_path: Path) -> None:
    lost = Proc(tmp_path, counts_delays=False).lost_time()
    assert not lost.is_known(10.0, 5.0)
    (tmp_path / "self/schedstat").unlink()
    assert not lost.is_known(10.0, 5.0)


def test_the_limit_is_part_of_the_evidence_key() -> None:
    keys = {evidence_key(Request.of(TINY, b"true", wall_s=wall_s), b"machine") for wall_s in (None, 10, 20, 30)}
    assert len(keys) == 4


@contextlib.contextmanager
def busy(cpu: int, processes: int) -> Iterator[None]:
    """Keep a CPU busy with this number of processes during the block.

    Each has its own session, because a kernel may share the CPU between sessions.
    """
    loop = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    started = [subprocess.Popen([sys.executable, "-c", loop], start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def workers(engine: Engine, plan: WorkerPlan) -> Iterator[Mapping[str, SandboxHarness]]:
    """A worker on the first CPU, which a test makes busy, and one on the last CPU. Both have 3 s of CPU time."""
    cpus = {"busy": min(os.sched_getaffinity(0)), "quiet": max(os.sched_getaffinity(0))}
    opened = {name: SandboxHarness(engine, replace(plan, cpu=cpu)) for name, cpu in cpus.items()}
    yield opened
    for harness in opened.values():
        harness.close()


def endings(workers: Mapping[str, SandboxHarness], command: str, wall_s: float) -> dict[str, str]:
    """Run a command on a busy and on a quiet CPU at the same time, and return the endings."""
    cpu = workers["busy"].plan.cpu
    assert cpu is not None
    with busy(cpu, 4), ThreadPoolExecutor() as threads:
        runs = {name: threads.submit(each.show, command, wall_s=wall_s) for name, each in workers.items()}
        return {name: run.result().evidence.ending.value for name, run in runs.items()}


@pytest.mark.parametrize(("sleep_s", "wall_s"), [(1.6, 2), pytest.param(8, 10, marks=pytest.mark.soak)])
def test_a_sleeper_has_one_verdict_on_a_quiet_and_on_a_busy_machine(
    workers: Mapping[str, SandboxHarness], sleep_s: float, wall_s: float
) -> None:
    assert endings(workers, f"sleep {sleep_s}", wall_s) == {"busy": "exited", "quiet": "exited"}


def test_a_job_gets_the_time_back_that_others_took(workers: Mapping[str, SandboxHarness]) -> None:
    """The job needs 0.5 s on a quiet CPU, and 1.7 s if it has a fifth of a CPU."""
    command = "perl -e '1 while (times)[0] + (times)[1] < 0.3'; sleep 0.2"
    assert endings(workers, command, 1.2 * SLOWNESS) == {"busy": "exited", "quiet": "exited"}


def test_a_job_that_waits_for_ever_ends_on_a_busy_machine_too(workers: Mapping[str, SandboxHarness]) -> None:
    assert endings(workers, "sleep 1000", 1) == {"busy": "timeout", "quiet": "timeout"}


def test_a_timeout_leaves_the_worker_in_place(sandbox: SandboxHarness) -> None:
    sandbox.run("true")
    container, retired = sandbox.worker.container_id, list(sandbox.retired)
    for command in ("sleep 1000 & wait", "while sleep 0.1; do :; done", "cat pipe | cat"):
        shown = sandbox.show(command, wall_s=0.5)
        assert (shown.evidence.ending.value, shown.by_wall, shown.lost_time_known) == ("timeout", True, True)
    assert sandbox.run("echo next").stdout.data == b"next\n"
    assert (sandbox.worker.container_id, sandbox.retired) == (container, retired)


def test_a_verifier_has_the_same_limit(sandbox: SandboxHarness) -> None:
    shown = sandbox.show("true", verify=b"sleep 1000", wall_s=0.5)
    assert (shown.evidence.ending.value, shown.evidence.verifier, shown.by_wall) == ("exited", None, True)


def test_short_processes_leave_the_lost_time_unknown(sandbox: SandboxHarness) -> None:
    """Most of the job's CPU time is used by processes that begin and end between two samples."""
    shown = sandbox.show("for ((i = 0; i < 150; i++)); do /bin/true; done; sleep 1000", wall_s=1.5)
    assert (shown.by_wall, shown.lost_time_known) == (True, False)
