"""From submissions to a board: what is asked of each, what became of it, and where that puts them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.frames import TaskFacts, results_frame, utilities_frame
from evaluator.metrics.human_time import human_time
from evaluator.metrics.judge_error import JudgeError, measured_error
from evaluator.pipeline.boards.judge_figures import PUBLISHED, read_validation
from evaluator.pipeline.boards.ranking import rank_submissions
from evaluator.pipeline.boards.runs import Asked, run_figures
from evaluator.pipeline.grading.bench import BaseChangedError, open_grader
from evaluator.pipeline.grading.grader import Grader, Plan
from evaluator.pipeline.grading.keys import Subject
from evaluator.pipeline.grading.panel import Place, describe_panel, plan_panel, results_with_panel
from evaluator.pipeline.grading.scores import nlc2cmd_scores, reference_calls, text_figures
from evaluator.pipeline.project import Project
from evaluator.pipeline.submitting.submissions import load_submissions
from evaluator.progress import Progress
from evaluator.records import Candidate, Finding, Outcome, Prediction, Result, RunFigures, Task, TextFigures, Usage
from evaluator.store import Store
from evaluator.submissions.load import Submission
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel


@dataclass(frozen=True, slots=True)
class Answer:
    """One candidate's place: which submission gave it for which task, and at which rank. None: nothing given."""

    submission: str
    task: Task
    rank: int
    candidate: Candidate | None
    usage: Usage | None = None

    @property
    def command(self) -> bytes:
        """Its text, empty where nothing was given."""
        return self.candidate.command if self.candidate else b""

    @property
    def subject(self) -> Subject:
        """What is to be judged of it."""
        return Subject(self.task.id, None if self.candidate is None else self.candidate.command)


def answers(suite: Suite, submissions: Sequence[Submission]) -> Iterator[Answer]:
    """Every candidate of every submission that answers the suite; an unanswered task has one of rank 1.

    Tasks that are newer than the version that a submission answers are not asked of it.
    """
    for submission in submissions:
        answered = submission.manifest.suites.get(suite.manifest.name)
        if answered is None:
            continue
        for task in suite.tasks:
            if not task.is_asked_of(answered):
                continue
            given = submission.candidates(suite.manifest.name, task.id)
            usage = _usage(submission.predictions[suite.manifest.name].get(task.id))
            if not given:
                yield Answer(submission.slug, task, 1, None, usage)
            for rank, candidate in enumerate(given, 1):
                yield Answer(submission.slug, task, rank, candidate, usage)


def _usage(prediction: Prediction | None) -> Usage | None:
    """What a prediction reports of the work it took, None where it is silent."""
    fields = {name: getattr(prediction, name) for name in Usage.model_fields} if prediction else {}
    return Usage(**fields) if any(value is not None for value in fields.values()) else None


class _Measured(NamedTuple):
    """What is measured of candidates beside verdicts, by task and command."""

    scores: Mapping[tuple[str, bytes], float]
    texts: Mapping[tuple[str, bytes], TextFigures]
    runs: Mapping[Asked, RunFigures]


def _measure(grader: Grader, given: Sequence[Answer]) -> _Measured:
    commands = [(each.task, each.command) for each in given]
    return _Measured(
        nlc2cmd_scores(grader.store, ((each.task, each.candidate.command) for each in given if each.candidate)),
        text_figures(grader.store, commands),
        run_figures(grader, ((each.task.id, each.subject.command) for each in given)),
    )


def _result(suite: str, answer: Answer, finding: Finding, measured: _Measured) -> Result:
    candidate = answer.candidate
    return Result(
        submission=answer.submission,
        suite=suite,
        task=answer.task.id,
        rank=answer.rank,
        command=candidate.command if candidate else None,
        confidence=candidate.confidence if candidate else 0.0,
        finding=finding,
        nlc2cmd=measured.scores[answer.task.id, candidate.command] if candidate else -1.0,
        text=measured.texts.get((answer.task.id, answer.command)),
        run=measured.runs.get((answer.task.id, answer.subject.command)),
        usage=answer.usage,
    )


