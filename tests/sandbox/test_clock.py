"""Tests of time and randomness in a job.

Time is the suite's clock in whole seconds, and random numbers are the same in every run.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from evaluator.errors import SandboxError
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.sandbox_harness import SandboxHarness, planned

pytestmark = pytest.mark.engine

NOW = 1_741_944_600
"""2025-03-14T09:30:00Z, the clock of the suite."""

TOLD = {
    "date": "Fri Mar 14 09:30:00 UTC 2025",
    "date +%s.%N": f"{NOW}.500000000",
    "date -u -Is": "2025-03-14T09:30:00+00:00",
    "date -d yesterday +%F": "2025-03-13",
    "date -d '+2 hours' +%T": "11:30:00",
    "echo $EPOCHSECONDS": f"{NOW}",
    "echo $EPOCHREALTIME": f"{NOW}.500000",
    "printf '%(%F %T)T\\n' -1": "2025-03-14 09:30:00",
    "echo $SECONDS": "0",
    "sleep 1; date +%T": "09:30:01",
    "sleep 1; echo $EPOCHSECONDS $SECONDS": f"{NOW + 1} 1",
    "perl -e 'print time, \"\\n\"'": f"{NOW}",
    "awk 'BEGIN { print systime(), strftime(\"%F\") }'": f"{NOW} 2025-03-14",
    "sudo -u tess date +%s": f"{NOW}",
    "env -i date +%s": f"{NOW}",
    "jq -n 'now | floor'": f"{NOW}",
    "timeout 0.2 sleep 5; echo $?": "124",
    "read -t 0.2 <> pipe; echo $?": "142",
    "timeout 5 sleep 0.1; echo $?": "0",
    "perl -e '$SIG{ALRM} = sub { print qq(woken\n); exit }; alarm 1; sleep 5'": "woken",
    "touch x; stat -c '%X %Y %Z %W' x": f"{NOW} {NOW} {NOW} {NOW}",
    "touch x; stat -c %y x": "2025-03-14 09:30:00.000000000 +0000",
    "touch x; ls -l x": "-rw-r--r-- 1 root root 0 Mar 14 09:30 x",
    "touch x; find . -newer /etc/debian_version -name x": "./x",
    "touch x; find . -mmin -1 -name x": "./x",
    "find /etc /usr -mmin -600 -type f | grep -v -e passwd -e group": "",
    "touch -d '4 days ago' x; find . -mtime +2": "./x",
    "touch -d 2001-02-03 x; stat -c %Y x; ls -l --time-style=+%F x | cut -d' ' -f6": "981158400\n2001-02-03",
    "touch -r tool x; stat -c %Y x": f"{NOW}",
    "cp -p tool x; stat -c %Y x": f"{NOW}",
    "touch x; tar cf x.tar x; tar tvf x.tar": "-rw-r--r-- root/root         0 2025-03-14 09:30 x",
    "touch x; date -r x +%s": f"{NOW}",
    "[ tool -nt /etc/debian_version ] && echo newer": "newer",
    "touch x; [ x -nt x ] || echo same": "same",
    "sleep 1; touch x; stat -c %Y x": f"{NOW + 1}",
    "touch x; sleep 1; stat -c %Y x": f"{NOW}",
    "stat -c '%y %z %w' file": " ".join(["2025-03-14 09:30:00.000000000 +0000"] * 3),
    "stat -c '%y %z %w' /bin/true": " ".join(["2025-03-13 09:30:00.000000000 +0000"] * 3),
    "find / -xdev -newermt 2025-03-14T09:30:01 2>/dev/null": "",
    "find / -xdev -newerct 2025-03-14T09:30:01 2>/dev/null": "",
    "uptime -p; cut -d. -f1 /proc/uptime": "up 16 minutes\n1000",
    "ps -o lstart= -p $$": "Fri Mar 14 09:30:00 2025",
    "who -b": "         system boot  2025-03-14 09:13",
    "{ time true; } 2>&1 | grep real": "real\t0m0.000s",
}


@pytest.mark.parametrize("command", TOLD)
def test_the_clock_is_the_suites(sandbox: SandboxHarness, command: str) -> None:
    """Every program and system call returns the suite's time, and a new file gets this time."""
    evidence = sandbox.run(command)
    assert (evidence.stdout.data.decode().rstrip("\n"), evidence.stderr.data) == (TOLD[command], b"")


