"""Add a foreign suite to a checkout: read it, write it in our formats, and look at what it is worth.

In which variants of its world a task is asked: those in which its own references hold.

A variant that we made proves nothing where a task's references no longer agree, or fail at what we put there. Each is
taken on if, judged by the others in all variants so far and in that one, every reference comes off no worse than
before. So equivalent references stay so by construction: what a judge makes of them says nothing of these variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluator.errors import MissingError, UsageError
from evaluator.files import write_whole
from evaluator.judges import Case
from evaluator.judges.case import Executed
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.audit_suite import audit_suite, variant_counts
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Ending, Evidence, Outcome, OutputMode, Task, json_lines
from evaluator.shell import utilities_of
from evaluator.suites.audit_report import FAILS, NEEDS_NETWORK, NOT_FOUND, SHOWS_NOTHING, AuditNote, has_order
from evaluator.suites.importers import IMPORTERS, write_draft
from evaluator.suites.importers.extra_variants import variants_with_objects
from evaluator.suites.load import Suite, load_suite

_RANK: Final = {Outcome.PASS: 0, Outcome.UNDECIDED: 1}
_WORST: Final = 2


def select_variants(project: Project, suite: Suite, progress: Progress, *, workers: int | None = None) -> Suite:
    """The suite with every strengthened task asked in the variants in which its references hold, written anew.

    Executes all their references. Tasks of other suites are left as they are.
    """
    asked = {task.id: task for task in suite.tasks if len(_offered(suite, task)) > 1}
    if not asked:
        return suite
    offered = tuple(
        task.model_copy(update={"variants": _offered(suite, task)}) if task.id in asked else task
        for task in suite.tasks
    )
    with open_grader(project, replace(suite, tasks=offered), progress, workers=workers, adjudicated=False) as grader:
        grader.ensure_evidence(GradingItem(task.id, command) for task in asked.values() for command in task.references)
        held = {task.id: held_variants(task, grader) for task in offered if task.id in asked}
    return rewrite_tasks(suite, (task.model_copy(update={"variants": held[task.id]}) for task in asked.values()))


def rewrite_tasks(suite: Suite, changed: Iterable[Task]) -> Suite:
    """The suite with these tasks in the place of those of the same id, on disk and in memory."""
    fresh = {task.id: task for task in changed}
    for topic in {task.topic for task in suite.tasks if task.id in fresh}:
        tasks = (fresh.get(task.id, task) for task in suite.tasks if task.topic is topic)
        write_whole(suite.folder / "tasks" / f"{topic.value}.jsonl", json_lines(tasks).encode())
    return load_suite(suite.folder)


def _offered(suite: Suite, task: Task) -> tuple[str, ...]:
    """The variants in which a task's set-up puts something, after the publisher's."""
    there = {variant.name for variant in suite.worlds[task.world].manifest.variants}
    return tuple(name for name in variants_with_objects(task.setup) if name in there) if task.variants else ()


def held_variants(task: Task, grader: Grader) -> tuple[str, ...]:
    """The variants, of those a task is asked in, in which its references hold; the first always is one."""
    first, *others = task.variants
    cases = [grader.case(GradingItem(task.id, command, number)) for number, command in enumerate(task.references)]
    held = [first]
    if any(case.candidate is None or first not in case.candidate.trials for case in cases):
        return (first,)
    ranks = [_rank(grader, case, held) for case in cases]
    for name in others:
        if not all(_ends_well(case.candidate, first, name) for case in cases):
            continue
        fresh = [_rank(grader, case, [*held, name]) for case in cases]
        if all(new <= old for new, old in zip(fresh, ranks, strict=True)):
            held, ranks = [*held, name], fresh
    return tuple(held)


def _rank(grader: Grader, case: Case, names: Sequence[str]) -> int:
    """How a reference comes off in these variants by the others: 0 is best. There may be no others."""
    if not case.references or case.candidate is None:
        return 0
    references = tuple(_within(each, names) for each in case.references)
    narrowed = replace(case, references=references, candidate=_within(case.candidate, names))
    return _RANK.get(grader.judge.judge(narrowed).outcome, _WORST)


def _within(executed: Executed, names: Sequence[str]) -> Executed:
    return Executed(executed.command, {name: executed.trials[name] for name in names if name in executed.trials})


def _ends_well(executed: Executed | None, first: str, name: str) -> bool:
    """Whether a reference ends by itself, and does not only complain where it did not in the first variant."""
    if executed is None or name not in executed.trials:
        return False
    before, after = executed.trials[first].first, executed.trials[name].first
    return after.ending is Ending.EXITED and (_only_complains(before) or not _only_complains(after))


def _only_complains(evidence: Evidence) -> bool:
    return bool(evidence.status and evidence.stderr.size and not evidence.stdout.size and not evidence.changes)


@dataclass(frozen=True, slots=True)
class Added:
    """A foreign suite as it was written, and how many entries were left out for which reason."""

    suite: Suite
    left_out: Mapping[str, int]


def add_suite(project: Project, name: str, path: Path | None, progress: Progress) -> Added:
    """Write the foreign suite `name` below the checkout's fixtures, from `path` where its format needs one.

    Raises UsageError for an unknown name or a tree that is not what it should be, FormatError with every place,
    MissingError where something cannot be fetched.
    """
    if name not in IMPORTERS:
        raise UsageError(f"no foreign suite is named {name!r}; there are: {', '.join(IMPORTERS)}")
    if path is not None and not path.exists():
        raise UsageError(f"{path} is not there: expected what {name} is read from")
    progress.say(f"reading {name}")
    try:
        draft = IMPORTERS[name](utilities_of, path)
    except ValueError as error:  # bytes that are no text, or values that no task can have
        raise UsageError(f"{path or name} does not read as {name}: {error}") from error
    folder = write_draft(draft, project.root / "fixtures")
    return Added(load_suite(folder), draft.left_out)


def order_suite(project: Project, added: Suite, progress: Progress, *, workers: int | None = None) -> Suite:
    """The suite with those tasks compared line by line whose references, executed, show one order that is asked for.

    Written anew where there are any. What a task compares is no part of its evidence: nothing is executed twice.
    """
    with open_grader(project, added, progress, workers=workers, adjudicated=False) as grader:
        grader.ensure_evidence(GradingItem(task.id, command) for task in added.tasks for command in task.references)
        ordered = {task.id for task in added.tasks if has_order(task, _outputs(task, grader))}
    changed = (task for task in added.tasks if task.id in ordered)
    return rewrite_tasks(added, (task.model_copy(update={"output": OutputMode.LINES}) for task in changed))


def _outputs(task: Task, grader: Grader) -> dict[str, list[bytes]]:
    """What every reference prints, by variant; nothing where one has no evidence."""
    if any(grader.failure(task.id, command) for command in task.references):
        return {}
    outputs: dict[str, list[bytes]] = {}
    for command in task.references:
        for variant, trial in grader.trials(task.id, command).items():
            outputs.setdefault(variant, []).append(trial.first.stdout.data.rstrip(b"\n") + b"\n")
    return outputs


def reference_summary(notes: Sequence[AuditNote]) -> dict[str, list[str]]:
    """The references, as `task/number`, that fail, show nothing, or need the network."""
    return {
        kind: [f"{note.place}/{note.reference}" for note in notes if note.kind == kind and note.reference]
        for kind in (FAILS, NOT_FOUND, SHOWS_NOTHING, NEEDS_NETWORK)
    }


def add_and_look(
    project: Project,
    name: str,
    path: Path | None,
    progress: Progress,
    *,
    execute: bool = True,
    workers: int | None = None,
) -> dict[str, Any]:
    """Add a suite: its size and what was left out; with `execute`, which references do not hold.

    Where this machine cannot execute, the suite is there all the same, and `not_executed` says why.
    """
    replaces = (project.root / "fixtures" / name).exists()
    added = add_suite(project, name, path, progress)
    suite, found, why = added.suite, dict[str, list[str]](), None if execute else "--no-execute"
    if execute:
        try:
            suite = select_variants(project, suite, progress, workers=workers)
            suite = order_suite(project, suite, progress, workers=workers)
            found = reference_summary(audit_suite(project, suite, progress, workers=workers))
        except MissingError as error:
            why = str(error)
    return {
        "replaces": replaces,
        "not_executed": why,
        "variants": variant_counts(suite),
        "folder": str(suite.folder.relative_to(project.root)),
        "tasks": len(suite.tasks),
        "references": sum(len(task.references) for task in suite.tasks),
        "worlds": len(suite.worlds),
        "left_out": dict(added.left_out),
        "found": found,
    }
