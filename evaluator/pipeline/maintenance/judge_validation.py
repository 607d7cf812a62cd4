"""Validate judges: execute labelled commands that have no evidence, judge them, and measure each judge's verdicts.

A pair is a task and a command that is known to be right or wrong. A suite is processed one world at a time, which
limits the use of memory. A judge that asks a model runs only if a panel is available. The other judges always run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.judges import JUDGES, Judge, find_judge
from evaluator.judges.labelled_pairs import HardPair, JudgedPair, Origin, Pair, hardest_pairs, judge_metrics, parts_of
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.judges.panel.similarity import EMBEDDING
from evaluator.metrics.answer_shares import JudgedAnswer, answer_figures, blind_counts
from evaluator.pipeline.grading.cache_keys import GradingItem, MutantLookup
from evaluator.pipeline.grading.executor import Executor, open_executor
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.grading.llm_panel import REPLAY, PanelItem, PanelUse, ask_panel, open_panel
from evaluator.pipeline.maintenance.answer_labels import answer_part
from evaluator.pipeline.maintenance.pair_sources import SuitePairs
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import (
    VALIDATION_FORMAT,
    AnnotatorAgreement,
    AnswerFigures,
    AnswerSet,
    BlindFigures,
    Finding,
    JudgeFigures,
    Mistake,
    Outcome,
    PairKind,
    Part,
    Tier,
    Validation,
)
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel

_WITH_HELD_BACK_HALF: Final = frozenset({PairKind.REAL_ANSWERS, PairKind.BLIND})
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


@dataclass(slots=True)
class Results:
    """The metrics of all judges on labelled pairs, and the verdicts of each judge that are wrong or undecided.

    `answers` holds the metrics on real answers, `answer_sets` the numbers of labels, and `blind` the metrics on blind
    sets. Verdicts on real answers and blind answers to held-back tasks are not among `mistakes`, because a developer
    must not see them.
    """

    figures: list[JudgeFigures] = field(default_factory=list)
    answers: list[AnswerFigures] = field(default_factory=list)
    answer_sets: list[AnswerSet] = field(default_factory=list)
    blind: list[BlindFigures] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def infra_errors(self) -> int:
        """Return the number of verdicts that are infra-errors."""
        blind = sum(row.infra_errors for row in self.blind if row.tier is None)
        return blind + sum(row.infra_errors for row in self.figures) + sum(row.infra_errors for row in self.answers)

    def validation(self, agreements: Sequence[AnnotatorAgreement]) -> Validation:
        """Return the metrics and these agreements with people as the content of a file of metrics."""
        return Validation(
            format=VALIDATION_FORMAT,
            blind=tuple(self.blind),
            answer_sets=tuple(self.answer_sets),
            answers=tuple(self.answers),
            figures=tuple(self.figures),
            agreements=tuple(agreements),
        )

    def hardest(self, judge: str) -> list[HardPair]:
        """Return ten pairs that a judge did not decide correctly. See `hardest_pairs` for the selection."""
        return hardest_pairs(self.mistakes, judge)


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
                validation = _SuiteValidation(suite_pairs, executor, progress, panel, mutants)
                results.answer_sets += [suite_pairs.answers] if suite_pairs.answers else []
                for kind, pairs in suite_pairs.pairs.items():
                    for judge in usable:
                        validation.validate(judge, kind, pairs, results)
    return results


@dataclass(frozen=True, slots=True)
class _SuiteValidation:
    """Validates judges on one suite. All commands are executed with one executor."""

    measured: SuitePairs
    executor: Executor
    progress: Progress
    panel: Panel | None
    known_mutants: MutantLookup

    @property
    def suite(self) -> Suite:
        """Return the suite of the pairs."""
        return self.measured.suite

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
        parts = self._parts(kind)
        origin = Origin(name, judge.version, manifest.name, manifest.version, kind, models)
        if kind is PairKind.REAL_ANSWERS:
            results.answers += self._answer_figures(origin, verdicts, parts)
        elif kind is PairKind.BLIND:
            results.blind += self._blind_figures(origin, verdicts, parts)
        else:
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
            if ((finding.outcome is Outcome.PASS) != pair.equivalent or finding.outcome is Outcome.UNDECIDED)
            and not (kind in _WITH_HELD_BACK_HALF and parts[pair.task] is Part.HELD_BACK)
        )

    def _parts(self, kind: PairKind) -> Mapping[str, Part]:
        name, tasks = self.suite.manifest.name, self.suite.tasks
        if kind is PairKind.REAL_ANSWERS:
            return {task.id: answer_part(name, task.id) for task in tasks}
        if kind is PairKind.BLIND and self.measured.blind:
            return {task.id: self.measured.blind.part_of(task.id) for task in tasks}
        return parts_of(name, tasks)

    def _answer_figures(
        self, origin: Origin, verdicts: Mapping[Pair, tuple[Finding, float]], parts: Mapping[str, Part]
    ) -> list[AnswerFigures]:
        """Return a judge's metrics on real answers, for each half of the tasks that has answers."""
        numbers = self.measured.answers
        if numbers is None:
            return []
        halves: dict[Part, list[JudgedAnswer]] = {}
        for pair, (finding, _) in verdicts.items():
            halves.setdefault(parts[pair.task], []).append(JudgedAnswer(pair.task, pair.equivalent, finding))
        figures = [
            answer_figures(origin.judge, origin.version, numbers, part, halves[part]) for part in Part if part in halves
        ]
        return [row.model_copy(update={"model": origin.model}) for row in figures]

    def _blind_figures(
        self, origin: Origin, verdicts: Mapping[Pair, tuple[Finding, float]], parts: Mapping[str, Part]
    ) -> list[BlindFigures]:
        """Return a judge's metrics on the blind set, for each half of the tasks: on all of them and on each tier."""
        blind = self.measured.blind
        if blind is None:
            return []
        groups = {(task.id, tier): parts[task.id] for task in self.suite.tasks for tier in (None, task.tier)}
        answers = [JudgedAnswer(pair.task, pair.equivalent, finding) for pair, (finding, _) in verdicts.items()]
        names: dict[str, object] = {**origin._asdict(), "label_set": blind.version}
        del names["kind"]
        figures = []
        for part, tier in product(Part, (None, *Tier)):
            if chosen := [answer for answer in answers if groups.get((answer.task, tier)) is part]:
                left_out = sum(groups.get((answer.task, tier)) is part for answer in blind.left_out)
                fields = {"part": part, "tier": tier, "left_out": left_out}
                figures.append(BlindFigures.model_validate(names | fields | blind_counts(chosen)))
        return figures


def _models_of(panel: Panel | None, judge: Judge) -> str:
    """Return the models that a judge can ask, or an empty text."""
    models = ", ".join(panel.models_of(judge.name)) if panel else ""
    return f"{models}, the paper's prompt" if models and panel and panel.prompts else models


def _judging_seconds(grader: Grader, judge: Judge, items: Mapping[Pair, GradingItem]) -> dict[Pair, float]:
    """Return the seconds that the judge needs for each pair. The loading of evidence and modules does not count."""
    grader.ensure_cases(items.values())
    cases = {pair: grader.case(item) for pair, item in items.items()}
    for case in list(cases.values())[:1]:
        judge.judge(case)
    seconds = {}
    for pair, case in cases.items():
        began = time.perf_counter()
        judge.judge(case)
        seconds[pair] = time.perf_counter() - began
    return seconds