CHANCE = [
    "echo $RANDOM $RANDOM; (echo $RANDOM)",
    "echo $SRANDOM $SRANDOM",
    "shuf -i 1-1000 | head -20",
    "sort -R /etc/passwd | head -3",
    "head -c 16 /dev/urandom | xxd; head -c 16 /dev/random | xxd",
    "cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id",
    "awk 'BEGIN { srand(); print rand() }'",
    "perl -e 'print rand(), join \",\", keys %ENV'",
    "cat /proc/self/maps | cut -d' ' -f1,2",
    "echo $$ $BASHPID; sh -c 'echo $$'; sleep 1 & echo $!; kill $!",
    "ls -U /etc /usr/bin; find / -xdev -maxdepth 2 -not -path '/proc/*'",
    "ls -i /etc | head -5",
    "ps -A -o pid,ppid,pgid,sid,user,lstart,args",
    "git --version; zip -q x.zip file; sha256sum x.zip; tar c full | sha256sum; gzip -c file | sha256sum",
    "cat /proc/{loadavg,meminfo,cpuinfo,stat,version,vmstat,cmdline,interrupts,mounts} | sha256sum",
    "free; vmstat; uptime",
    "top -bn1 | head -5",
    "w",
    "df; df -i; stat -f / | tail -2",
    "ls -la / /dev /proc/sys/kernel | head -60",
]


@pytest.mark.parametrize("command", CHANCE)
def test_chance_and_order_are_pinned(sandbox: SandboxHarness, command: str) -> None:
    """Random numbers, process numbers and the order of listings are the same in every run."""
    first, second = sandbox.run(command), sandbox.run(command)
    assert second.stdout.data == first.stdout.data
    assert first.stdout.data


SIGNAL_THE_JAIL = """
import os, pathlib, sys
children = lambda process: pathlib.Path(f"/proc/{process}/task/{process}/children").read_text()
os.kill(int(children(int(children(1)))), int(sys.argv[1]))
"""
"""A program for the container. It sends a signal to the jail program, which is the only child of the runner."""


@pytest.mark.parametrize("command", ["stat -c '%X %Y %Z %W' /", "find / -xdev -newermt 2025-03-14T09:30:01"])
def test_the_root_folder_shows_the_clock_on_a_slow_machine(engine: Engine, plan: WorkerPlan, command: str) -> None:
    """The runner makes the job's `/` before the job starts. The time between the two does not appear in the job."""

    def signal_jail(number: signal.Signals) -> None:
        sent = harness.worker.container.exec_run(["python3", "-c", SIGNAL_THE_JAIL, str(int(number))])
        assert sent.exit_code == 0, sent.output

    harness = SandboxHarness(engine, planned(plan, cpu_s=5.0))
    expected = harness.run(command).stdout.data
    signal_jail(signal.SIGSTOP)
    resume = threading.Timer(0.3, signal_jail, [signal.SIGCONT])
    resume.start()
    shown = harness.run(command)
    resume.join()
    harness.close()
    assert shown.wall_ms > 250  # the jail program was stopped
    assert shown.stdout.data == expected
    assert expected in (f"{NOW} {NOW} {NOW} {NOW}\n".encode(), b"")


def test_a_slow_start_does_not_look_like_a_weak_jail(engine: Engine, plan: WorkerPlan) -> None:
    """If bash starts after more than a second, the probe job shows a later time, and the jail holds."""
    environment = {**plan.manifest.environment, "BASH_ENV": "$(sleep 1.2)"}
    manifest = plan.manifest.model_copy(update={"environment": environment})
    harness = SandboxHarness(engine, replace(plan, manifest=manifest))
    assert int(harness.run("echo $EPOCHSECONDS").stdout.data) > NOW
    harness.close()


@pytest.mark.parametrize("hours", [-1, 1])
def test_another_clock_is_refused(engine: Engine, plan: WorkerPlan, hours: int) -> None:
    """If the clock of the image is not the suite's, no command is executed."""
    manifest = plan.manifest.model_copy(update={"clock": plan.manifest.clock + timedelta(hours=hours)})
    with pytest.raises(SandboxError, match=f"clock: expected {NOW + 3600 * hours}, found {NOW}"):
        ContainerWorker(engine, replace(plan, manifest=manifest))
