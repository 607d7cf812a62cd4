"""Make the control `look-up`: answers that print stored outputs and write stored files, and compute nothing.

An answer recognises the variant of its world by the date, and prints what a reference prints there. In a variant that
it does not know, it does what is right in the known variant that is most like it. Such an answer passes every public
variant. So the control shows how much a submission gains that has learned the public tasks by heart. It must pass next
to nothing, because of the fresh variants.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from evaluator.errors import InfraError
from evaluator.pipeline.grading.cache_keys import worlds_of_suite
from evaluator.pipeline.grading.executor import Executor, open_executor
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Candidate, Evidence, Kind, Prediction, Task
from evaluator.sandbox.requests import Request
from evaluator.suites.load import Suite

MAX_BYTES: Final = 16_000
"""The size of an answer, in bytes, up to which a submission may hold it. A larger answer is left out."""


def look_up_answers(project: Project, progress: Progress, suite: Suite) -> list[Prediction]:
    """Execute each task's first reference in all variants, and return an answer that repeats what it did.

    Tasks with a driver are left out, because there the answer is a script that a driver calls.
    """
    tasks = [task for task in suite.tasks if task.driver is None]
    with open_executor(project, suite, progress) as executor:
        shown = _execute(executor, suite, {task.id: task.references[0] for task in tasks}, progress, "executing")
        captures = {task.id: _capture(task, shown[task.id]) for task in tasks}
        held = _execute(executor, suite, {name: text for name, text in captures.items() if text}, progress, "capturing")
    answers = ((task, _answer(suite, task, shown[task.id], held.get(task.id, {}))) for task in tasks)
    return [
        Prediction(task=task.id, candidates=(Candidate(command=answer),))
        for task, answer in answers
        if len(answer) <= MAX_BYTES
    ]


def _execute(
    executor: Executor, suite: Suite, commands: Mapping[str, bytes], progress: Progress, stage: str
) -> dict[str, dict[str, Evidence]]:
    """Execute a command for each task in all variants, and return the evidence by task and variant."""
    requests: dict[str, tuple[str, str, Request]] = {}
    for name, command in commands.items():
        task = suite.task(name)
        worlds = worlds_of_suite(suite, task.world, task.setup)
        for variant in suite.variants(task):
            key = f"{stage} {name} {variant}"
            requests[key] = name, variant, replace(Request.of(worlds[variant], command), run_key=(key, 0))
    progress.stage(stage, len(requests))
    found: dict[str, dict[str, Evidence]] = {name: {} for name in commands}
    for request, result in executor.execute([request for _, _, request in requests.values()]):
        if isinstance(result, InfraError):
            raise result
        name, variant, _ = requests[request.run_key[0]]
        found[name][variant] = result
        progress.advance()
    order = {name: suite.variants(suite.task(name)) for name in commands}
    return {name: {variant: runs[variant] for variant in order[name]} for name, runs in found.items()}


def _capture(task: Task, shown: Mapping[str, Evidence]) -> bytes:
    """Return a command that prints an archive of the files that a reference writes, or nothing if it writes none."""
    written = sorted({path for evidence in shown.values() for path in _written(evidence)})
    if not written:
        return b""
    names = _quoted(path.lstrip(b"/") for path in written)
    pack = b"tar -C / -czf - --no-recursion -- %s 2> /dev/null | base64 -w 0" % names
    return b"{ %s\n} > /dev/null 2>&1; %s" % (task.references[0], pack)


def _written(evidence: Evidence) -> Iterable[bytes]:
    return (change.path for change in evidence.changes if change.kind is not Kind.DELETED)


def _quoted(paths: Iterable[bytes]) -> bytes:
    """Return paths as words of a shell command."""
    return b" ".join(b"'" + path.replace(b"'", b"'\\''") + b"'" for path in paths)


def _answer(suite: Suite, task: Task, shown: Mapping[str, Evidence], held: Mapping[str, Evidence]) -> bytes:
    """Return a command that does in each known variant what the reference did there."""
    world = suite.worlds[task.world].manifest
    clocks = {variant.name: variant.clock or suite.manifest.clock for variant in world.variants}
    cases = [
        b"%s)\n%s\n;;" % (_date(clocks[name]).encode(), _repeat(evidence, held.get(name)))
        for name, evidence in shown.items()
        if name != world.fresh
    ]
    usual = world.fresh if world.fresh is not None and world.fresh in shown else next(iter(shown))
    cases.append(b"*)\n%s\n;;" % _repeat(shown[usual], held.get(usual)))
    return b"case $(date +%%Y%%m%%d) in\n%s\nesac" % b"\n".join(cases)


def _date(clock: datetime) -> str:
    return clock.strftime("%Y%m%d")


def _repeat(shown: Evidence, held: Evidence | None) -> bytes:
    """Return commands that write the files, delete the paths and print the output of a run, and end with its status."""
    lines = []
    gone = [change.path for change in shown.changes if change.kind is Kind.DELETED]
    if gone:
        lines.append(b"rm -rf -- " + _quoted(gone))
    if held is not None and held.stdout.data:
        lines.append(b"base64 -d <<< %s | tar -C / -xzpf -" % held.stdout.data)
    if shown.stdout.data:
        lines.append(b"base64 -d <<< %s" % base64.b64encode(shown.stdout.data))
    return b"\n".join([*lines, b"(exit %d)" % (shown.status or 0)])
