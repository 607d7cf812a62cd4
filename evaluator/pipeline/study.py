"""A study held on a suite: participants' commands executed and judged as candidates' are, and what it came to.

Nothing that participants type goes into the project's store: a study has one of its own, which is gone with it.
All judging happens in one thread, because a grader and its store belong to the thread that made them.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import InfraError, UsageError
from evaluator.judges import find_judge
from evaluator.metrics.human_time import READING_S, TOKEN_S, reference_tokens
from evaluator.pipeline.bench import Bench
from evaluator.pipeline.grading import Grader
from evaluator.pipeline.keys import Subject
from evaluator.pipeline.project import Project
from evaluator.printable import printable
from evaluator.progress import Progress, Silence
from evaluator.records import Evidence, Finding, Measurement, Outcome, Task, Timing
from evaluator.store import Store
from evaluator.study.fit import Fit, fitted, line, task_times
from evaluator.study.ledger import Ledger, read_measurements
from evaluator.study.server import study_server
from evaluator.study.sitting import Shown, Study
from evaluator.suites.load import SINCE_FORMAT, Suite
from evaluator.writing import write_whole

MOST_SHOWN: Final = 20_000
"""Characters of what a command printed that a participant is shown."""
_VERDICTS: Final = {
    Outcome.PASS: "done: this does what was asked",
    Outcome.FAIL: "not done: this does not do what was asked, here or with other files of the same kind",
    Outcome.TIMEOUT: "ended: this took too long",
    Outcome.INVALID: "not run: the shell does not read this",
    Outcome.UNDECIDED: "not counted: the judge cannot tell whether this does what was asked; try another way",
}


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """How a study is held: which tasks (all where none is named), how many of them each, where, into which file."""

    out: Path
    tasks: tuple[str, ...] = ()
    measured: int = 20
    seed: int = 0
    host: str = "127.0.0.1"
    port: int = 0


@contextlib.contextmanager
def served_study(project: Project, suite: Suite, plan: StudyPlan, progress: Progress) -> Iterator[str]:
    """Hold a study while the block runs; the address of its page. Executes the tasks' references first.

    Raises UsageError where address, port or file are not to be had.
    """
    _refuse_wildcard(plan.host)
    tasks = [suite.task(name) for name in dict.fromkeys(plan.tasks)] or list(suite.tasks)
    with contextlib.ExitStack() as stack:
        ledger = stack.enter_context(contextlib.closing(Ledger(plan.out)))
        examiner = stack.enter_context(examining(project, suite, tasks, progress))
        study = Study(
            suite.manifest.name,
            suite.manifest.version,
            tasks,
            examiner,
            ledger.append,
            time.monotonic,
            measured=plan.measured,
            seed=plan.seed,
            places=lambda task: _place(suite, task),
        )
        try:
            address = stack.enter_context(study_server(study, plan.host, plan.port))
        except OSError as error:
            where = f"{plan.host}, port {plan.port}"
            raise UsageError(f"{where}: not to be had ({error}); name others with --host and --port") from error
        yield address


def _refuse_wildcard(host: str) -> None:
    """A browser names the address it asks, and only literal ones are answered: so it must be known which."""
    try:
        if host == "localhost" or not ipaddress.IPv4Address(host).is_unspecified:
            return
    except ValueError:
        pass
    raise UsageError(f"--host {host}: expected one IPv4 address of this machine, such as 127.0.0.1 or 192.0.2.7")


def _place(suite: Suite, task: Task) -> str:
    world = suite.worlds[task.world].manifest
    return f"{world.user or suite.manifest.user}:{world.cwd or suite.manifest.cwd}"


class GraderExaminer:
    """Judges by a grader, in one thread; whoever asks meanwhile waits."""

    def __init__(self, grader: Grader, thread: ThreadPoolExecutor) -> None:
        self._grader, self._thread = grader, thread

    def examine(self, task: str, command: bytes) -> Shown:
        """What a command comes to, and what it printed in the first variant. Raises InfraError."""
        return self._thread.submit(self._examine, Subject(task, command)).result()

    def _examine(self, subject: Subject) -> Shown:
        finding = self._grader.grade([subject])[subject]
        if finding.outcome is Outcome.INFRA_ERROR:
            raise InfraError(finding.reason)
        self._grader.gather([subject])
        trials = self._grader.trials(subject.task, subject.command or b"")
        first = next(iter(trials.values()), None)
        return Shown(finding.outcome is Outcome.PASS, _verdict(finding), printed(first.first) if first else "")


def _verdict(finding: Finding) -> str:
    return _VERDICTS.get(finding.outcome, finding.outcome.value)


def printed(evidence: Evidence) -> str:
    """Both streams and a status other than 0 as text that is plainly visible, cut where it is long."""
    text = b"".join(
        stream.data if not stream.data or stream.data.endswith(b"\n") else stream.data + b"\n"
        for stream in (evidence.stdout, evidence.stderr)
    ).decode(errors="replace")
    cut = text[:MOST_SHOWN]
    shown = "\n".join(printable(row.replace("\t", "        ")) for row in cut.split("\n")).rstrip("\n")
    notes = ["… (more was printed)"] if len(text) > len(cut) or evidence.stdout.truncated else []
    notes += [f"(exit status {evidence.status})"] if evidence.status else []
    return "\n".join([*([shown] if shown else []), *notes])


@contextlib.contextmanager
def examining(project: Project, suite: Suite, tasks: Sequence[Task], progress: Progress) -> Iterator[GraderExaminer]:
    """An examiner of these tasks; their references are executed before the block runs."""
    folder = project.store_path.parent
    folder.mkdir(exist_ok=True)
    _sweep(folder)
    path = folder / f"study-{os.getpid()}.sqlite"
    with ThreadPoolExecutor(1, "study") as thread, contextlib.ExitStack() as stack:

        def opened() -> Grader:
            store = stack.enter_context(contextlib.closing(Store(path)))
            bench = Bench(suite, store, progress)
            bench.clear_up()
            stack.callback(bench.close)
            judge = find_judge(project.settings.judge)
            grader = Grader(suite, judge, store, bench.fingerprint(), bench.execute, progress)
            grader.gather([Subject(task.id, None) for task in tasks])
            grader.progress = Silence()
            return grader

        try:
            yield GraderExaminer(thread.submit(opened).result(), thread)
        finally:
            thread.submit(stack.close).result()
            _forget(path)


def _sweep(folder: Path) -> None:
    """Remove the stores of studies that were killed."""
    for path in folder.glob("study-*.sqlite"):
        number = path.stem.removeprefix("study-")
        if number.isdecimal() and not Path("/proc", number).exists():
            _forget(path)


def _forget(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def fit_study(suite: Suite, files: Sequence[Path]) -> Fit:
    """What the measurements in these files say of a suite's tasks as they are now. Raises FormatError."""
    tasks = {task.id: task for task in suite.tasks}
    counted, left_out = [], Counter[str]()
    measured = read_measurements(files)
    for each in measured:
        why = _unfit(each, suite, tasks.get(each.task))
        left_out.update([why] if why else [])
        counted += [] if why else [each]
    times = task_times(counted, {name: reference_tokens(task) for name, task in tasks.items()})
    square, robust = fitted(times)
    return Fit(
        participants=len({each.participant for each in counted}),
        n=len(times),
        least_squares=square,
        theil_sen=robust,
        present=line(READING_S, TOKEN_S, times) if times else None,
        left_out=dict(sorted(left_out.items())),
        tasks=times,
    )


