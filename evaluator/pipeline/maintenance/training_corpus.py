"""Prepare training pairs: filter, deduplicate, compare with suites, and convert them to chats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from evaluator.corpus.corpus_filter import filter_corpus
from evaluator.corpus.corpus_rules import CorpusRules
from evaluator.corpus.deconflict import Conflict, Dropped, TaskText, repeated_pairs, task_conflicts
from evaluator.corpus.pair_lines import CorpusPair
from evaluator.corpus.training_checks import TrainingCheck, checked_pairs
from evaluator.errors import UsageError
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Digest, Record, digest_of
from evaluator.shell import option_table
from evaluator.submissions.prompts import command_rules
from evaluator.suites.load import Suite

Kept = tuple[list[CorpusPair], dict[str, int]]
"""The pairs that are kept, and the number of the others by reason."""


class SuiteContamination(Record):
    """The tasks of a suite that are nearly in a training set: with an equal text, and with a similar instruction."""

    suite: str
    version: str
    tasks: int
    same: tuple[str, ...]
    similar: tuple[str, ...]


class Contamination(Record):
    """The comparison of a training set with suites. `digest` is the SHA-256 of its sorted instructions and commands."""

    format: Literal[1] = 1
    pairs: int
    digest: Digest
    threshold: float
    suites: tuple[SuiteContamination, ...]


def filtered_pairs(pairs: Sequence[CorpusPair], rules: CorpusRules, checks: Sequence[str], progress: Progress) -> Kept:
    """Return the pairs in the scope of the rules that hold all checks. Raises UsageError for an unknown check."""
    known = {check.value: check for check in TrainingCheck}
    for name in checks:
        if name not in known:
            raise UsageError(f"--check {name}: expected one of {', '.join(known)}")
    progress.stage("filtering", len(pairs))
    found = filter_corpus(pairs, rules, progress.advance)
    if not checks:
        return found.kept, found.left_out
    progress.stage("checking", len(found.kept))
    chosen = [known[name] for name in checks]
    checked = checked_pairs(found.kept, chosen, option_table().keys(), progress.advance)
    return checked.kept, {**found.left_out, **checked.left_out}


def deduplicated_pairs(pairs: Sequence[CorpusPair], threshold: float, progress: Progress) -> Kept:
    """Return the pairs that repeat no earlier one."""
    progress.stage("comparing", len(pairs))
    return _without(pairs, repeated_pairs(pairs, threshold, progress.advance))


def deconflicted_pairs(
    project: Project, pairs: Sequence[CorpusPair], suites: Sequence[str], threshold: float, progress: Progress
) -> Kept:
    """Return the pairs that are near to no task of the suites."""
    tasks = [text for name in suites for text in _texts(project.suite(name))]
    progress.stage("comparing", len(pairs))
    return _without(pairs, task_conflicts(pairs, tasks, threshold, progress.advance))


def contamination_of(
    project: Project, pairs: Sequence[CorpusPair], suites: Sequence[str], threshold: float, progress: Progress
) -> Contamination:
    """Return the tasks of suites that are nearly in a training set."""
    found: list[SuiteContamination] = []
    for name in suites:
        suite = project.suite(name)
        progress.stage(f"comparing with {name}", len(pairs))
        conflicts = task_conflicts(pairs, _texts(suite), threshold, progress.advance)
        same = {dropped.other for dropped in conflicts if dropped.conflict is not Conflict.SIMILAR}
        similar = {dropped.other for dropped in conflicts} - same
        manifest = suite.manifest
        found.append(
            SuiteContamination(
                suite=manifest.name,
                version=manifest.version,
                tasks=len(suite.tasks),
                same=tuple(sorted(same)),
                similar=tuple(sorted(similar)),
            )
        )
    return Contamination(pairs=len(pairs), digest=pairs_digest(pairs), threshold=threshold, suites=tuple(found))


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


def _texts(suite: Suite) -> list[TaskText]:
    return [
        TaskText(task.id, task.nl, tuple(reference.decode(errors="replace") for reference in task.references))
        for task in suite.tasks
    ]


def _without(pairs: Sequence[CorpusPair], dropped: Sequence[Dropped]) -> Kept:
    gone = {each.pair for each in dropped}
    kept = [pair for number, pair in enumerate(pairs) if number not in gone]
    return kept, dict(Counter(str(each.conflict) for each in dropped).most_common())
