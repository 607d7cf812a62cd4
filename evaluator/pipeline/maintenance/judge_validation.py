"""Validation of judges: collect labelled pairs, execute missing evidence, and measure every judge's verdicts.

A suite is processed world by world, which bounds the memory. A judge that asks a model runs only if a panel is
available. The other judges always run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.files import write_whole
from evaluator.judges import JUDGES, Case, Judge, find_judge
from evaluator.judges.labelled_pairs import (
    HardPair,
    JudgedPair,
    Origin,
    Pair,
    hardest_pairs,
    judge_metrics,
    near_miss_pairs,
    parts_of,
    table_4_pairs,
)
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.pipeline.boards.scored_boards import PUBLISHED, read_validation
from evaluator.pipeline.grading.cache_keys import GradingItem, MutantLookup
from evaluator.pipeline.grading.executor import Executor, open_executor
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.grading.llm_panel import REPLAY, PanelItem, PanelUse, ask_panel, open_panel
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import (
    Finding,
    JudgeFigures,
    LabelledCommand,
    Mistake,
    MutantLabel,
    Outcome,
    PairKind,
    Part,
    Validation,
    command_digest,
    read_format,
)
from evaluator.shell.mutation import mutants_of
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import equivalences_path, marks_of, mutants_of_task, read_equivalences

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel

LABELS: Final = "labels.jsonl"
"""The name of a suite's file of labelled mutants, in its folder of overrides."""

_LOCAL: Final = "judges.json"
_MODELS: Final = frozenset(each.name for each in BY_MODEL)


class Description(NamedTuple):
    """A judge's description for users."""

    name: str
    version: int
    looks_at: str
    description: str


def describe_judges() -> list[Description]:
    """Return the description of every judge."""
    return [
        Description(judge.name, judge.version, judge.basis.value, (type(judge).__doc__ or "").splitlines()[0])
        for judge in JUDGES.values()
    ]


@dataclass(frozen=True, slots=True)
class Sets:
    """The labelled pairs of one suite, by kind."""

    suite: Suite
    pairs: Mapping[PairKind, Sequence[Pair]]


@dataclass(slots=True)
class Results:
    """The metrics of every judge on the pairs, and its wrong or undecided verdicts."""

    figures: list[JudgeFigures] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)

    def hardest(self, judge: str) -> list[HardPair]:
        """Return the ten pairs that are hardest for a judge."""
        return hardest_pairs(self.mistakes, judge)


def sets_of_suite(project: Project, suite: Suite, progress: Progress, *, mutants: bool) -> Sets:
    """Return a suite's own pairs: those of Table 4, near misses, labelled mutants, and with `mutants` all mutants."""
    pairs = {
        PairKind.TABLE_4: list(table_4_pairs(suite.tasks)),
        PairKind.NEAR_MISSES: list(near_miss_pairs(suite.tasks)),
        PairKind.MUTANTS: list(_mutant_pairs(project, suite)) if mutants else [],
        PairKind.LABELLED: list(_labelled_mutants(project, suite, progress)),
    }
    return Sets(suite, {kind: chosen for kind, chosen in pairs.items() if chosen})


def _mutant_pairs(project: Project, suite: Suite) -> Iterator[Pair]:
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    known = marks_of(marks)
    for task in suite.tasks:
        for mutant in mutants_of_task(task, mutants_of):
            yield Pair(task.id, mutant.command, None, (task.digest, command_digest(mutant.command)) in known)


def _labelled_mutants(project: Project, suite: Suite, progress: Progress) -> Iterator[Pair]:
    """Yield the mutants that were labelled by hand. Raises FormatError with every invalid line."""
    path = project.root / "fixtures" / "overrides" / suite.manifest.name / LABELS
    labels = _read_labels(path) if path.is_file() else []
    asked = {label.task for label in labels}
    known = {
        (task.id, command_digest(mutant.command)): mutant.command
        for task in suite.tasks
        if task.id in asked
        for mutant in mutants_of_task(task, mutants_of)
    }
    lost = [label for label in labels if (label.task, label.command_digest) not in known]
    if lost:
        progress.say(f"{path}: {len(lost)} of {len(labels)} labels are of commands that are no mutants any more")
    for label in labels:
        command = known.get((label.task, label.command_digest))
        if command is not None:
            yield Pair(label.task, command, None, label.label)


