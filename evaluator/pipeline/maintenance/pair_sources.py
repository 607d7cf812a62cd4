"""Collect labelled pairs: commands that are known to be right or wrong, from a suite and from files of labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.judges.labelled_pairs import Pair, near_miss_pairs, table_4_pairs
from evaluator.pipeline.maintenance.answer_labels import (
    answer_part,
    availability_note,
    real_answers_of,
    report_missing_suites,
)
from evaluator.pipeline.maintenance.blind_set import BlindSet, read_blind_set
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import AnswerSet, LabelledCommand, MutantLabel, PairKind, Part, command_digest
from evaluator.records.record_lines import read_record_lines
from evaluator.shell.mutation import mutants_of
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import equivalences_path, marks_of, mutants_of_task, read_equivalences

LABELS: Final = "labels.jsonl"
"""The name of a suite's file of labelled mutants, in its folder of overrides."""

HALVES: Final = {"dev": Part.WRITTEN_FROM, "held": Part.HELD_BACK}
"""The halves of the blind set by their names in commands."""


@dataclass(frozen=True, slots=True)
class SuitePairs:
    """The labelled pairs of one suite for each `PairKind`. A label states whether a pair's command is right.

    `answers` holds the numbers of the set *real answers*, or None if the suite has no such labels. `blind` is the blind
    set, or None if it is not among the pairs.
    """

    suite: Suite
    pairs: Mapping[PairKind, Sequence[Pair]]
    answers: AnswerSet | None = None
    blind: BlindSet | None = None


class PairSelection(NamedTuple):
    """The labelled pairs to collect: the names of suites and of kinds of pairs. No names stand for all of them.

    The kind of all mutants is included only if `mutants` is true or `kinds` names it. If `held_back` is false, the real
    answers to held-back tasks are left out. `halves` are the halves of the blind set.
    """

    suites: Sequence[str] = ()
    kinds: Sequence[str] = ()
    mutants: bool = False
    held_back: bool = True
    halves: Collection[Part] = (Part.WRITTEN_FROM,)


def selected_pairs(project: Project, selection: PairSelection, progress: Progress) -> list[SuitePairs]:
    """Return the selected pairs of each suite. Raises UsageError for an unknown suite or kind.

    If all suites are selected, report each suite that has labels of real answers and is not on this machine.
    """
    known = {kind.value: kind for kind in PairKind}
    if unknown := [name for name in selection.kinds if name not in known]:
        raise UsageError(f"--set {unknown[0]!r}: expected one of {', '.join(known)}")
    suites = [project.suite(name) for name in selection.suites] or project.suites()
    if not selection.suites:
        report_missing_suites(project, suites, progress.say)
    kinds = [known[name] for name in selection.kinds]
    sets = [
        pairs_of_suite(project, suite, progress, mutants=selection.mutants, kinds=kinds, halves=selection.halves)
        for suite in suites
    ]
    return sets if selection.held_back else list(map(_without_held_back, sets))


def _without_held_back(suite_pairs: SuitePairs) -> SuitePairs:
    name, pairs = suite_pairs.suite.manifest.name, dict(suite_pairs.pairs)
    answers = pairs.pop(PairKind.REAL_ANSWERS, ())
    shown = [pair for pair in answers if answer_part(name, pair.task) is not Part.HELD_BACK]
    return replace(suite_pairs, pairs={PairKind.REAL_ANSWERS: shown, **pairs} if shown else pairs)


def pairs_of_suite(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    mutants: bool,
    kinds: Collection[PairKind] = (),
    halves: Collection[Part] = (Part.WRITTEN_FROM,),
) -> SuitePairs:
    """Return a suite's labelled pairs of each kind in `kinds`. If `kinds` is empty, return all kinds (see `PairKind`).

    All mutants are included only if `mutants` is true or `kinds` names them. Of the blind set, these `halves` are
    included.
    """
    wanted = set(kinds) or set(PairKind) - (set() if mutants else {PairKind.MUTANTS})
    answers = real_answers_of(project, suite) if PairKind.REAL_ANSWERS in wanted else None
    blind = read_blind_set(suite) if PairKind.BLIND in wanted else None
    sources: dict[PairKind, Callable[[], Iterable[Pair]]] = {
        PairKind.BLIND: lambda: blind.pairs(halves) if blind else (),
        PairKind.REAL_ANSWERS: lambda: answers.pairs if answers else (),
        PairKind.TABLE_4: lambda: table_4_pairs(suite.tasks),
        PairKind.NEAR_MISSES: lambda: near_miss_pairs(suite.tasks),
        PairKind.MUTANTS: lambda: _all_mutants(project, suite),
        PairKind.LABELLED: lambda: _labelled_mutants(project, suite, progress),
    }
    pairs = {kind: list(source()) for kind, source in sources.items() if kind in wanted}
    if answers and (note := availability_note(answers.numbers)):
        progress.say(note)
    found = {kind: of_kind for kind, of_kind in pairs.items() if of_kind}
    return SuitePairs(suite, found, answers and answers.numbers, blind)


def _all_mutants(project: Project, suite: Suite) -> Iterator[Pair]:
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    equivalent = marks_of(marks)
    for task in suite.tasks:
        for mutant in mutants_of_task(task, mutants_of):
            yield Pair(task.id, mutant.command, None, (task.digest, command_digest(mutant.command)) in equivalent)


def _labelled_mutants(project: Project, suite: Suite, progress: Progress) -> Iterator[Pair]:
    """Yield the mutants that maintainers labelled right or wrong. Raises FormatError with all invalid label lines."""
    path = project.root / "fixtures" / "overrides" / suite.manifest.name / LABELS
    labels = _read_labels(path) if path.is_file() else []
    tasks = {label.task for label in labels}
    commands = {
        (task.id, command_digest(mutant.command)): mutant.command
        for task in suite.tasks
        if task.id in tasks
        for mutant in mutants_of_task(task, mutants_of)
    }
    outdated = [label for label in labels if (label.task, label.command_digest) not in commands]
    if outdated:
        progress.say(f"{path}: {len(outdated)} of {len(labels)} labels refer to commands that are no longer mutants")
    for label in labels:
        command = commands.get((label.task, label.command_digest))
        if command is not None:
            yield Pair(label.task, command, None, label.label)


def _read_labels(path: Path) -> list[MutantLabel]:
    problems: list[Problem] = []
    labels = read_record_lines(path, MutantLabel, problems)
    if problems:
        raise FormatError(problems)
    return [label for _, label in labels]


def read_labelled(project: Project, path: Path) -> list[SuitePairs]:
    """Read a file of labelled pairs. Raises FormatError with every invalid line, and UsageError for a missing file."""
    problems: list[Problem] = []
    suites: dict[str, Suite] = {}

    def check(label: LabelledCommand) -> None:
        suites.setdefault(label.suite, project.suite(label.suite)).task(label.task)

    pairs_by_suite: dict[str, list[Pair]] = {}
    for _, label in read_record_lines(path, LabelledCommand, problems, check):
        pairs_by_suite.setdefault(label.suite, []).append(Pair(label.task, label.command, None, label.label))
    if problems:
        raise FormatError(problems)
    return [SuitePairs(suites[name], {PairKind.LABELLED: pairs}) for name, pairs in pairs_by_suite.items()]
