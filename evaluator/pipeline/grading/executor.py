"""Execute the commands of a suite. The first request finds the container engine, builds the image and starts workers.

The engine's client library is also imported at the first request, so it is not loaded if there is nothing to execute.
`run_command` executes one command in the same way as scoring does, and stores nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evaluator.errors import EngineError, InfraError, MissingError, UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.adjudications import rulings_of
from evaluator.pipeline.grading.cache_keys import no_known_mutants, worlds_of_suite
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.grading.scheduler import Execute
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Evidence, Observation
from evaluator.sandbox.cores import MAX_IN_FLIGHT, MIN_IN_FLIGHT, jobs_in_flight
from evaluator.sandbox.image_recipe import image_reference
from evaluator.sandbox.pool import PAUSES_S, Pool, WorkerTime, core_count
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import Store, store_in_use
from evaluator.suites.load import Suite
from evaluator.wording import name_hint

if TYPE_CHECKING:
    from evaluator.sandbox.container import ContainerWorker
    from evaluator.sandbox.engine import Engine
    from evaluator.sandbox.image import SuiteImage
    from evaluator.sandbox.worker import Worker


UNKNOWN: Final = ""
"""The fingerprint of an image that was never built or loaded here. No evidence has a key with this fingerprint."""


class BaseChangedError(InfraError):
    """The error for a sandbox image that was rebuilt with other package versions.

    The cache keys were computed for the earlier image, so no evidence from the new image may be stored under these
    keys.
    """


class Executor:
    """Executes requested commands of one suite. The first request finds the engine and image, and starts workers.

    It uses `cores` CPUs, by default all CPUs of this process. `in_flight` is the number of jobs of one core that may
    have begun and not ended. All but one of them sleep. By default, the available memory decides.
    """

    def __init__(
        self,
        suite: Suite,
        store: Store,
        progress: Progress,
        cores: int | None = None,
        notes: Path | None = None,
        in_flight: int | None = None,
    ) -> None:
        self._suite, self.store, self._progress = suite, store, progress
        self.cores, self._in_flight = cores or core_count(), in_flight
        self._notes = notes or store.path.parent / "workers"
        self._stack = contextlib.ExitStack()
        self._pool: Pool | None = None
        self._engine: Engine | None = None

    @property
    def worker_time(self) -> WorkerTime:
        """Return the time that the workers have spent on jobs so far, and the time of waiting for answers."""
        return self._pool.worker_time if self._pool else WorkerTime()

    def clear_up(self) -> None:
        """Remove the remaining containers of killed processes. The folder `workers` lists these containers."""
        if self._notes.is_dir() and any(self._notes.iterdir()):
            from evaluator.sandbox.leftovers import clear_up

            clear_up(self._notes)

    def close(self) -> None:
        """Stop the workers. If commands were executed, report the share of the time in which a core was idle."""
        self._stack.close()

    def fingerprint(self) -> str:
        """Return the fingerprint of the suite's image. If the store has the fingerprint, no engine is needed."""
        known = self.store.fingerprint(image_reference(self._suite.manifest))
        return known or self.find_image().fingerprint

    def is_known(self) -> bool:
        """Return whether the store has the fingerprint of the suite's image."""
        return self.store.fingerprint(image_reference(self._suite.manifest)) is not None

    def find_image(self) -> SuiteImage:
        """Return the suite's image. Build it if it is missing, and store its fingerprint."""
        from evaluator.sandbox.engine import find_engine
        from evaluator.sandbox.image import ensure_image

        self._engine = find_engine(os.environ)
        image = ensure_image(self._engine, self._suite.manifest, self._progress.say)
        self.store.set_fingerprint(image.reference, image.fingerprint)
        return image

    def execute(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        """Execute requests, and yield results as they arrive. The store keeps the reason of each failure of ours.

        Raises MissingError if this machine has no engine.
        """
        with contextlib.closing(self._ensure_pool().execute(requests)) as results:
            for request, result in results:
                if isinstance(result, InfraError):
                    self.store.set_failure(request.run_key, str(result))
                yield request, result

    def _ensure_pool(self) -> Pool:
        if self._pool is None:
            self.store.require_writable()
            known = self.store.fingerprint(image_reference(self._suite.manifest))
            image = self.find_image()
            if known not in (None, image.fingerprint):
                raise BaseChangedError(
                    "the sandbox image was rebuilt with other package versions; run the command again"
                )
            if self._engine is None:
                raise InfraError("no engine was found")
            self._pool = self._open_pool(self._engine, image)
        return self._pool

    def _open_pool(self, engine: Engine, image: SuiteImage) -> Pool:
        from evaluator.sandbox.container import ContainerWorker, WorkerPlan, worker_memory_mb
        from evaluator.sandbox.leftovers import remove_leftovers, worker_group

        remove_leftovers(engine)
        cpus = sorted(os.sched_getaffinity(0))
        name = self._stack.enter_context(worker_group(engine, self._notes))

        def start(slot: int) -> ContainerWorker:
            if ready and slot == 0:
                return ready.pop()
            core = cpus[slot % self.cores % len(cpus)]
            return ContainerWorker(engine, WorkerPlan(image, self._suite.manifest, core, name))

        # the first worker starts here, so that an error of every start is reported once and not for every request
        ready: list[ContainerWorker] = []
        self._stack.callback(_close_all, ready)
        ready.append(_start_with_pauses(lambda: start(0)))
        wall_s = self._suite.manifest.limits.wall_s
        worker_mb = worker_memory_mb(self._suite.manifest)
        memory_mb = available_memory_mb(Path("/proc/meminfo").read_text())
        in_flight = self._in_flight or jobs_in_flight(memory_mb, self.cores, worker_mb)
        formula = f"{memory_mb:,} MB of memory / ({self.cores} cores x {worker_mb} MB)"
        pool = Pool(start, self.cores, wall_s, in_flight=in_flight)
        self._stack.callback(self._report_idle_time, pool, f"{in_flight} jobs a core at most, from {formula}")
        return self._stack.enter_context(pool)

    def _report_idle_time(self, pool: Pool, jobs: str) -> None:
        idle = pool.idle_time()
        bounds = f"at least {MIN_IN_FLIGHT} and at most {MAX_IN_FLIGHT}"
        self._progress.say(f"cores idle {100 * idle.share:.0f} % of {idle.of_s:.0f} s ({jobs}, {bounds})")


def available_memory_mb(meminfo: str) -> int:
    r"""Return the memory that new programs may use in MB, from the text of /proc/meminfo.

    >>> available_memory_mb("MemTotal:  4096000 kB\nMemAvailable:   2048000 kB\n")
    2000
    """
    fields = dict(line.split(":", 1) for line in meminfo.splitlines())
    return int(fields["MemAvailable"].split()[0]) // 1024


def _start_with_pauses(start: Callable[[], ContainerWorker]) -> ContainerWorker:
    """Start a worker. If the engine is unavailable, pause and try again. Other errors are raised immediately."""
    for pause in PAUSES_S:
        try:
            return start()
        except EngineError:
            time.sleep(pause)
    return start()


def _close_all(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.close()


def missing_evidence(suite: Suite, judge: str | None) -> MissingError:
    """Return the error for missing evidence if executions are forbidden. It names a command that gives the evidence."""
    options = ["", f"--suite {suite.manifest.name}", *([f"--judge {judge}"] if judge else [])]
    return MissingError(f"evidence is missing; produce it with: bashboard score{' '.join(options)}")


def _refuse(error: MissingError, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
    """Raise `error` at the first request."""
    raise error


def _fail_all(store: Store, absent: str, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
    """Yield a failure for each request: the run's latest failure in the store, or one with the reason `absent`."""
    failures = store.failures(request.run_key for request in requests)
    for request in requests:
        yield request, InfraError(failures.get(request.run_key, absent))


@contextlib.contextmanager
def open_executor(
    project: Project, suite: Suite, progress: Progress, *, workers: int | None = None, store_path: Path | None = None
) -> Iterator[Executor]:
    """Open the executor of a suite, by default with the project's store. Stop the workers at the end of the block.

    `workers` is the number of cores that execute commands. Sleeping jobs yield their cores to further containers.
    """
    path = store_path or project.store_path
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: expected 1 or more")
    with store_in_use(path), contextlib.closing(Store(path)) as store:
        notes = project.store_path.parent / "workers"
        executor = Executor(suite, store, progress, workers, notes)
        try:
            executor.clear_up()
            yield executor
        finally:
            executor.close()


@contextlib.contextmanager
def open_grader(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    judge: str | None = None,
    workers: int | None = None,
    execute: bool = True,
    absent: str | None = None,
    adjudicated: bool = True,
    store_path: Path | None = None,
) -> Iterator[Grader]:
    """Open a grader of one suite. Stop the grader's workers at the end of the `with` block.

    `judge` is by default the project's judge, and `store_path` the project's store. If `execute` is false, the grader
    raises MissingError for missing evidence. With `absent`, it executes nothing either, but each run without evidence
    fails: with the reason of its latest failure, or with the reason `absent`. If `adjudicated` is false, a verdict
    depends only on the judge and the evidence. Rulings of maintainers and known mutants (references with one small
    change) are then ignored.
    """
    named_judge = find_judge(judge or project.settings.judge)
    with open_executor(project, suite, progress, workers=workers, store_path=store_path) as executor:
        run: Execute
        if absent is not None:
            fingerprint = executor.fingerprint() if executor.is_known() else UNKNOWN
            run = partial(_fail_all, executor.store, absent)
        elif execute:
            fingerprint, run = executor.fingerprint(), executor.execute
        elif executor.is_known():
            fingerprint, run = executor.fingerprint(), partial(_refuse, missing_evidence(suite, judge))
        else:  # without the fingerprint there are no keys; do not build an image
            raise missing_evidence(suite, judge)
        rulings = rulings_of(project, suite) if adjudicated else {}
        known_mutants = known_mutants_of(project, suite, executor.store) if adjudicated else no_known_mutants
        yield Grader(
            suite,
            named_judge,
            executor.store,
            fingerprint,
            run,
            progress,
            rulings=rulings,
            known_mutants=known_mutants,
        )


def run_command(
    project: Project,
    progress: Progress,
    command: bytes,
    *,
    suite: str,
    world: str,
    variants: Sequence[str] = (),
    observe: Sequence[Observation] = (),
    setup: bytes | None = None,
) -> dict[str, Evidence]:
    """Execute a command in variants of a suite's world, and return the evidence by variant.

    If `variants` is empty, the command is executed only in the world's first variant. Raises UsageError for a NUL byte
    or an unknown world or variant, and InfraError if the execution gives no evidence.
    """
    if b"\0" in command:
        raise UsageError("the command has a NUL byte: a shell cannot be given one")
    loaded = project.suite(suite)
    if world not in loaded.worlds:
        hint = name_hint(world, loaded.worlds, f"fixtures/{suite}/worlds")
        raise UsageError(f"suite {suite} has no world {world!r}{hint}")
    worlds = worlds_of_suite(loaded, world, setup)
    unknown = [name for name in variants if name not in worlds]
    if unknown:
        hint = name_hint(unknown[0], worlds, f"fixtures/{suite}/worlds/{world}/world.toml")
        raise UsageError(f"world {world} has no variant {unknown[0]!r}{hint}")
    observed = frozenset(observation.value for observation in observe)
    requests = {name: Request.of(worlds[name], command, observe=observed) for name in variants or list(worlds)[:1]}
    with open_executor(project, loaded, progress, workers=min(2, len(requests))) as executor:
        progress.stage("executing", len(requests))
        results = {request.world.variant: result for request, result in executor.execute(list(requests.values()))}
    evidence: dict[str, Evidence] = {}
    for name in requests:
        result = results[name]
        if isinstance(result, InfraError):
            raise result
        evidence[name] = result
    return evidence