def _read_labels(path: Path) -> list[MutantLabel]:
    problems: list[Problem] = []
    labels: list[MutantLabel] = []
    for number, line in enumerate(_lines(path), 1):
        try:
            value = json.loads(line)
            read_format(value, path.name)
            labels.append(MutantLabel.model_validate(value))
        except ValidationError as error:
            problems += _faults(error, path, number)
        except ValueError as error:
            problems.append(Problem(path, number, str(error)))
    if problems:
        raise FormatError(problems)
    return labels


def _faults(error: ValidationError, path: Path, line: int) -> list[Problem]:
    details = error.errors(include_url=False, include_context=False)
    return [Problem(path, line, f"{'.'.join(map(str, each['loc']))}: {each['msg']}") for each in details]


def read_labelled(project: Project, path: Path) -> list[Sets]:
    """Read a file's labelled pairs, by suite. Raises FormatError with every invalid line, UsageError for no file."""
    problems: list[Problem] = []
    found: dict[str, list[Pair]] = {}
    suites: dict[str, Suite] = {}
    for number, line in enumerate(_lines(path), 1):
        try:
            label = LabelledCommand.model_validate(json.loads(line))
            suites.setdefault(label.suite, project.suite(label.suite)).task(label.task)
        except ValidationError as error:
            problems += _faults(error, path, number)
        except (ValueError, UsageError) as error:
            problems.append(Problem(path, number, str(error)))
        else:
            found.setdefault(label.suite, []).append(Pair(label.task, label.command, None, label.label))
    if problems:
        raise FormatError(problems)
    return [Sets(suites[name], {PairKind.LABELLED: pairs}) for name, pairs in found.items()]


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def validate_judges(
    project: Project,
    sets: Iterable[Sets],
    progress: Progress,
    *,
    judges: Sequence[str] = (),
    panel_use: PanelUse = REPLAY,
    workers: int | None = None,
) -> Results:
    """Measure the named judges, or all that can run, on every set of pairs."""
    chosen = [find_judge(name) for name in judges or JUDGES]
    results = Results()
    named = next((judge.name for judge in chosen if judge.name in _MODELS), None) if judges else None
    with open_panel(project, progress, panel_use, named) as panel:
        able = [judge for judge in chosen if panel is not None or judge.name not in _MODELS]
        for each in sets:
            with open_executor(project, each.suite, progress, workers=workers) as executor:
                work = _Work(
                    each.suite, executor, progress, panel, known_mutants_of(project, each.suite, executor.store)
                )
                for kind, pairs in each.pairs.items():
                    for judge in able:
                        work.validate(judge, kind, pairs, results)
    return results


