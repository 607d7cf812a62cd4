"""Prepare training pairs: filter, deduplicate, compare with suites, and convert them to chats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from evaluator.corpus.corpus_filter import filter_corpus
from evaluator.corpus.corpus_rules import CorpusRules
from evaluator.corpus.deconflict import (
    Conflict,
    Dropped,
    TaskText,
    contaminated_tasks,
    repeated_pairs,
    task_conflicts,
)
from evaluator.corpus.pair_lines import CorpusPair
from evaluator.corpus.training_checks import TrainingCheck, checked_pairs
from evaluator.errors import UsageError
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.known_utilities import utilities_of_suites
from evaluator.progress import Progress
from evaluator.records import Digest, NearTasks, Record, SuiteContamination, Task, Tier, digest_of
from evaluator.submissions.manifest_text import toml_table
from evaluator.submissions.prompts import command_rules
from evaluator.suites.load import Suite

Kept = tuple[list[CorpusPair], dict[str, int]]
"""The pairs that are kept, and the number of the others by reason."""


class TaskOverlap(Record):
    """The counts of a suite's tasks that are nearly in a training set, and the ids of these tasks by reason."""

    suite: str
    counts: SuiteContamination
    same_instruction: tuple[str, ...]
    same_command: tuple[str, ...]
    similar: tuple[str, ...]

    def tasks_by_reason(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the tasks by the description of their reason, without reasons that no task has."""
        ids = (self.same_instruction, self.same_command, self.similar)
        named = zip(Conflict, ids, strict=True)
        return {conflict.description(self.counts.threshold): tasks for conflict, tasks in named if tasks}


class Contamination(Record):
    """The comparison of a training set with suites. `digest` is the SHA-256 of its sorted instructions and commands."""

    format: Literal[1] = 1
    pairs: int
    digest: Digest
    suites: tuple[TaskOverlap, ...]


def read_checks(names: Collection[str]) -> list[TrainingCheck]:
    """Return the checks with these names. Raises UsageError for an unknown name."""
    known = {check.value: check for check in TrainingCheck}
    for name in names:
        if name not in known:
            raise UsageError(f"--check {name}: expected one of {', '.join(known)}")
    return [known[name] for name in names]


def installed_in(project: Project, suite: str) -> frozenset[str]:
    """Return the names of the commands in the base of a suite."""
    return frozenset(utilities_of_suites([project.suite(suite)]))


def filtered_pairs(
    pairs: Sequence[CorpusPair],
    rules: CorpusRules,
    checks: Sequence[TrainingCheck],
    installed: Collection[str],
    progress: Progress,
) -> Kept:
    """Return the pairs in the scope of the rules that hold all checks. `installed` are the commands of a machine."""
    progress.stage("filtering", len(pairs))
    found = filter_corpus(pairs, rules, progress.advance)
    if not checks:
        return found.kept, found.left_out
    progress.stage("checking", len(found.kept))
    checked = checked_pairs(found.kept, checks, installed, progress.advance)
    return checked.kept, {**found.left_out, **checked.left_out}


def deduplicated_pairs(pairs: Sequence[CorpusPair], threshold: float, progress: Progress) -> Kept:
    """Return the pairs that repeat no earlier one."""
    progress.stage("comparing", len(pairs))
    return _without(pairs, repeated_pairs(pairs, threshold, progress.advance))


def deconflicted_pairs(
    project: Project, pairs: Sequence[CorpusPair], suites: Sequence[str], threshold: float, progress: Progress
) -> tuple[Kept, dict[str, tuple[str, ...]]]:
    """Return the pairs that are near to no task of the suites, and the tasks of the others by reason.

    Of several tasks that are near to a pair, one is named.
    """
    tasks = [text for name in suites for text in task_texts(project.suite(name))]
    progress.stage("comparing", len(pairs))
    dropped = task_conflicts(pairs, tasks, threshold, progress.advance)
    ids = {
        conflict: tuple(sorted({each.other for each in dropped if each.conflict is conflict})) for conflict in Conflict
    }
    return _without(pairs, dropped), {each.description(threshold): ids[each] for each in Conflict if ids[each]}


def contamination_of(
    project: Project, pairs: Sequence[CorpusPair], suites: Sequence[str], threshold: float, progress: Progress
) -> Contamination:
    """Return the tasks of suites that are nearly in a training set."""
    found: list[TaskOverlap] = []
    for name in dict.fromkeys(suites):
        suite = project.suite(name)
        progress.stage(f"comparing with {name}", len(pairs))
        conflicts = contaminated_tasks(pairs, task_texts(suite), threshold, progress.advance)
        found.append(_overlap(suite, conflicts, threshold))
    return Contamination(pairs=len(pairs), digest=pairs_digest(pairs), suites=tuple(found))


def _overlap(suite: Suite, conflicts: Mapping[str, Conflict], threshold: float) -> TaskOverlap:
    ids = {each: tuple(sorted(task for task, found in conflicts.items() if found is each)) for each in Conflict}
    tiers = sorted({task.tier for task in suite.tasks if task.tier is not None}, key=list(Tier).index)
    tasks_of = {tier: [task for task in suite.tasks if task.tier is tier] for tier in tiers}
    counts = SuiteContamination(
        version=suite.manifest.version,
        threshold=threshold,
        tiers={tier: NearTasks(**_counted(tasks, conflicts)) for tier, tasks in tasks_of.items()},
        near_tasks=tuple(sorted(conflicts)),
        **_counted(suite.tasks, conflicts),
    )
    return TaskOverlap(
        suite=suite.manifest.name,
        counts=counts,
        same_instruction=ids[Conflict.INSTRUCTION],
        same_command=ids[Conflict.COMMAND],
        similar=ids[Conflict.SIMILAR],
    )


def _counted(tasks: Sequence[Task], conflicts: Mapping[str, Conflict]) -> dict[str, int]:
    """Return the fields of `NearTasks` for some tasks."""
    reasons = Counter(conflicts[task.id] for task in tasks if task.id in conflicts)
    return {
        "tasks": len(tasks),
        "same_instruction": reasons[Conflict.INSTRUCTION],
        "same_command": reasons[Conflict.COMMAND],
        "similar": reasons[Conflict.SIMILAR],
    }


def fine_tuning_toml(contamination: Contamination) -> str:
    """Return the table `[fine_tuning]` of a manifest of format 3. The author adds the model and the data."""
    suites = {
        overlap.suite: overlap.counts.model_dump(mode="json", exclude_defaults=True) for overlap in contamination.suites
    }
    table: dict[str, Any] = {
        "base_model": "",
        "data": "",
        "pairs": contamination.digest,
        "pair_count": contamination.pairs,
        "contamination": suites,
    }
    return "".join(f"{line}\n" for line in toml_table("fine_tuning", table))


def pairs_digest(pairs: Sequence[CorpusPair]) -> str:
    """Return the SHA-256 of the sorted pairs. The order of the file and other fields do not count."""
    lines = sorted(json.dumps([pair.nl, pair.command], ensure_ascii=False) for pair in pairs)
    return digest_of("\n".join(lines).encode())


def chat_lines(project: Project, suite: str, pairs: Sequence[CorpusPair]) -> Iterator[str]:
    """Yield one chat per pair as a line of JSON: the rules of the suite's prompts, the instruction, the command."""
    rules = command_rules(project.suite(suite).manifest)
    for pair in pairs:
        contents = zip(("system", "user", "assistant"), (rules, pair.nl, pair.command), strict=True)
        messages = [{"role": role, "content": content} for role, content in contents]
        yield json.dumps({"messages": messages}, ensure_ascii=False) + "\n"


def task_texts(suite: Suite) -> list[TaskText]:
    """Return the instructions and references of a suite's tasks, for a comparison."""
    return [
        TaskText(task.id, task.nl, tuple(reference.decode(errors="replace") for reference in task.references))
        for task in suite.tasks
    ]


def _without(pairs: Sequence[CorpusPair], dropped: Sequence[Dropped]) -> Kept:
    gone = {each.pair for each in dropped}
    kept = [pair for number, pair in enumerate(pairs) if number not in gone]
    return kept, dict(Counter(str(each.conflict) for each in dropped).most_common())
