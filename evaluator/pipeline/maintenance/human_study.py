"""Run a study of the time that people need for tasks. Participants' commands are executed and judged like candidates.

Participants' commands never enter the project's store. Each study has its own store, which is deleted when the study
ends. All judging happens in one thread, because a grader and its store belong to the thread that created them.
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
from evaluator.study.sitting import AttemptResult, Study
from evaluator.suites.load import Suite

MAX_SHOWN_CHARACTERS: Final = 20_000
"""Maximum number of characters of a command's output that a participant sees."""
_VERDICTS: Final = {
    Outcome.PASS: "done: the command does the task",
    Outcome.FAIL: "not done: the command does not do the task, here or with other files of the same kind",
    Outcome.TIMEOUT: "stopped: the command took too long",
    Outcome.INVALID: "not run: the shell cannot parse the command",
    Outcome.UNDECIDED: "not counted: the judge cannot decide whether the command does the task; try another way",
}


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The options of a study. If `tasks` is empty, all tasks are used. Each participant does `measured` tasks."""

    out: Path
    tasks: tuple[str, ...] = ()
    measured: int = 20
    seed: int = 0
    host: str = "127.0.0.1"
    port: int = 0


@contextlib.contextmanager
def serve_study(project: Project, suite: Suite, plan: StudyPlan, progress: Progress) -> Iterator[str]:
    """Execute the references of a study's tasks. Then serve the study during a `with` block, and yield its address.

    Raises UsageError if the address, the port or the output file is not available.
    """
    _check_host(plan.host)
    tasks = [suite.task(name) for name in dict.fromkeys(plan.tasks)] or list(suite.tasks)
    with contextlib.ExitStack() as stack:
        ledger = stack.enter_context(contextlib.closing(Ledger(plan.out)))
        examiner = stack.enter_context(open_examiner(project, suite, tasks, progress))
        study = Study(
            suite.manifest.name,
            suite.manifest.version,
            tasks,
            examiner,
            ledger.append,
            time.monotonic,
            measured=plan.measured,
            seed=plan.seed,
            places=lambda task: _prompt(suite, task),
        )
        try:
            address = stack.enter_context(study_server(study, plan.host, plan.port))
        except OSError as error:
            where = f"{plan.host}, port {plan.port}"
            raise UsageError(f"{where}: not available ({error}); choose others with --host and --port") from error
        yield address


def _check_host(host: str) -> None:
    """Raise UsageError if `host` is neither one literal IPv4 address nor localhost.

    The study's server only answers requests that use a numeric address or localhost, so a host name does not work.
    """
    try:
        if host == "localhost" or not ipaddress.IPv4Address(host).is_unspecified:
            return
    except ValueError:
        pass
    raise UsageError(f"--host {host}: expected one IPv4 address of this machine, such as 127.0.0.1 or 192.0.2.7")


def _prompt(suite: Suite, task: Task) -> str:
    world = suite.worlds[task.world].manifest
    return f"{world.user or suite.manifest.user}:{world.cwd or suite.manifest.cwd}"


class GraderExaminer:
    """Judges participants' commands in one thread. Commands that arrive during a judgement are judged next."""

    def __init__(self, grader: Grader, thread: ThreadPoolExecutor) -> None:
        self._grader, self._thread = grader, thread
        self._pending: list[tuple[GradingItem, Future[AttemptResult]]] = []
        self._lock = threading.Lock()

    def examine(self, task: str, command: bytes) -> AttemptResult:
        """Return a command's verdict and its output in the first variant. Raises InfraError if the execution fails."""
        future: Future[AttemptResult] = Future()
        with self._lock:
            self._pending.append((GradingItem(task, command), future))
        self._thread.submit(self._examine_pending)
        return future.result()

    def _examine_pending(self) -> None:
        """Judge all waiting commands together.

        This saves time, because failing commands share one pause between runs.
        """
        with self._lock:
            pending, self._pending = self._pending, []
        items = [item for item, _ in pending]
        try:
            findings = self._grader.grade(items)
            self._grader.ensure_cases(items)
            results = [self._result(item, findings[item]) for item in items]
        except Exception as error:  # raised again in the threads that wait for a result
            for _, future in pending:
                future.set_exception(error)
            return
        for (_, future), result in zip(pending, results, strict=True):
            if isinstance(result, InfraError):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _result(self, item: GradingItem, finding: Finding) -> AttemptResult | InfraError:
        if finding.outcome is Outcome.INFRA_ERROR:
            return InfraError(finding.reason)
        trials = self._grader.trials(item.task, item.command or b"")
        first = next(iter(trials.values()), None)
        verdict = _VERDICTS.get(finding.outcome, finding.outcome.value)
        return AttemptResult(finding.outcome is Outcome.PASS, verdict, visible_output(first.first) if first else "")


