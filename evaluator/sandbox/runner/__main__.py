"""The runner's loop: settings first, then worlds and jobs, a line of evidence for every job."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import IO, Any

from evaluator.sandbox.runner import PROTOCOL, kernel
from evaluator.sandbox.runner.check import check_jail
from evaluator.sandbox.runner.fs_changes import Reader
from evaluator.sandbox.runner.job import BrokenError, Ended, Jail
from evaluator.sandbox.runner.layers import RUN, Layers, Stack, make_scratch
from evaluator.sandbox.runner.proc_files import write_proc_files
from evaluator.sandbox.runner.protocol import RunnerSettings, SandboxJob, World
from evaluator.sandbox.runner.shell_state import read_state

SCRATCH, VERIFY = RUN / "job", RUN / "verify"
REFUSED = 1
"""What a verifier answers where a command left a world that nothing can be asked in."""

KEPT_MOUNTS = frozenset({"/", "/proc", "/dev", str(RUN)})


class Runner:
    """Executes jobs one at a time, each on a fresh temporary file system."""

    def __init__(self, settings: RunnerSettings, counters: kernel.Counters) -> None:
        self.settings = settings
        self.jail = Jail(settings, counters, kernel.Network())
        self.layers = Layers(settings, self.jail)
        self._mounted: set[Path] = set()

    def _fresh_scratch(self, directory: Path) -> Path:
        """An empty file system of the suite's size at `directory`, in place of the one before."""
        if directory in self._mounted:
            kernel.unmount(str(directory))
        directory.mkdir(exist_ok=True)
        options = f"size={self.settings.disk_mb}m,nr_inodes={self.settings.inodes},mode=700"
        kernel.mount("tmpfs", str(directory), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
        self._mounted.add(directory)
        return make_scratch(directory / "run")

    def execute(self, job: SandboxJob) -> dict[str, Any]:
        """One job's evidence, as the record has it, and whether the wall clock ended it."""
        stack = self.layers.stack(job.layer)
        began = time.perf_counter()
        scratch = str(self._fresh_scratch(SCRATCH))
        prepared = time.perf_counter()
        start_ns = time.time_ns()
        entry = stack.entry(scratch)
        ended = self.jail.run(entry, job.command, self.settings.environment, job.observe)
        finished = time.perf_counter()
        evidence = self._evidence(ended, job)
        evidence["changes"], evidence["changes_truncated"] = self._changes(f"{scratch}/upper", stack, job, start_ns)
        if job.verify is not None and evidence["ending"] == "exited":
            evidence["verifier"] = self._verify(job.verify, stack, ended)
        phases = {
            "scratch": (prepared - began) * 1000,
            "jail until bash": ended.setup_ms,
            "command": ended.command_ms,
            "start and end of jail": (finished - prepared) * 1000 - ended.setup_ms - ended.command_ms,
            "reading": (time.perf_counter() - finished) * 1000,
        }
        return {"evidence": evidence, "by_wall": ended.by_wall, "phases": phases}

    def _changes(self, upper: str, stack: Stack, job: SandboxJob, start_ns: int) -> tuple[list[dict[str, Any]], bool]:
        """What the upper directory holds against the layers below it, and whether there was more."""
        return Reader(
            upper=upper,
            view=stack.view,
            text_files=job.text_files,
            with_mtime="mtime" in job.observe,
            start_ns=start_ns,
            clock_s=self.settings.clock_s,
        ).read()

    def _evidence(self, ended: Ended, job: SandboxJob) -> dict[str, Any]:
        full = os.statvfs(SCRATCH)
        ending = "disk" if ended.ending == "exited" and not (full.f_bavail and full.f_favail) else ended.ending
        evidence: dict[str, Any] = {
            "ending": ending,
            "status": ended.status,
            "stdout": ended.stdout.record(),
            "stderr": ended.stderr.record(),
            "cpu_ms": ended.cpu_ms,
            "wall_ms": ended.wall_ms,
        }
        if "shell" in job.observe:
            evidence["shell"] = read_state(ended.state)
        if "processes" in job.observe:
            evidence["processes"] = ended.processes or []
        return evidence

    def _verify(self, script: bytes, stack: Stack, ended: Ended) -> int | None:
        """The verifier's exit status. It runs on top of what the command left; `/run/verify` tells the rest.

        Its own disk is a new one, so that a command which filled its disk does not make the verifier fail.
        """
        scratch = self._fresh_scratch(VERIFY)
        told = VERIFY / "told"
        folder = told / "run" / "verify"
        folder.mkdir(parents=True)
        (folder / "stdout").write_bytes(ended.stdout.kept)
        (folder / "stderr").write_bytes(ended.stderr.kept)
        (folder / "status").write_text(f"{ended.status}\n")
        entry = stack.entry(str(scratch), str(told), f"{SCRATCH}/run/upper")
        try:
            return self.jail.run(entry, script, self.settings.environment).status
        except BrokenError:
            # without bash, or its working directory, a world cannot be entered; as it was built it can, or we failed
            self.jail.run(stack.entry(str(self._fresh_scratch(VERIFY))), b":", self.settings.environment)
            return REFUSED

    def answer(self, line: dict[str, Any]) -> dict[str, Any] | None:
        """What is to be said to one line; None for a world, which is only noted."""
        if line["op"] == "world":
            self.layers.announce(World.from_line(line))
            return None
        try:
            return self.execute(SandboxJob.from_line(line))
        except Exception as error:  # the guard round a single job: our failure, said as such, and the next job runs
            return {"error": f"{type(error).__name__}: {error}"}


def say(out: IO[str], message: dict[str, Any]) -> None:
    """Write one line."""
    out.write(json.dumps(message, separators=(",", ":")) + "\n")
    out.flush()


def main() -> None:
    """Serve until the input ends."""
    os.umask(0o022)
    line = json.loads(sys.stdin.readline())
    settings = RunnerSettings(**line)
    counters = kernel.Counters()
    kernel.leave_mounts(KEPT_MOUNTS)
    write_proc_files(RUN, settings.clock_s)
    runner = Runner(settings, counters)
    say(sys.stdout, {"protocol": PROTOCOL, "checks": check_jail(settings, runner.jail, RUN)})
    for text in sys.stdin:
        reply = runner.answer(json.loads(text))
        if reply is not None:
            say(sys.stdout, reply)


if __name__ == "__main__":
    main()
