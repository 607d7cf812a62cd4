"""Validate judges: collect labelled pairs, execute commands that have no evidence, and measure each judge's verdicts.

A pair is a task and a command that is known to be right or wrong. A suite is processed one world at a time, which
limits the use of memory. A judge that asks a model runs only if a panel is available. The other judges always run.
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
from evaluator.judges import JUDGES, Judge, find_judge
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
from evaluator.judges.panel.similarity import EMBEDDING
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
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

_LOCAL_NAME: Final = "judges.json"
_MODEL_JUDGES: Final = frozenset(judge.name for judge in BY_MODEL)


class Description(NamedTuple):
    """A judge's name, version and kind of evidence, with one line about the judge for users."""

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
class SuitePairs:
    """The labelled pairs of one suite for each `PairKind`. A label states whether a pair's command is right."""

    suite: Suite
    pairs: Mapping[PairKind, Sequence[Pair]]


@dataclass(slots=True)
class Results:
    """The metrics of all judges on labelled pairs, and the verdicts of each judge that are wrong or undecided."""

    figures: list[JudgeFigures] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)

    def hardest(self, judge: str) -> list[HardPair]:
        """Return ten pairs that a judge did not decide correctly. See `hardest_pairs` for the selection."""
        return hardest_pairs(self.mistakes, judge)


def pairs_of_suite(project: Project, suite: Suite, progress: Progress, *, mutants: bool) -> SuitePairs:
    """Return a suite's labelled pairs of each kind (see `PairKind`). If `mutants` is false, leave out that kind."""
    pairs = {
        PairKind.TABLE_4: list(table_4_pairs(suite.tasks)),
        PairKind.NEAR_MISSES: list(near_miss_pairs(suite.tasks)),
        PairKind.MUTANTS: list(_all_mutants(project, suite)) if mutants else [],
        PairKind.LABELLED: list(_labelled_mutants(project, suite, progress)),
    }
    return SuitePairs(suite, {kind: pairs_of_kind for kind, pairs_of_kind in pairs.items() if pairs_of_kind})


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
    return [Problem(path, line, f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}") for detail in details]


def read_labelled(project: Project, path: Path) -> list[SuitePairs]:
    """Read a file of labelled pairs. Raises FormatError with every invalid line, and UsageError for a missing file."""
    problems: list[Problem] = []
    pairs_by_suite: dict[str, list[Pair]] = {}
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
            pairs_by_suite.setdefault(label.suite, []).append(Pair(label.task, label.command, None, label.label))
    if problems:
        raise FormatError(problems)
    return [SuitePairs(suites[name], {PairKind.LABELLED: pairs}) for name, pairs in pairs_by_suite.items()]


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def validate_judges(
    project: Project,
    sets: Iterable[SuitePairs],
    progress: Progress,
    *,
    judges: Sequence[str] = (),
    panel_use: PanelUse = REPLAY,
    workers: int | None = None,
) -> Results:
    """Measure the named judges on every set of labelled pairs. Without names, measure all judges that can run."""
    selected = [find_judge(name) for name in judges or JUDGES]
    results = Results()
    named = [judge.name for judge in selected if judge.name in _MODEL_JUDGES] if judges or panel_use.prompts else []
    panel_judge = max(named, key=lambda name: name not in EMBEDDING, default=None)  # a chat needs more settings
    with open_panel(project, progress, panel_use, panel_judge) as panel:
        if panel is not None and panel.prompts is not None:
            selected = [find_judge(name) for name in panel.prompts.require(judges)]
        usable = [judge for judge in selected if judge.name not in _MODEL_JUDGES or _models_of(panel, judge)]
        for suite_pairs in sets:
            with open_executor(project, suite_pairs.suite, progress, workers=workers) as executor:
                mutants = known_mutants_of(project, suite_pairs.suite, executor.store)
                validation = _SuiteValidation(suite_pairs.suite, executor, progress, panel, mutants)
                for kind, pairs in suite_pairs.pairs.items():
                    for judge in usable:
                        validation.validate(judge, kind, pairs, results)
    return results


@dataclass(frozen=True, slots=True)
class _SuiteValidation:
    """Validates judges on one suite. All commands are executed with one executor."""

    suite: Suite
    executor: Executor
    progress: Progress
    panel: Panel | None
    known_mutants: MutantLookup

    def validate(self, judge: Judge, kind: PairKind, pairs: Sequence[Pair], results: Results) -> None:
        """Add a judge's metrics on these pairs.

        If the panel decides some pairs, also add the metrics of the judge together with the panel.
        """
        self.progress.say(f"{self.suite.manifest.name}, {kind.value}: {judge.name}")
        alone: dict[Pair, tuple[Finding, float]] = {}
        with_panel: dict[Pair, Finding] = {}
        models = _models_of(self.panel, judge)
        usd_before = self.panel.budget.usd if self.panel else 0.0
        worlds = {task.id: task.world for task in self.suite.tasks}
        ordered = sorted(dict.fromkeys(pairs), key=lambda pair: worlds[pair.task])
        for _, group in groupby(ordered, key=lambda pair: worlds[pair.task]):
            grader = self._grader(judge)
            items = {pair: GradingItem(pair.task, pair.command, pair.without) for pair in group}
            findings = grader.grade(items.values())
            seconds = _judging_seconds(grader, judge, items)
            alone |= {pair: (findings[item], seconds[pair]) for pair, item in items.items()}
            panel_items = {pair: PanelItem("", item) for pair, item in items.items()}
            by_panel = ask_panel(self.panel if models else None, grader, panel_items.values(), findings, {"": ()})
            with_panel |= {pair: by_panel[item] for pair, item in panel_items.items() if item in by_panel}
        usd = self.panel.budget.usd - usd_before if self.panel else 0.0
        if judge.name not in _MODEL_JUDGES:
            self._add(judge, judge.name, "", kind, alone, 0.0, results)
        if with_panel or judge.name in _MODEL_JUDGES:
            name = judge.name if judge.name in _MODEL_JUDGES else f"{judge.name} with panel"
            combined = {pair: (with_panel.get(pair, finding), seconds) for pair, (finding, seconds) in alone.items()}
            self._add(judge, name, models, kind, combined, usd, results)

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

    def _add(
        self,
        judge: Judge,
        name: str,
        models: str,
        kind: PairKind,
        verdicts: Mapping[Pair, tuple[Finding, float]],
        usd: float,
        results: Results,
    ) -> None:
        manifest = self.suite.manifest
        parts = parts_of(manifest.name, self.suite.tasks)
        origin = Origin(name, judge.version, manifest.name, manifest.version, kind, models)
        judged = [JudgedPair(pair, finding.outcome, seconds) for pair, (finding, seconds) in verdicts.items()]
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
            for pair, (finding, _) in verdicts.items()
            if (finding.outcome is Outcome.PASS) != pair.equivalent or finding.outcome is Outcome.UNDECIDED
        )