@dataclass(frozen=True, slots=True)
class _Work:
    """The validation of judges on one suite, with one executor."""

    suite: Suite
    executor: Executor
    progress: Progress
    panel: Panel | None
    known_mutants: MutantLookup

    def validate(self, judge: Judge, kind: PairKind, pairs: Sequence[Pair], results: Results) -> None:
        """Add a judge's metrics on these pairs: alone, and combined with the panel if the panel decides any of them."""
        self.progress.say(f"{self.suite.manifest.name}, {kind.value}: {judge.name}")
        alone: dict[Pair, tuple[Finding, float]] = {}
        helped: dict[Pair, Finding] = {}
        spent = self.panel.budget.usd if self.panel else 0.0
        for group in self._by_world(pairs):
            grader = self._grader(judge)
            subjects = {pair: GradingItem(pair.task, pair.command, pair.without) for pair in group}
            found = grader.grade(subjects.values())
            seconds = _timed(grader, judge, subjects)
            alone |= {pair: (found[subject], seconds[pair]) for pair, subject in subjects.items()}
            places = {pair: PanelItem("", subject) for pair, subject in subjects.items()}
            answers = ask_panel(self.panel, grader, places.values(), found, {"": ()})
            helped |= {pair: answers[place] for pair, place in places.items() if place in answers}
        usd = self.panel.budget.usd - spent if self.panel else 0.0
        if judge.name not in _MODELS:
            self._add(judge, judge.name, kind, alone, 0.0, results)
        if self.panel is not None and (helped or judge.name in _MODELS):
            name = judge.name if judge.name in _MODELS else f"{judge.name} with panel"
            both = {pair: (helped.get(pair, finding), seconds) for pair, (finding, seconds) in alone.items()}
            self._add(judge, name, kind, both, usd, results)

    def _grader(self, judge: Judge) -> Grader:
        executor = self.executor
        return Grader(
            self.suite,
            judge,
            executor.store,
            executor.fingerprint(),
            executor.execute,
            self.progress,
            known_mutants=self.known_mutants,
        )

    def _by_world(self, pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
        worlds = {task.id: task.world for task in self.suite.tasks}
        ordered = sorted(dict.fromkeys(pairs), key=lambda pair: worlds[pair.task])
        yield from (list(group) for _, group in groupby(ordered, key=lambda pair: worlds[pair.task]))

    def _add(
        self,
        judge: Judge,
        name: str,
        kind: PairKind,
        found: Mapping[Pair, tuple[Finding, float]],
        usd: float,
        results: Results,
    ) -> None:
        manifest = self.suite.manifest
        parts = parts_of(manifest.name, self.suite.tasks)
        origin = Origin(name, judge.version, manifest.name, manifest.version, kind)
        judged = [JudgedPair(pair, finding.outcome, seconds) for pair, (finding, seconds) in found.items()]
        results.figures += judge_metrics(origin, judged, parts, usd)
        results.mistakes += (
            Mistake(
                judge=name,
                suite=manifest.name,
                kind=kind,
                part=parts.get(pair.task, Part.HELD_BACK),
                task=pair.task,
                command=pair.command,
                equivalent=pair.equivalent,
                finding=finding,
            )
            for pair, (finding, _) in found.items()
            if (finding.outcome is Outcome.PASS) != pair.equivalent or finding.outcome is Outcome.UNDECIDED
        )


def _timed(grader: Grader, judge: Judge, subjects: Mapping[Pair, GradingItem]) -> dict[Pair, float]:
    """Return the seconds that judging each pair takes. Evidence and imports are loaded before the measurement."""
    grader.ensure_evidence(subjects.values())
    cases = {pair: grader.case(subject) for pair, subject in subjects.items()}
    for case in list(cases.values())[:1]:
        judge.judge(case)
    return {pair: _seconds(judge, case) for pair, case in cases.items()}


def _seconds(judge: Judge, case: Case) -> float:
    began = time.perf_counter()
    judge.judge(case)
    return time.perf_counter() - began


def keep(project: Project, validation: Validation, *, publish: bool) -> Path:
    """Merge metrics into the local file, or into the site's file if `publish` is set, and return its path.

    Metrics of other suites, kinds of pairs and judges in the file are preserved.
    """
    path = project.root / PUBLISHED if publish else project.store_path.with_name(_LOCAL)
    known = read_validation(path)
    fresh = {_place(each) for each in validation.figures}
    kept = [each for each in known.figures if _place(each) not in fresh]
    merged = Validation(
        format=1,
        figures=tuple(sorted([*kept, *validation.figures], key=_order)),
        agreements=validation.agreements or known.agreements,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{merged.model_dump_json(indent=1)}\n".encode())
    return path


def _place(each: JudgeFigures) -> tuple[str, PairKind, str]:
    return each.suite, each.kind, each.judge


def _order(each: JudgeFigures) -> tuple[str, int, int, int]:
    name = each.judge.removesuffix(" with panel")
    rank = list(JUDGES).index(name) if name in JUDGES else len(JUDGES)
    return each.suite, list(PairKind).index(each.kind), list(Part).index(each.part), rank
