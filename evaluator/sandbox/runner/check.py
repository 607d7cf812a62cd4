"""The runner's check of the jail, which restricts the commands that the runner executes.

A missing restriction causes no error by itself. So a probe job tries forbidden operations before the worker accepts any
command. The probe job tests every restriction, and the host refuses the worker if a test fails.
"""

from __future__ import annotations

from pathlib import Path

from evaluator.sandbox.runner.job import Jail, JailEntry
from evaluator.sandbox.runner.layers import BASE, make_scratch
from evaluator.sandbox.runner.protocol import RunnerSettings

ALLOWED_CAPABILITIES = "00000000000000fb"
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID."""

PROBE_CPU_S = 30.0
"""The limit of the probe job. It is not the suite's, because a slow machine must not look like a weak jail."""

_PROBE = b"""
echo "clock $EPOCHSECONDS"
while read -r name value; do
  case $name in CapEff:|CapPrm:|CapBnd:|CapAmb:|CapInh:|NoNewPrivs:|Seccomp:) echo "${name%:} $value" ;; esac
done <<< "$(< /proc/self/status)"
mount -t tmpfs none /mnt 2>/dev/null && echo "mount 1" || echo "mount 0"
unshare --user true 2>/dev/null && echo "unshare 1" || echo "unshare 0"
(echo x > /proc/sys/kernel/domainname) 2>/dev/null && echo "sysctl 1" || echo "sysctl 0"
(echo x > /proc/uptime) 2>/dev/null && echo "figures 1" || echo "figures 0"
chroot / true 2>/dev/null && echo "chroot 1" || echo "chroot 0"
mknod /dev/probe c 1 3 2>/dev/null && echo "mknod 1" || echo "mknod 0"
ulimit -c 0
while read -r line; do
  case $line in "Max core file size"*) set -- $line; echo "core $5 $6" ;; esac
done <<< "$(< /proc/self/limits)"
echo "disks" /proc/fs/*
echo "pid $$"
echo "command ${#BASH_EXECUTION_STRING}"
"""


def check_jail(settings: RunnerSettings, jail: Jail, directory: Path) -> dict[str, str]:
    """Check the jail, and return a mapping from each check's name to the problem that the check found.

    The problem is an empty text if the check passed. Raises BrokenError if the probe job cannot run.
    """
    scratch = make_scratch(directory / "check", settings.clock_s)
    devices = str(directory / "layers" / "devices")
    entry = JailEntry(f"{devices}:{BASE}", str(scratch))
    result = jail.run(entry, _PROBE, settings.environment, cpu_s=PROBE_CPU_S)
    actual = dict(line.split(" ", 1) for line in result.stdout.data.decode("utf-8", "replace").splitlines())
    expected = {
        "CapEff": ALLOWED_CAPABILITIES,
        "CapPrm": ALLOWED_CAPABILITIES,
        "CapBnd": ALLOWED_CAPABILITIES,
        "CapInh": "0" * 16,
        "CapAmb": "0" * 16,
        "NoNewPrivs": "1",
        "Seccomp": "2",
        "mount": "0",
        "unshare": "0",
        "sysctl": "0",
        "figures": "0",
        "chroot": "0",
        "mknod": "0",
        "core": "1 1",
        "disks": "/proc/fs/*",
        "pid": "2",
        "clock": _clock(actual.get("clock", ""), settings.clock_s, result.wall_ms),
        "command": str(len(_PROBE)),
    }
    stderr = result.stderr.data.decode("utf-8", "replace").strip()[:300]
    return {
        name: ""
        if actual.get(name) == value
        else f"expected {value}, found {actual.get(name, 'nothing')} {stderr}".strip()
        for name, value in expected.items()
    }


def _clock(found: str, clock_s: int, wall_ms: float) -> str:
    """Return the time that the probe job must show, which is `clock_s` plus the job's age in whole seconds.

    Each time that the clock showed during the `wall_ms` milliseconds of the job is right, because a slow machine needs
    more than a second to start bash.
    """
    age_s = int(found) - clock_s if found.isdecimal() else 0
    return found if 0 < age_s <= wall_ms / 1000 else str(clock_s)
