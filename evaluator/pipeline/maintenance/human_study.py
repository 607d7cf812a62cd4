"""A study held on a suite: participants' commands are executed and judged as candidates' are.

Nothing that participants type goes into the project's store: a study has one of its own, which is gone with it.
All judging happens in one thread, because a grader and its store belong to the thread that made them.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import InfraError, UsageError
from evaluator.escaping import printable
from evaluator.judges import find_judge
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import Executor
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress, Progress
from evaluator.records import Evidence, Finding, Outcome, Task
from evaluator.store import Store
from evaluator.study.ledger import Ledger
from evaluator.study.server import study_server
from evaluator.study.sitting import Shown, Study
from evaluator.suites.load import Suite

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
    """Judges by a grader, in one thread. Who asks while it is at work is judged next, together with all others."""

    def __init__(self, grader: Grader, thread: ThreadPoolExecutor) -> None:
        self._grader, self._thread = grader, thread
        self._waiting: list[tuple[GradingItem, Future[Shown]]] = []
        self._lock = threading.Lock()

    def examine(self, task: str, command: bytes) -> Shown:
        """What a command comes to, and what it printed in the first variant. Raises InfraError."""
        answer: Future[Shown] = Future()
        with self._lock:
            self._waiting.append((GradingItem(task, command), answer))
        self._thread.submit(self._examine_waiting)
        return answer.result()

    def _examine_waiting(self) -> None:
        """Judge all that wait at once, for most of a failing command's time is spent between its two runs."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        subjects = [subject for subject, _ in waiting]
        try:
            findings = self._grader.grade(subjects)
            self._grader.ensure_evidence(subjects)
            shown = [self._shown(subject, findings[subject]) for subject in subjects]
        except Exception as error:  # raised again where somebody waits for it
            for _, answer in waiting:
                answer.set_exception(error)
            return
        for (_, answer), each in zip(waiting, shown, strict=True):
            if isinstance(each, InfraError):
                answer.set_exception(each)
            else:
                answer.set_result(each)

    def _shown(self, subject: GradingItem, finding: Finding) -> Shown | InfraError:
        if finding.outcome is Outcome.INFRA_ERROR:
            return InfraError(finding.reason)
        trials = self._grader.trials(subject.task, subject.command or b"")
        first = next(iter(trials.values()), None)
        return Shown(finding.outcome is Outcome.PASS, _verdict(finding), printed(first.first) if first else "")


class _Beginning:
    """Tells how far the study's beginning is, and nothing of what participants have executed then."""

    def __init__(self, progress: Progress) -> None:
        self._listener = progress

    def say(self, text: str) -> None:
        self._listener.say(text)

    def stage(self, name: str, total: int) -> None:
        self._listener.stage(name, total)

    def advance(self) -> None:
        self._listener.advance()

    def note(self, text: str) -> None:
        self._listener.note(text)

    def end(self) -> None:
        self._listener = NullProgress()


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
            beginning = _Beginning(progress)
            executor = Executor(suite, store, beginning)
            executor.clear_up()
            stack.callback(executor.close)
            judge = find_judge(project.settings.judge)
            known_mutants = known_mutants_of(project, suite, store)
            grader = Grader(
                suite, judge, store, executor.fingerprint(), executor.execute, beginning, known_mutants=known_mutants
            )
            lend_references(project, grader, tasks)
            grader.ensure_evidence([GradingItem(task.id, None) for task in tasks])
            beginning.end()
            return grader

        try:
            yield GraderExaminer(thread.submit(opened).result(), thread)
        finally:
            thread.submit(stack.close).result()
            _forget(path)


def lend_references(project: Project, grader: Grader, tasks: Sequence[Task]) -> None:
    """Take what evidence of references the project has already: nothing of a study ever goes the other way."""
    if not project.store_path.is_file():
        return
    references = (grader.keys.command_runs(task.id, command) for task in tasks for command in task.references)
    keys = {key for runs in references for key in runs.evidence_keys}
    with contextlib.closing(Store(project.store_path)) as lender:
        for run, evidence in lender.evidence((key, run) for key in keys for run in (0, 1)).items():
            grader.store.add_evidence(run, evidence)


def _sweep(folder: Path) -> None:
    """Remove the stores of studies that were killed."""
    for path in folder.glob("study-*.sqlite"):
        number = path.stem.removeprefix("study-")
        if number.isdecimal() and not Path("/proc", number).exists():
            _forget(path)


def _forget(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
