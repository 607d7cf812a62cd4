"""Tests of time and randomness in a job.

Time is the suite's clock in whole seconds, and random numbers are the same in every run.
"""

from __future__ import annotations

import pytest

from tests.sandbox_harness import SandboxHarness

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
    "free; vmstat; uptime; top -bn1 | head -5; w",
    "df; df -i; stat -f / | tail -2",
    "ls -la / /dev /proc/sys/kernel | head -60",
]


@pytest.mark.parametrize("command", CHANCE)
def test_chance_and_order_are_pinned(sandbox: SandboxHarness, command: str) -> None:
    """Random numbers, process numbers and the order of listings are the same in every run."""
    first, second = sandbox.run(command), sandbox.run(command)
    assert second.stdout.data == first.stdout.data
    assert first.stdout.data
