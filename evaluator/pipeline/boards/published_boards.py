"""Boards of published verdicts, built from the committed verdict files without an engine, evidence or network.

An answer without a published verdict counts as an infra-error, which is never a score, and its row is unranked. A
submission without a verdict file is not on the board but listed as awaiting verdicts. A row shows if its verdicts come
from another judge version, suite version or environment (`JudgedBy`). No file states today's environment, so a row is
compared with the most common one.

Verdict files hold no execution times, so a system's time is its reported latency alone. All other metrics equal those
of a board that is scored from the same evidence.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.judges import Judge, find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.judge_error import JudgeError
from evaluator.pipeline.boards.assembly import board_of_results, suite_facts, task_facts
from evaluator.pipeline.boards.scored_boards import judge_error
from evaluator.pipeline.grading.cache_keys import is_executable
from evaluator.pipeline.grading.results import SubmittedCandidate, answers, measure_texts, result_of
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound, suites_on_board
from evaluator.records import (
    Finding,
    JudgedBy,
    Outcome,
    PublishedVerdict,
    Result,
    RunMetrics,
    Standing,
    Step,
    SuiteManifest,
    VerdictsHeader,
    command_digest,
)
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

NO_VERDICT: Final = Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason="no verdict is published yet")
"""The verdict on an answer that has no published line."""

Files = Mapping[str, VerdictFile]
"""The verdict files of one suite, by submission."""

Fact = Literal["judge", "suite", "environment"]

_NO_TIMES: Final = (
    "not published, as they differ from run to run: a system's time is the latency that it reports itself, alone"
)


def _silent(line: str) -> None:
    """Ignore the line."""


def published_boards(
    project: Project,
    *,
    suites: Sequence[str] = (),
    submissions: Sequence[str] = (),
    say: Callable[[str], None] = _silent,
) -> list[SuiteBoard]:
    """Return the published boards of these suites, or of all, with these submissions, or with all.

    An external suite is included if it is named or has published verdicts. A submission that can no longer be scored is
    left out and reported to `say`. Raises FormatError for an invalid verdict file.
    """
    entries, broken = load_sound(project, submissions)
    for slug, problems in broken.items():
        say(f"left out, as it cannot be scored: {printable(slug)}: {printable(str(problems[0]))}")
    judge, error = find_judge(project.settings.judge), judge_error(project)
    boards = []
    with contextlib.closing(Store(project.store_path)) as store:
        for suite in [project.suite(name) for name in suites] or suites_on_board(project, entries):
            files = published_files(project, suite.manifest.name, entries)
            if files or suites or not suite.manifest.foreign:
                boards.append(published_board(suite, entries, files, store, judge, error))
    return boards


def merge_with_published(project: Project, board: SuiteBoard) -> SuiteBoard:
    """Return a scored board with the published rows of all other submissions added. The scored rows take precedence."""
    suite = project.suite(board.name)
    others = [each for each in load_sound(project).submissions if each.slug not in board.submissions]
    files = published_files(project, board.name, others)
    there = [each for each in others if each.slug in files]
    with contextlib.closing(Store(project.store_path)) as store:
        results = [*board.results, *published_results(suite, list(answers(suite, there)), files, store)]
        facts = task_facts(suite, store)
    manifests = {**board.submissions, **{each.slug: each.manifest for each in there}}
    error = judge_error(project)
    return board_of_results(suite, manifests, results, facts, board.environment, error, timed=False)


def published_files(project: Project, suite: str, submissions: Iterable[Submission]) -> dict[str, VerdictFile]:
    """Return the verdict files that these submissions have for the suite. Raises FormatError for an invalid file."""
    found = {}
    for each in submissions:
        path = verdicts_path(project, each.slug, suite)
        file = read_verdicts(path)
        if file is not None and file.header.suite != suite:
            message = f"suite: expected {suite!r}, as the file is named, found {file.header.suite!r}"
            raise FormatError([Problem(path, 1, message)])
        if file is not None:
            found[each.slug] = file
    return found


def published_board(
    suite: Suite,
    submissions: Sequence[Submission],
    files: Files,
    store: Store,
    judge: Judge,
    error: JudgeError | None = None,
) -> SuiteBoard:
    """Return a suite's board from these files. `judge` is today's judge, and `error` is its measured error.

    The store only provides values that are computed from texts.
    """
    there = [each for each in submissions if each.slug in files]
    given = list(answers(suite, there))
    results = published_results(suite, given, files, store)
    environment = _environment(suite.manifest, files, results)
    manifests = {each.slug: each.manifest for each in there}
    facts = task_facts(suite, store)
    board = board_of_results(suite, manifests, results, facts, environment, error, timed=False)
    usual = _usual_fingerprint(files)
    rows = [_with_judge(row, judged_by(files[row.submission].header, judge, suite, usual)) for row in board.standings]
    awaiting = (each.slug for each in submissions if suite.manifest.name in each.manifest.suites)
    return replace(
        board,
        standings=tuple(rows),
        published=True,
        awaiting=tuple(slug for slug in awaiting if slug not in files),
    )


def published_results(suite: Suite, given: Sequence[SubmittedCandidate], files: Files, store: Store) -> list[Result]:
    """Return the result of every answer of the submissions that have a file."""
    lines = [_line(files[each.submission], each) for each in given]
    executed = any(line is not None and line.run is not None for line in lines)
    texts = measure_texts(store, given)
    name = suite.manifest.name
    return [
        result_of(name, each, line.finding if line else NO_VERDICT, texts, _run(line, each, executed))
        for each, line in zip(given, lines, strict=True)
    ]


def _run(line: PublishedVerdict | None, answer: SubmittedCandidate, executed: bool) -> RunMetrics | None:
    """Return an answer's run metrics. If any answer was `executed`, a command that cannot run gets `NOTHING_RUN`."""
    if line and line.run:
        return line.run
    return NOTHING_RUN if executed and not is_executable(answer.command) else None


