"""Read submissions and their published verdicts into pieces: one file for each submission and suite.

A piece has everything that a board needs of a submission: its metrics, the tasks that it passes, its results as lines
of JSON, and the parts of its page that show its verdicts. It depends on the submission and on the suite alone, so it
stays valid when other submissions come or go. Several processes make pieces. The results of a batch of submissions are
in memory at a time, and no more.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import polars as pl

from evaluator.errors import BashboardError, FormatError, Problem
from evaluator.leaderboard.board_answers import SubmissionPiece, forms_of, write_piece
from evaluator.leaderboard.verdict_parts import render_verdict_parts
from evaluator.metrics.accuracy import accuracy_by_topic
from evaluator.metrics.frames import TaskFacts, results_frame, utilities_frame
from evaluator.metrics.horizon import by_latency_alone
from evaluator.metrics.judge_error import JudgeError
from evaluator.metrics.summary import summary
from evaluator.pipeline.boards.appeal_form import appeal_form
from evaluator.pipeline.boards.assembly import task_facts
from evaluator.pipeline.boards.published_boards import panel_counts, published_file, published_results
from evaluator.pipeline.boards.scored_boards import judge_error
from evaluator.pipeline.grading.results import answers
from evaluator.pipeline.grading.verdict_files import VerdictFile
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import one_line
from evaluator.pipeline.submissions.repository import tolerant_infos
from evaluator.records import Result
from evaluator.store import Store
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import Submission, load_submission
from evaluator.suites.load import Suite

MISSING: Final = "missing"
"""The state of a submission that answers a suite and has no verdict file for it."""
PIECE: Final = "piece"
"""The state of a submission with a piece for a suite. Any other state is the reason why there is no piece."""


@dataclass(frozen=True)
class PieceMaker:
    """The project, the folder of pieces, and the location of the repository, for processes that make pieces.

    `context` is the digest of all that pieces depend on besides submissions.
    """

    root: Path
    context: str
    folder: Path
    location: tuple[str, str] | None


@dataclass(frozen=True)
class Check:
    """What a build has to know of a submission besides its pieces.

    `manifest` is None for a submission that cannot be scored, for the reasons in `problems`. `states` maps suites to
    `PIECE`, `MISSING`, or the reason why its verdict file cannot be read.
    """

    slug: str
    key: str
    manifest: str | None
    problems: tuple[tuple[str, int, str], ...]
    states: Mapping[str, str]

    def as_json(self) -> list[Any]:
        """Return the check as a value for JSON."""
        return [self.slug, self.key, self.manifest, self.problems, self.states]

    @classmethod
    def of_json(cls, value: Sequence[Any]) -> Check:
        """Return a check from the value that `as_json` returned."""
        slug, key, manifest, problems, states = value
        return cls(slug, key, manifest, tuple((path, line, message) for path, line, message in problems), states)

    def found(self) -> tuple[Problem, ...]:
        """Return the problems of a submission that cannot be scored."""
        return tuple(Problem(Path(path), line, message) for path, line, message in self.problems)


def piece_path(folder: Path, suite: str, slug: str) -> Path:
    """Return the path of a piece in the folder of pieces."""
    return folder / suite / slug


@dataclass(frozen=True)
class _State:
    """What a process reads once to make pieces."""

    project: Project
    infos: Mapping[str, SuiteInfo | None]
    suites: Mapping[str, Suite]
    facts: Mapping[str, Mapping[str, TaskFacts]]
    calls: Mapping[str, pl.DataFrame]
    error: JudgeError | None


@lru_cache(maxsize=1)
def _state(root: Path, context: str) -> _State:
    """Read the project. A process reads it again if `context` is another one."""
    project = Project(root)
    suites = {}
    for name in project.answerable_suites():
        with contextlib.suppress(BashboardError):  # the board of this suite is unavailable, and says why
            suites[name] = project.suite(name)
    with contextlib.closing(Store(project.store_path)) as store:
        facts = {name: task_facts(suite, store) for name, suite in suites.items()}
    calls = {name: utilities_frame(own) for name, own in facts.items()}
    return _State(project, tolerant_infos(project), suites, facts, calls, judge_error(project))


def make_pieces(maker: PieceMaker, keys: Mapping[str, str]) -> list[Check]:
    """Make the pieces of some submissions. `keys` maps their slugs to the keys of their inputs."""
    state = _state(maker.root, maker.context)
    gc.disable()  # a batch makes millions of objects without cycles, and looking for cycles takes half of the time
    try:
        with contextlib.closing(Store(state.project.store_path)) as store:
            return _make_pieces(maker, state, store, keys)
    finally:
        gc.enable()
        gc.collect()


def _make_pieces(maker: PieceMaker, state: _State, store: Store, keys: Mapping[str, str]) -> list[Check]:
    checks, files = [], {name: dict[str, VerdictFile]() for name in state.suites}
    loaded = []
    for slug, key in keys.items():
        folder = state.project.root / "submissions" / slug
        try:
            submission = load_submission(folder, state.infos, state.project.settings.limits)
        except FormatError as error:
            problems = tuple((str(each.path), each.line, each.message) for each in error.problems)
            checks.append(Check(slug, key, None, problems, {}))
            continue
        loaded.append(submission)
        states = dict(_read_files(state.project, submission, files))
        checks.append(Check(slug, key, submission.manifest.model_dump_json(exclude_defaults=True), (), states))
    for name, own in files.items():
        listed = [submission for submission in loaded if submission.slug in own]
        if listed:
            for slug, piece in _pieces(maker, state, store, state.suites[name], listed, own):
                write_piece(piece_path(maker.folder, name, slug), keys[slug], piece)
    return checks


def _read_files(
    project: Project, submission: Submission, files: Mapping[str, dict[str, VerdictFile]]
) -> Iterator[tuple[str, str]]:
    """Read the verdict files of a submission into `files`, and yield its state for each suite that it answers."""
    for name in submission.manifest.suites:
        if name not in files:
            continue
        try:
            file = published_file(project, name, submission.slug)
        except FormatError as error:
            yield name, one_line(error)
            continue
        if file is not None:
            files[name][submission.slug] = file
        yield name, MISSING if file is None else PIECE


def _pieces(
    maker: PieceMaker,
    state: _State,
    store: Store,
    suite: Suite,
    listed: Sequence[Submission],
    files: Mapping[str, VerdictFile],
) -> Iterator[tuple[str, SubmissionPiece]]:
    """Yield the piece of each submission with a verdict file for a suite."""
    name = suite.manifest.name
    results = published_results(suite, list(answers(suite, listed)), files, store)
    frame = by_latency_alone(results_frame(results, state.facts[name]))
    scores = {row["submission"]: row for row in summary(frame, state.calls[name], state.error).iter_rows(named=True)}
    topics: dict[str, list[dict[str, Any]]] = {}
    for row in accuracy_by_topic(frame).iter_rows(named=True):
        topics.setdefault(row["submission"], []).append(row)
    appeal = appeal_form(maker.location, name)
    for slug, own in groupby(results, key=lambda result: result.submission):
        by_task = _by_task(own)
        facts = {
            "suite": name,
            "scores": scores[slug],
            "topics": topics[slug],
            "asked": list(by_task),
            "passed": [task for task, (first, *_) in by_task.items() if first.finding.outcome == "pass"],
            "forms": forms_of(by_task),
            "header": json.loads(files[slug].header.model_dump_json()),
            "panel": panel_counts(result for rows in by_task.values() for result in rows),
        }
        yield slug, SubmissionPiece(facts, by_task, render_verdict_parts(suite.tasks, slug, by_task, appeal))


def _by_task(results: Iterable[Result]) -> dict[str, tuple[Result, ...]]:
    return {task: tuple(rows) for task, rows in groupby(results, key=lambda result: result.task)}