def board_of(
    suite: Suite,
    submissions: Sequence[Submission],
    grader: Grader,
    panel: Panel | None = None,
    error: JudgeError | None = None,
) -> SuiteBoard:
    """Grade what is not graded yet, show the panel what that leaves undecided, and compute the suite's board.

    `error` is what was measured of the grader's judge.
    """
    given = list(answers(suite, submissions))
    findings = grader.grade(answer.subject for answer in given)
    measured = _measure(grader, given)
    results = [_result(suite.manifest.name, each, findings[each.subject], measured) for each in given]
    manifests = {submission.slug: submission.manifest for submission in submissions}
    results = results_with_panel(panel, grader, results, manifests)
    facts = task_facts(suite, grader.store)
    frame = results_frame(results, facts)
    version, tasks = suite.manifest.version, len(suite.tasks)
    rows, resolution = rank_submissions(frame, utilities_frame(facts), manifests, version, tasks, error)
    return SuiteBoard(
        manifest=suite.manifest,
        worlds={name: world.manifest for name, world in suite.worlds.items()},
        tasks=suite.tasks,
        standings=rows,
        results=tuple(results),
        submissions={row.submission: manifests[row.submission] for row in rows},
        environment=_environment(suite, grader) | describe_panel(panel, results),
        resolution=resolution,
        utilities={name: tuple(sorted(each.calls)) for name, each in facts.items()},
        times={name: each.timing for name, each in facts.items() if each.timing},
    )


def task_facts(suite: Suite, store: Store) -> dict[str, TaskFacts]:
    """What the metrics need to know of every task, by its id."""
    calls = reference_calls(store, suite.tasks)
    return {
        task.id: TaskFacts(task.topic.value, task.difficulty, calls.get(task.id, {}), human_time(task))
        for task in suite.tasks
    }


def _environment(suite: Suite, grader: Grader) -> dict[str, str]:
    manifest = suite.manifest
    return {
        "Base": f"{manifest.base.distribution} {manifest.base.release}, fingerprint {grader.fingerprint[:16]}",
        "Judge": f"{grader.judge.name}, version {grader.judge.version}",
        "Clock": manifest.clock.strftime("%Y-%m-%d %H:%M:%S UTC"),
        "Limits": f"{manifest.limits.cpu_s:g} s of CPU, {manifest.limits.memory_mb} MB, "
        f"{manifest.limits.disk_mb} MB of files, {manifest.limits.processes} processes",
    }


def make_boards(
    project: Project,
    progress: Progress,
    *,
    suites: Sequence[str] = (),
    submissions: Sequence[str] = (),
    judge: str | None = None,
    workers: int | None = None,
    execute: bool = True,
    panel: Panel | None = None,
) -> list[SuiteBoard]:
    """Boards of the suites named (all where none is), with the submissions named (all where none is).

    What the judge leaves undecided is shown to the panel where there is one (see `open_panel`). With `execute`
    false, MissingError says what has no evidence yet.
    """
    entries = load_submissions(project, submissions)
    loaded = [project.suite(name) for name in suites] or suites_on_board(project, entries)
    error = judge_error(project, judge)
    boards = []
    for suite in loaded:
        open_this = functools.partial(
            open_grader, project, suite, progress, judge=judge, workers=workers, execute=execute
        )
        try:
            with open_this() as grader:
                boards.append(board_of(suite, entries, grader, panel, error))
        except BaseChangedError:  # the image had to be built anew and brought other packages: other keys
            with open_this() as grader:
                boards.append(board_of(suite, entries, grader, panel, error))
    return boards


def judge_error(project: Project, judge: str | None = None) -> JudgeError | None:
    """What the project publishes about errors of the judge named (its own where none is), in its present version."""
    asked = find_judge(judge or project.settings.judge)
    published = read_validation(project.root / PUBLISHED)
    return measured_error(
        each for each in published.figures if (each.judge, each.version) == (asked.name, asked.version)
    )


def suites_on_board(project: Project, submissions: Sequence[Submission]) -> list[Suite]:
    """The suites that have a board: ours, and of others' those that somebody here answers."""
    answered = {name for submission in submissions for name in submission.manifest.suites}
    return [suite for suite in project.suites() if not suite.manifest.foreign or suite.manifest.name in answered]


def plan_rescore(
    project: Project,
    suite: Suite,
    progress: Progress,
    submissions: Sequence[str] = (),
    judge: str | None = None,
    panel: Panel | None = None,
) -> Plan:
    """What grading a suite would do now, and why; with a panel also what that would be asked."""
    entries = load_submissions(project, submissions)
    own = {entry.slug: entry.manifest.models for entry in entries}
    with open_grader(project, suite, progress, judge=judge) as grader:
        given = list(answers(suite, entries))
        places = (Place(answer.submission, answer.subject) for answer in given)
        plan = grader.plan(answer.subject for answer in given)
        return plan._replace(panel=plan_panel(panel, grader, places, own))


def incomplete(boards: Sequence[SuiteBoard]) -> Counter[str]:
    """How many results are infra-errors, ours and to be tried again, by their reasons."""
    findings = (result.finding for board in boards for result in board.results)
    return Counter(finding.reason for finding in findings if finding.outcome is Outcome.INFRA_ERROR)
