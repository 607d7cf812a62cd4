"""The runner's main loop. It reads the settings, worlds and jobs, and writes one line of evidence for each job."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.sandbox.runner import PROTOCOL, kernel
from evaluator.sandbox.runner.answers import MAX_MESSAGE, change_lines, write_answer
from evaluator.sandbox.runner.census import Census, ContainerUsage
from evaluator.sandbox.runner.check import check_jail
from evaluator.sandbox.runner.fs_changes import Reader
from evaluator.sandbox.runner.inode_numbers import InodeNumbers
from evaluator.sandbox.runner.job import BrokenError, Jail, RunResult
from evaluator.sandbox.runner.layers import RUN, TICK_S, Layers, Stack, make_scratch
from evaluator.sandbox.runner.machine_files import MachineFiles
from evaluator.sandbox.runner.protocol import ASLEEP, RunnerSettings, SandboxJob, World, bytes_of, json_of
from evaluator.sandbox.runner.reading_budget import MAX_LINE, READ_FACTOR, ReadingBudget, UnfinishedJobError, line_of
from evaluator.sandbox.runner.shell_state import read_state

SCRATCH, VERIFY = RUN / "job", RUN / "verify"
REFUSED = 1
"""The verifier's status if the command left a world in which the verifier cannot start."""

UNUSABLE_WORLD = b"the verifier cannot start in the world that the command left"

_FRAME = 4096
"""The bytes of a line of evidence that are kept for its other fields."""

KEPT_MOUNTS = frozenset({"/", "/proc", "/dev", str(RUN)})