def _models_of(panel: Panel | None, judge: Judge) -> str:
    """Return the models that a judge can ask, or an empty text."""
    models = ", ".join(panel.models_of(judge.name)) if panel else ""
    return f"{models}, the paper's prompt" if models and panel and panel.prompts else models


def _judging_seconds(grader: Grader, judge: Judge, items: Mapping[Pair, GradingItem]) -> dict[Pair, float]:
    """Return the seconds that the judge needs for each pair. The loading of evidence and modules does not count."""
    grader.ensure_evidence(items.values())
    cases = {pair: grader.case(item) for pair, item in items.items()}
    for case in list(cases.values())[:1]:
        judge.judge(case)
    seconds = {}
    for pair, case in cases.items():
        began = time.perf_counter()
        judge.judge(case)
        seconds[pair] = time.perf_counter() - began
    return seconds


def save_metrics(project: Project, validation: Validation, *, publish: bool) -> Path:
    """Merge judges' metrics into a file, and return its path. Metrics of other suites, pair kinds and judges stay.

    If `publish` is set, the file is the website's metrics file. Otherwise, it is the local metrics file.
    """
    path = project.root / JUDGE_METRICS if publish else project.store_path.with_name(_LOCAL_NAME)
    known = read_validation(path)
    replaced = {_metrics_key(figures) for figures in validation.figures}
    preserved = [figures for figures in known.figures if _metrics_key(figures) not in replaced]
    merged = Validation(
        format=1,
        figures=tuple(sorted([*preserved, *validation.figures], key=_metrics_order)),
        agreements=validation.agreements or known.agreements,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{merged.model_dump_json(indent=1)}\n".encode())
    return path


def _metrics_key(figures: JudgeFigures) -> tuple[str, PairKind, str, str]:
    return figures.suite, figures.kind, figures.judge, figures.model


def _metrics_order(figures: JudgeFigures) -> tuple[str, int, int, int, str]:
    name = figures.judge.removesuffix(" with panel")
    rank = list(JUDGES).index(name) if name in JUDGES else len(JUDGES)
    return figures.suite, list(PairKind).index(figures.kind), list(Part).index(figures.part), rank, figures.model