def _line(file: VerdictFile, answer: SubmittedCandidate) -> PublishedVerdict | None:
    """Return an answer's published line, or None.

    An empty command and a missing one have the same digest. The verdict distinguishes them.
    """
    found = file.by_command.get((answer.task.id, command_digest(answer.command)))
    if found is None or (found.finding.outcome is Outcome.UNANSWERED) != (answer.candidate is None):
        return None
    return found


def judged_by(header: VerdictsHeader, judge: Judge, suite: Suite, fingerprint: str) -> JudgedBy:
    """Return the origin of a row's verdicts and how it differs from today's judge, suite and environment."""
    differs: list[Fact] = []
    if (header.judge, header.judge_version) != (judge.name, judge.version):
        differs.append("judge")
    if header.suite_version != suite.manifest.version:
        differs.append("suite")
    if header.fingerprint != fingerprint:
        differs.append("environment")
    return JudgedBy(
        judge=header.judge,
        judge_version=header.judge_version,
        suite_version=header.suite_version,
        fingerprint=header.fingerprint,
        differs=tuple(differs),
    )


def _usual_fingerprint(files: Files) -> str:
    """Return the fingerprint of the environment in which most rows were judged, or the first by name of several."""
    counts = Counter(file.header.fingerprint for file in files.values())
    return min(counts, key=lambda each: (-counts[each], each), default="")


def _with_judge(row: Standing, judged: JudgedBy) -> Standing:
    """Return a row with the origin of its verdicts. The measured judge error is removed if another judge gave them."""
    figures = row.figures
    if "judge" in judged.differs:
        figures = figures.model_copy(update={"judge_low": None, "judge_high": None})
    return row.model_copy(update={"judged_by": judged, "figures": figures})


def _environment(manifest: SuiteManifest, files: Files, results: Iterable[Result]) -> dict[str, str]:
    headers = [file.header for file in files.values()]
    fingerprints = _counted(f"fingerprint {each.fingerprint[:16]}" for each in headers)
    said = {
        "Base": f"{manifest.base.distribution} {manifest.base.release}, {fingerprints}",
        "Judge": _counted(f"{each.judge}, version {each.judge_version}" for each in headers),
        "Suite version": _counted(each.suite_version for each in headers),
        "Run times": _NO_TIMES,
    }
    return said | suite_facts(manifest) | _panel(results)


def _counted(values: Iterable[str]) -> str:
    """Return the values, the most common first. If they differ, each is followed by its number of rows."""
    counts = Counter(values)
    if len(counts) < 2:
        return next(iter(counts), "no verdict is published yet")
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return "; ".join(f"{value} ({count} row{'s' * (count > 1)})" for value, count in ordered)


def _panel(results: Iterable[Result]) -> dict[str, str]:
    findings = [each.finding for each in results]
    decided = sum(each.step is Step.PANEL and each.outcome is not Outcome.UNDECIDED for each in findings)
    left = sum(each.outcome is Outcome.UNDECIDED for each in findings)
    return {"Panel": f"decided {decided} of {decided + left} answers left undecided by execution"} if decided else {}
