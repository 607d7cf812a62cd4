"""Execute one command by hand, exactly as scoring does, and keep nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.errors import InfraError, UsageError
from evaluator.pipeline.grading.cache_keys import worlds_of_suite
from evaluator.pipeline.grading.executor import open_bench
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Evidence, Observation
from evaluator.sandbox.requests import Request


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
    with open_bench(project, loaded, progress, workers=min(2, len(requests))) as bench:
        progress.stage("executing", len(requests))
        answers = {id(request): answer for request, answer in bench.execute(list(requests.values()))}
    found: dict[str, Evidence] = {}
    for name, request in requests.items():
        answer = answers[id(request)]
        if isinstance(answer, InfraError):
            raise answer
        found[name] = answer
    return found
