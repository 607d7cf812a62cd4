"""Execute a model's commands in a world that is not the task's, so that no answer leaks.

The scratch world has the machine of the task: the same base, user, working directory and hidden programs. In the
working directory are only a few files of this module, and nothing of the task.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from evaluator.errors import InfraError, UsageError
from evaluator.generation.answering import Effect, Execute, Place
from evaluator.pipeline.grading.executor import Executor, open_executor
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Evidence, WorldManifest
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.protocol import World
from evaluator.suites.load import Suite

NAME = "scratch"
_FILES = r"""
printf 'first line\nsecond line\nthird line\n' > notes.txt
printf 'name,count\nalpha,3\nbeta,12\n' > table.csv
mkdir -p folder/inner
printf 'inside\n' > 'folder/inner/two words.txt'
"""


@contextlib.contextmanager
def open_scratch(project: Project, suites: Sequence[Suite], progress: Progress) -> Iterator[Execute]:
    """Yield a function that executes a command for a task. One command runs at a time.

    The executors belong to one thread from their start to their end, because a store may be used in one thread only.
    """
    worlds = {
        (suite.manifest.name, task.id): scratch_world(suite, suite.worlds[task.world].manifest)
        for suite in suites
        for task in suite.tasks
    }
    executors: dict[str, Executor] = {}
    stack = contextlib.ExitStack()

    def start() -> None:
        for suite in suites:
            opened = open_executor(project, suite, progress, workers=1)
            executors[suite.manifest.name] = stack.enter_context(opened)

    async def execute(place: Place, command: str) -> Effect:
        executor = executors[place[0]]
        return await asyncio.get_running_loop().run_in_executor(thread, _execute, executor, worlds[place], command)

    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            thread.submit(start).result()
            yield execute
        finally:
            thread.submit(stack.close).result()


def scratch_world(suite: Suite, manifest: WorldManifest) -> World:
    """Return a world with the machine of another world, and nothing of its files."""
    cwd, user = manifest.cwd or suite.manifest.cwd, manifest.user or suite.manifest.user
    owner = shlex.quote(user)
    build = f"mkdir -p {shlex.quote(cwd)}\ncd {shlex.quote(cwd)}\n{_FILES}chown -R {owner} .\n"
    return World(
        layer="",
        name=NAME,
        variant=NAME,
        seed=1,
        build=build.encode(),
        start=None,
        setup=None,
        cwd=cwd,
        user=user,
        base=manifest.base,
        hidden=manifest.hidden,
    )


def _execute(executor: Executor, world: World, command: str) -> Effect:
    if "\0" in command:
        raise UsageError("a model's command has a NUL byte")
    ((_, result),) = executor.execute([Request.of(world, command.encode())])
    if isinstance(result, InfraError):
        raise result
    return _effect(result)


def _effect(evidence: Evidence) -> Effect:
    return Effect(evidence.status, evidence.stdout.data, evidence.stderr.data)