class _StartupProgress:
    """Reports progress only until a study begins, so that the commands of participants are never shown."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def say(self, text: str) -> None:
        self._progress.say(text)

    def stage(self, name: str, total: int) -> None:
        self._progress.stage(name, total)

    def advance(self) -> None:
        self._progress.advance()

    def note(self, text: str) -> None:
        self._progress.note(text)

    def end(self) -> None:
        self._progress = NullProgress()


def visible_output(evidence: Evidence) -> str:
    """Return a command's output and error output as printable, shortened text. Add an exit status other than 0."""
    text = b"".join(
        stream.data if not stream.data or stream.data.endswith(b"\n") else stream.data + b"\n"
        for stream in (evidence.stdout, evidence.stderr)
    ).decode(errors="replace")
    shown_text = text[:MAX_SHOWN_CHARACTERS]
    visible = "\n".join(printable(row.replace("\t", "        ")) for row in shown_text.split("\n")).rstrip("\n")
    notes = ["… (more was printed)"] if len(text) > len(shown_text) or evidence.stdout.truncated else []
    notes += [f"(exit status {evidence.status})"] if evidence.status else []
    return "\n".join([*([visible] if visible else []), *notes])


@contextlib.contextmanager
def open_examiner(
    project: Project, suite: Suite, tasks: Sequence[Task], progress: Progress
) -> Iterator[GraderExaminer]:
    """Execute the references of these tasks, and yield an examiner that judges commands for these tasks."""
    folder = project.store_path.parent
    folder.mkdir(exist_ok=True)
    _delete_abandoned_stores(folder)
    path = folder / f"study-{os.getpid()}.sqlite"
    with ThreadPoolExecutor(1, "study") as thread, contextlib.ExitStack() as stack:

        def open_study_grader() -> Grader:
            store = stack.enter_context(contextlib.closing(Store(path)))
            startup = _StartupProgress(progress)
            executor = Executor(suite, store, startup)
            executor.clear_up()
            stack.callback(executor.close)
            judge = find_judge(project.settings.judge)
            known_mutants = known_mutants_of(project, suite, store)
            grader = Grader(
                suite, judge, store, executor.fingerprint(), executor.execute, startup, known_mutants=known_mutants
            )
            copy_reference_evidence(project, grader, tasks)
            grader.ensure_evidence([GradingItem(task.id, None) for task in tasks])
            startup.end()
            return grader

        try:
            yield GraderExaminer(thread.submit(open_study_grader).result(), thread)
        finally:
            thread.submit(stack.close).result()
            _delete_store(path)


def copy_reference_evidence(project: Project, grader: Grader, tasks: Sequence[Task]) -> None:
    """Copy the evidence of these tasks' references from the project's store to the store of the study's grader."""
    if not project.store_path.is_file():
        return
    references = (grader.keys.command_runs(task.id, command) for task in tasks for command in task.references)
    keys = {key for runs in references for key in runs.evidence_keys}
    with contextlib.closing(Store(project.store_path)) as store:
        for run, evidence in store.evidence((key, run) for key in keys for run in (0, 1)).items():
            grader.store.add_evidence(run, evidence)


def _delete_abandoned_stores(folder: Path) -> None:
    """Remove the stores of studies whose processes were killed."""
    for path in folder.glob("study-*.sqlite"):
        number = path.stem.removeprefix("study-")
        if number.isdecimal() and not Path("/proc", number).exists():
            _delete_store(path)


def _delete_store(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
