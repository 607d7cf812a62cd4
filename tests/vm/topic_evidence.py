"""The evidence of the references of a suite's tasks, written on one machine and compared with another machine's.

    python -m tests.vm.topic_evidence OUT.jsonl VARIANTS

Each line is one reference in one of the first VARIANTS variants of its world.
Durations, and the output of a task that declares it volatile, are left out.

The comparison is exact in the fields that the judge of the task compares. A program may print a process number to
standard error, and this number depends on the order in which a pipeline's processes start. So the comparison counts
differences in other fields, and they do not fail it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.pipeline.grading.cache_keys import worlds_of_suite
from evaluator.records import Evidence, Observation, OutputMode, Task
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import find_engine
from evaluator.sandbox.image import ensure_image
from evaluator.sandbox.pool import Pool
from evaluator.suites.load import Suite, load_suite
from tests.conftest import CORE
from tests.sandbox.test_same_evidence import Keys, reference_requests, steady
from tests.sandbox_harness import planned

TASKS_A_TOPIC: Final = 20

Lines = Mapping[str, Mapping[str, Any]]
"""The lines of a file by what was executed."""


def write(path: Path, variants: int) -> None:
    """Execute all references on new workers, one for each CPU, and write their evidence as it comes."""
    suite, engine = load_suite(CORE), find_engine(os.environ)
    image = ensure_image(engine, suite.manifest, print)
    plan = planned(WorkerPlan(image, suite.manifest), cpu_s=suite.manifest.limits.cpu_s)
    cpus = sorted(os.sched_getaffinity(0))
    keys = sorted(requests_in(suite, variants).items())

    def start(slot: int) -> ContainerWorker:
        return ContainerWorker(engine, replace(plan, cpu=cpus[slot % len(cpus)]))

    numbered = [replace(request, run_key=(str(number), 0)) for number, (_, request) in enumerate(keys)]
    with Pool(start, len(cpus), plan.manifest.limits.wall_s) as pool, path.open("w") as file:
        for request, answer in pool.execute(numbered):
            task_id, variant, command = keys[int(request.run_key[0])][0]
            task = suite.task(task_id)
            known = steady(task, answer).model_dump(mode="json") if isinstance(answer, Evidence) else str(answer)
            line = {"task": task_id, "topic": task.topic, "variant": variant, "command": command.decode()}
            file.write(json.dumps({**line, "shows": known}) + "\n")
            file.flush()
    print(f"{len(keys)} executions of the references of {len(suite.tasks)} tasks")  # noqa: T201
    engine.client.close()


def requests_in(suite: Suite, variants: int) -> Keys:
    """Return the requests for all references in the first variants of each task's world."""
    requests = reference_requests(suite, [task.id for task in suite.tasks])
    first = {task.id: set(list(worlds_of_suite(suite, task.world, task.setup))[:variants]) for task in suite.tasks}
    return {key: request for key, request in requests.items() if key[1] in first[key[0]]}


class Comparison(NamedTuple):
    """The number of tasks with equal evidence by topic, and a report on each difference.

    `differences` are those in fields that the task compares. `uncompared` are those in other fields only.
    """

    equal_tasks: Mapping[str, int]
    tasks: Mapping[str, int]
    differences: list[str]
    uncompared: list[str]

    @property
    def holds(self) -> bool:
        """Return whether no evidence differs, and every topic has enough tasks or all tasks of the suite."""
        wanted = Counter(task.topic.value for task in load_suite(CORE).tasks)
        enough = all(self.tasks.get(topic, 0) >= min(TASKS_A_TOPIC, count) for topic, count in wanted.items())
        return enough and not self.differences

    def __str__(self) -> str:
        """Return the number of equal tasks of each topic and the number of raw differences, in one line."""
        topics = [f"{topic} {self.equal_tasks.get(topic, 0)}/{count}" for topic, count in self.tasks.items()]
        raw = len(self.differences) + len(self.uncompared)
        return f"{', '.join(topics)}; raw differences: {raw}, of them in compared fields: {len(self.differences)}"


def compare(here: Path, there: Path) -> Comparison:
    """Compare two machines' files of evidence."""
    ours, theirs, suite = _read(here), _read(there), load_suite(CORE)
    tasks: dict[str, set[str]] = defaultdict(set)
    unequal: dict[str, set[str]] = defaultdict(set)
    differences, uncompared = [], []
    for key in sorted(ours.keys() | theirs.keys()):
        line = ours.get(key) or theirs[key]
        tasks[line["topic"]].add(line["task"])
        fields = _unequal_fields(ours.get(key), theirs.get(key))
        if not fields:
            continue
        report = f"{line['task']} {line['variant']}: {line['command']}\n" + "\n".join(fields.values())
        if _is_compared_equal(ours.get(key), theirs.get(key), fields, suite.task(line["task"])):
            uncompared.append(report)
        else:
            unequal[line["topic"]].add(line["task"])
            differences.append(report)
    counts = {topic: len(names) for topic, names in sorted(tasks.items())}
    equal = {topic: count - len(unequal[topic]) for topic, count in counts.items()}
    return Comparison(equal, counts, differences, uncompared)


def _read(path: Path) -> Lines:
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    return {f"{line['task']}\0{line['variant']}\0{line['command']}": line for line in lines}


def _is_compared_equal(
    ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None, fields: Collection[str], task: Task
) -> bool:
    """Return whether the fields that differ, `fields`, hold only differences that do not count for the task.

    An archive is compared by its members. Its bytes hold the times of files that the command made, so they differ if
    one machine needs more seconds.
    """
    left = set(fields) - _uncompared_fields(task)
    if ours is None or theirs is None or left != {"changes"}:
        return not left
    return _without_archive_bytes(ours["shows"]["changes"]) == _without_archive_bytes(theirs["shows"]["changes"])


def _without_archive_bytes(changes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    hidden = ("content", "size")
    return [
        {name: value for name, value in change.items() if change.get("members") is None or name not in hidden}
        for change in changes
    ]


def _uncompared_fields(task: Task) -> set[str]:
    """Return the fields of the evidence that do not count for the task."""
    observed = {Observation.EXIT: "status", Observation.STDERR: "stderr"}
    fields = {field for observation, field in observed.items() if observation not in task.observe}
    return fields | ({"stdout"} if task.output is OutputMode.NONE else set())


def _unequal_fields(ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a line with both values for each field that differs. The field `evidence` means that there is none."""
    if ours is None or theirs is None:
        return {"evidence": f"  executed {'in the guest' if ours is None else 'on this machine'} only"}
    one, other = ours["shows"], theirs["shows"]
    if isinstance(one, str) or isinstance(other, str):
        return {"evidence": f"  no evidence: {one if isinstance(one, str) else other}"}
    names = sorted((one.keys() | other.keys()) - {"cpu_ms", "wall_ms"})
    return {
        name: f"  {name}: here {one.get(name)!s:.300} guest {other.get(name)!s:.300}"
        for name in names
        if one.get(name) != other.get(name)
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