class Runner:
    """The executor of jobs (one command each). Each job gets a new temporary file system.

    After each job, the runner looks for leftovers of the job in the container.
    """

    def __init__(
        self, settings: RunnerSettings, counters: kernel.Counters, usage: ContainerUsage, machine: MachineFiles
    ) -> None:
        self.settings = settings
        network, users = kernel.Network(), kernel.user_namespace()
        self.has_own_users = users is not None
        self.jail = Jail(settings, counters, network, users, lambda asleep: send({ASLEEP: asleep}))
        self.numbers = InodeNumbers(machine)
        self.layers = Layers(settings, self.jail, self.numbers)
        self.checks = check_jail(settings, self.jail, RUN)
        self._mounted: set[Path] = set()
        self._disk: Path | None = None
        self.jail.prepare()
        self.census = Census(network, usage)
        self._clearing_s = 0.0

    def _mount_disk(self, directory: Path) -> Path:
        """Mount an empty file system at `directory`. The suite sets the size of this file system.

        Return a path on this file system for a job's scratch directory.
        """
        options = f"size={self.settings.disk_mb}m,nr_inodes={self.settings.inodes},mode=700"
        kernel.mount("tmpfs", str(directory), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
        self._mounted.add(directory)
        return directory / "run"

    def _unmount_disks(self) -> None:
        while self._mounted:
            kernel.unmount(str(self._mounted.pop()))
        self._disk = None

    def clear(self) -> str:
        """Remove the files of the last job and prepare the next job.

        Return the names of resources that the last job still holds, or an empty text if it holds none.
        """
        started = time.perf_counter()
        self._unmount_disks()
        left = self.census.settle()
        if not left:
            self.jail.prepare()
            self._disk = self._mount_disk(SCRATCH)
        self._clearing_s = time.perf_counter() - started
        return left

    def _stack(self, layer: str) -> Stack:
        """Return the file-system layers of the world with the name `layer`. Build the world first if necessary.

        After a build, record the container's state again, so that the new layers do not count as leftovers of a job.
        """
        known = self.layers.built
        stack = self.layers.stack(layer)
        if self.layers.built != known:
            self._unmount_disks()
            self.jail.prepare()
            self.census.take_base()
            self.layers.wait_until_old()
        self.numbers.select(stack.lower, stack.clock_s)
        return stack

    def execute(self, job: SandboxJob) -> dict[str, Any]:
        """Execute one job. In a world with a start script, its evidence always lists the processes that are left.

        Return the job's evidence as JSON, the milliseconds of its phases, whether the command or the verifier exceeded
        the wall-clock limit, and whether the time that they lost to other programs is known.
        """
        stack = self._stack(job.layer)
        started = time.perf_counter()
        scratch = str(make_scratch(self._disk or self._mount_disk(SCRATCH), stack.clock_s))
        if job.answer is not None:
            stack = self._with_answer(stack, job.answer, job.command)
            time.sleep(TICK_S)  # so that the times of the new layer are before the job
        prepared = time.perf_counter()
        start_ns = time.time_ns()
        observe = job.observe | ({"processes"} if stack.start is not None else set())
        command = job.command if job.driver is None else job.driver
        result = self.jail.run(stack.entry(scratch), command, stack.environment, observe, wall_s=job.wall_s)
        runs = [result]
        ended = time.perf_counter()
        evidence = self._evidence(result, observe)
        budget = ReadingBudget(
            bytes_left=READ_FACTOR * self.settings.disk_mb << 20,
            json_left=MAX_LINE - len(line_of(evidence)) - _FRAME,
        )
        evidence["changes"], evidence["changes_truncated"] = Reader(
            upper=f"{scratch}/upper",
            view=stack.view,
            text_files=job.text_files,
            with_mtime="mtime" in job.observe,
            start_ns=start_ns,
            clock_s=stack.clock_s,
            budget=budget,
        ).read()
        evidence["changes"] = [change for change in evidence["changes"] if bytes_of(change["path"]) != job.answer]
        if job.verify is not None and evidence["ending"] == "exited":
            changes = change_lines(evidence["changes"], is_truncated=evidence["changes_truncated"])
            verified = self._verify(job.verify, stack, result, changes, start_ns, job.wall_s)
            if verified is None:
                evidence["verifier"], message = REFUSED, UNUSABLE_WORLD
            else:
                runs.append(verified)
                evidence["verifier"], message = verified.status, verified.stderr.data
            evidence["verifier_message"] = json_of(message[:MAX_MESSAGE])
        phases = {
            "clearing up before": self._clearing_s * 1000,
            "scratch": (prepared - started) * 1000,
            "jail until bash": result.setup_ms,
            "command": result.command_ms,
            "start and end of jail": (ended - prepared) * 1000 - result.setup_ms - result.command_ms,
            "reading": (time.perf_counter() - ended) * 1000,
        }
        by_wall, known = any(run.by_wall for run in runs), all(run.is_lost_time_known for run in runs)
        return {"evidence": evidence, "by_wall": by_wall, "lost_time_known": known, "phases": phases}

    def _evidence(self, result: RunResult, observe: frozenset[str]) -> dict[str, Any]:
        disk = os.statvfs(SCRATCH)
        disk_full = not (disk.f_bavail and disk.f_favail)
        evidence: dict[str, Any] = {
            "ending": "disk" if result.ending == "exited" and disk_full else result.ending,
            "status": result.status,
            "stdout": result.stdout.record(),
            "stderr": result.stderr.record(),
            "cpu_ms": result.cpu_ms,
            "wall_ms": result.wall_ms,
        }
        if "shell" in observe:
            evidence["shell"] = read_state(result.state)
        if "processes" in observe:
            evidence["processes"] = result.processes or []
        return evidence

    def _with_answer(self, stack: Stack, path: bytes, command: bytes) -> Stack:
        """Return a copy of a world with the answer's script at `path`. The script belongs to the world's user."""
        owner = stack.uid, stack.gids[0]
        layer = write_answer(SCRATCH / "answer", stack.view, path, command, owner, stack.clock_s)
        return replace(stack, lower=(layer, *stack.lower))

    def _verify(
        self, script: bytes, stack: Stack, result: RunResult, changes: bytes, start_ns: int, wall_s: float | None
    ) -> RunResult | None:
        """Run the verifier, a script of the task, on the files that the command left.

        Return its result, or None if it cannot start in the world that the command left.

        The verifier's clock continues that of the command, which started at the real time `start_ns`.

        `/run/verify` holds the command's output streams, exit status and changes. The verifier writes to a separate
        file system, so that the verifier does not fail if the command filled the disk.
        """
        scratch = make_scratch(self._mount_disk(VERIFY), stack.clock_s)
        layer = VERIFY / "told"
        folder = layer / "run" / "verify"
        folder.mkdir(parents=True)
        (folder / "stdout").write_bytes(result.stdout.data)
        (folder / "stderr").write_bytes(result.stderr.data)
        (folder / "status").write_text(f"{result.status}\n")
        (folder / "changes").write_bytes(changes)
        entry = stack.entry(str(scratch), str(layer), f"{SCRATCH}/run/upper")
        try:
            with self.numbers.for_verifier():
                aged = replace(entry, age_ns=time.time_ns() - start_ns)
                return self.jail.run(aged, script, stack.environment, wall_s=wall_s)
        except BrokenError:
            # A command may delete bash or the working directory. The world as it was built must still start:
            # if it does not, the failure is ours and this raises again.
            kernel.unmount(str(VERIFY))
            empty = make_scratch(self._mount_disk(VERIFY), stack.clock_s)
            self.jail.run(stack.entry(str(empty)), b":", stack.environment)
            return None

    def answer(self, line: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to one line from the host: a job's evidence or error. A line with a world gets no reply."""
        if line["op"] == "world":
            self.layers.register(World.from_line(line))
            return None
        try:
            return self.execute(SandboxJob.from_line(line))
        except UnfinishedJobError as error:
            return {"overdue": str(error)}
        except Exception as error:  # the guard round a single job: our failure is reported, and the next job runs
            return {"error": f"{type(error).__name__}: {error}"}


def send(message: dict[str, Any]) -> None:
    """Write one message to the host, as a line of JSON on standard output."""
    sys.stdout.buffer.write(line_of(message) + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Read the suite's settings, check the jail's restrictions, and answer the host's lines until the input ends."""
    os.umask(0o022)
    settings = RunnerSettings(**json.loads(sys.stdin.readline()))
    counters, usage = kernel.Counters(), ContainerUsage(RUN)  # these open files that are not mounted later
    kernel.leave_mounts(KEPT_MOUNTS)
    for folder in (RUN / "layers", SCRATCH, VERIFY):
        folder.mkdir()
    machine = MachineFiles(RUN, settings.clock_s)
    runner = Runner(settings, counters, usage, machine)
    facts = {"unreadable": runner.census.unreadable, "own_users": runner.has_own_users}
    send({"protocol": PROTOCOL, "checks": runner.checks, **facts})
    left = ""
    for text in sys.stdin:
        if left:
            send({"retired": left})
            return
        reply = runner.answer(json.loads(text))
        if reply is not None:
            send(reply)
            left = reply.get("overdue") or runner.clear()


if __name__ == "__main__":
    main()
