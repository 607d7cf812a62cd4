"""A suite's bench: its image, its workers and the grader that uses them, started only when needed.

The engine's client is imported with them: where nothing has changed, none of it is needed.

Execute one command by hand, exactly as scoring does, and keep nothing of it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evaluator.errors import EngineError, InfraError, MissingError, UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.adjudications import rulings_of
from evaluator.pipeline.grading.cache_keys import no_known_mutants, worlds_of_suite
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Evidence, Observation
from evaluator.sandbox.image_recipe import image_reference
from evaluator.sandbox.pool import PAUSES_S, Pool, WorkerTime, worker_count
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import Store
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.sandbox.container import ContainerWorker
    from evaluator.sandbox.engine import Engine
    from evaluator.sandbox.image import SuiteImage
    from evaluator.sandbox.worker import Worker


class BaseChangedError(InfraError):
    """The image was rebuilt with other packages than the keys at hand were made for."""


class Executor:
    """Executes a suite's requests. The first call finds the engine, the image and starts the workers."""

    def __init__(self, suite: Suite, store: Store, progress: Progress, workers: int | None = None) -> None:
        self._suite, self.store, self._progress = suite, store, progress
        self._size = workers or worker_count()
        self._notes = store.path.parent / "workers"
        self._stack = contextlib.ExitStack()
        self._pool: Pool | None = None
        self._engine: Engine | None = None

    @property
    def workers(self) -> int:
        """How many workers it has once it has any."""
        return self._size

    @property
    def worker_time(self) -> WorkerTime:
        """Where the workers' time went so far."""
        return self._pool.worker_time if self._pool else WorkerTime()

    def clear_up(self) -> None:
        """Remove what runs of this checkout left in the engine when they were killed, which their notes tell."""
        if self._notes.is_dir() and any(self._notes.iterdir()):
            from evaluator.sandbox.leftovers import clear_up

            clear_up(self._notes)

    def close(self) -> None:
        """Take the workers down."""
        self._stack.close()

    def fingerprint(self) -> str:
        """The image's fingerprint: remembered from when it was last seen, so that no engine need be asked."""
        known = self.store.fingerprint(image_reference(self._suite.manifest))
        return known or self.find_image().fingerprint

    def is_known(self) -> bool:
        """Whether the image's fingerprint is remembered."""
        return self.store.fingerprint(image_reference(self._suite.manifest)) is not None

    def find_image(self) -> SuiteImage:
        """The suite's image, built where it is not there, and its fingerprint remembered."""
        from evaluator.sandbox.engine import find_engine
        from evaluator.sandbox.image import ensure_image

        self._engine = find_engine(os.environ)
        image = ensure_image(self._engine, self._suite.manifest, self._progress.say)
        self.store.set_fingerprint(image.reference, image.fingerprint)
        return image

    def execute(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        """Answers in the order they are ready. Raises MissingError where this machine has no engine."""
        return self._ensure_pool().execute(requests)

    def _ensure_pool(self) -> Pool:
        if self._pool is None:
            known = self.store.fingerprint(image_reference(self._suite.manifest))
            image = self.find_image()
            if known not in (None, image.fingerprint):
                raise BaseChangedError("the sandbox image was rebuilt with other package versions; run the same again")
            if self._engine is None:
                raise InfraError("no engine was found")
            self._pool = self._open_pool(self._engine, image)
        return self._pool

    def _open_pool(self, engine: Engine, image: SuiteImage) -> Pool:
        from evaluator.sandbox.container import ContainerWorker, WorkerPlan
        from evaluator.sandbox.leftovers import remove_leftovers, worker_group

        remove_leftovers(engine)
        cpus = sorted(os.sched_getaffinity(0))
        name = self._stack.enter_context(worker_group(engine, self._notes))

        def start(place: int) -> ContainerWorker:
            if ready and place == 0:
                return ready.pop()
            return ContainerWorker(engine, WorkerPlan(image, self._suite.manifest, cpus[place % len(cpus)], name))

        # the first is started here: what keeps every worker from starting is told once, not for every request
        ready: list[ContainerWorker] = []
        self._stack.callback(_close_all, ready)
        ready.append(_patiently(lambda: start(0)))
        return self._stack.enter_context(Pool(start, self._size, self._suite.manifest.limits.wall_s))


def _patiently(start: Callable[[], ContainerWorker]) -> ContainerWorker:
    """A worker, from an engine that may be about to come back. What its runner says against starting is final."""
    for pause in PAUSES_S:
        try:
            return start()
        except EngineError:
            time.sleep(pause)
    return start()


def _close_all(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.close()


def _refusal(suite: Suite, judge: str | None) -> MissingError:
    """Why nothing can be shown, and the line to type."""
    options = ["", f"--suite {suite.manifest.name}", *([f"--judge {judge}"] if judge else [])]
    return MissingError(f"evidence is missing; make it with: bashboard score{' '.join(options)}")


@contextlib.contextmanager
def open_executor(
    project: Project, suite: Suite, progress: Progress, *, workers: int | None = None
) -> Iterator[Executor]:
    """A suite's bench over the project's store; its workers are gone afterwards."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: expected 1 or more")
    store = Store(project.store_path)
    executor = Executor(suite, store, progress, workers)
    try:
        executor.clear_up()
        yield executor
    finally:
        executor.close()
        store.close()


@contextlib.contextmanager
def open_grader(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    judge: str | None = None,
    workers: int | None = None,
    execute: bool = True,
    adjudicated: bool = True,
) -> Iterator[Grader]:
    """A grader of one suite with the project's store and judge; its workers are gone afterwards.

    With `execute` false it raises MissingError where evidence would have to be made. With `adjudicated` false no
    ruling of a maintainer outranks the judge, and no slip is doubted: for whoever asks what the worlds tell.
    """
    named = find_judge(judge or project.settings.judge)

    def refuse(requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        raise _refusal(suite, judge)

    with open_executor(project, suite, progress, workers=workers) as executor:
        if not execute and not executor.is_known():  # its keys cannot be told, and an image is not built for that
            raise _refusal(suite, judge)
        rulings = rulings_of(project, suite) if adjudicated else {}
        known_mutants = known_mutants_of(project, suite, executor.store) if adjudicated else no_known_mutants
        run = executor.execute if execute else refuse
        yield Grader(
            suite,
            named,
            executor.store,
            executor.fingerprint(),
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
    """Evidence of `command` in the variants named (the first where none is), by variant.

    Raises UsageError for a NUL byte or an unknown world or variant, InfraError where there is no evidence.
    """
    if b"\0" in command:
        raise UsageError("the command holds a NUL byte, which no shell can be given")
    loaded = project.suite(suite)
    if world not in loaded.worlds:
        raise UsageError(f"suite {suite} has no world {world!r}; there are: {', '.join(loaded.worlds)}")
    worlds = worlds_of_suite(loaded, world, setup)
    unknown = [name for name in variants if name not in worlds]
    if unknown:
        raise UsageError(f"world {world} has no variant {unknown[0]!r}; there are: {', '.join(worlds)}")
    asked = frozenset(each.value for each in observe)
    requests = {name: Request.of(worlds[name], command, observe=asked) for name in variants or list(worlds)[:1]}
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