def _unfit(measurement: Measurement, suite: Suite, task: Task | None) -> str | None:
    """Why a measurement tells nothing of a suite's tasks."""
    if measurement.suite != suite.manifest.name:
        return f"of suite {measurement.suite}"
    if task is None:
        return "of a task that the suite has no more"
    if not task.is_asked_of(measurement.version):
        return "of a task's earlier wording"
    return None


def write_timings(suite: Suite, fit: Fit) -> list[Path]:
    """Write the measured medians into the suite's tasks as empirical timings; the files that changed.

    Other lines keep their bytes. A suite of an older format is raised to the one that has `measurements`.
    """
    times = {
        each.task: Timing(human_s=each.median_s, provenance="empirical", measurements=each.measurements)
        for each in fit.tasks
    }
    changed = []
    for path in sorted((suite.folder / "tasks").glob("*.jsonl")):
        before = path.read_bytes()
        after = b"".join(_timed(row, times) for row in before.splitlines(keepends=True))
        if after != before:
            write_whole(path, after)
            changed.append(path)
    if changed and suite.manifest.format < SINCE_FORMAT:
        manifest = suite.folder / "suite.toml"
        raised = re.sub(rb"(?m)^format *= *\d+", b"format = %d" % SINCE_FORMAT, manifest.read_bytes(), count=1)
        write_whole(manifest, raised)
        changed.append(manifest)
    return changed


def _timed(row: bytes, times: dict[str, Timing]) -> bytes:
    value = json.loads(row)
    if value["id"] not in times:
        return row
    value["timing"] = times[value["id"]].model_dump(mode="json")
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
