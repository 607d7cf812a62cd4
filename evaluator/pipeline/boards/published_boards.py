"""Build boards from published verdicts. This needs only the committed verdict files: no engine, evidence or network.

An answer without a published verdict counts as an infra-error (a failure of the infrastructure), and its submission is
unranked. So does an answer whose line says that it was not run, if no candidate before it passes. A submission without
a verdict file has no row, and is listed as awaiting verdicts. Each row states whether its verdicts come from another
judge version, suite version or environment (`JudgedBy`). No file states today's environment, so the environment of each
row is compared with the most common environment of the board's files.

Verdict files hold no execution times, so the time of a system is only its reported latency. All other metrics are the
same as on a board that is scored from the same evidence.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from evaluator.errors import FormatError, Problem
from evaluator.judges import Judge, find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.judge_error import JudgeError
from evaluator.pipeline.boards.assembly import board_of_results, suite_facts, task_facts
from evaluator.pipeline.boards.board_set import BoardSet
from evaluator.pipeline.boards.scored_boards import judge_error
from evaluator.pipeline.grading.cache_keys import is_executable
from evaluator.pipeline.grading.results import (
    SubmittedCandidate,
    answers,
    chains_of,
    final_findings,
    measure_texts,
    result_of,
)
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import asked_suites, choose_suites, one_line
from evaluator.pipeline.submissions.repository import load_sound, report_left_out
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
from evaluator.wording import pluralize

NO_VERDICT: Final = Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason="no verdict is published yet")
"""The verdict on an answer that has no published line."""

Files = Mapping[str, VerdictFile]
"""The verdict files of one suite, by submission."""

Fact = Literal["judge", "suite", "environment"]

_TIMES_NOTE: Final = (
    "not published, as they differ from run to run: a system's time is the latency that it reports itself, alone"
)


def published_boards(
    project: Project,
    *,
    suites: Sequence[str] = (),
    submissions: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> BoardSet:
    """Return the published boards of these suites with these submissions. By default, use all suites and submissions.

    An external suite is included only if `suites` names it or if it has published verdicts. A submission that can no
    longer be scored is left out, and so is an invalid verdict file. `say` is called with a message for each. A suite
    that cannot be loaded is unavailable.
    """
    sound = load_sound(project, submissions)
    report_left_out(sound, say)
    loaded = sound.submissions
    judge, error = find_judge(project.settings.judge), judge_error(project)
    chosen = choose_suites(project, suites, loaded)
    asked = asked_suites(suites, submissions, loaded)
    found = BoardSet([], dict(chosen.unavailable), {}, asked, tuple(sound.broken))
    with contextlib.closing(Store(project.store_path)) as store:
        for suite in chosen.suites:
            files = published_files(project, suite.manifest.name, loaded, say)
            if files or suites or not suite.manifest.foreign:
                found.boards.append(published_board(suite, loaded, files, store, judge, error))
    return found


def merge_with_published(
    project: Project, board: SuiteBoard, say: Callable[[str], None] = lambda line: None
) -> SuiteBoard:
    """Return a scored board with additional rows for all submissions that have only published verdicts.

    A submission that can no longer be scored is left out and reported to `say`.
    """
    suite, sound = project.suite(board.name), load_sound(project)
    report_left_out(sound, say)
    others = [submission for submission in sound.submissions if submission.slug not in board.submissions]
    files = published_files(project, board.name, others, say)
    published = [submission for submission in others if submission.slug in files]
    with contextlib.closing(Store(project.store_path)) as store:
        results = [*board.results, *published_results(suite, list(answers(suite, published)), files, store)]
        facts = task_facts(suite, store)
    manifests = {**board.submissions, **{submission.slug: submission.manifest for submission in published}}
    error = judge_error(project)
    return board_of_results(suite, manifests, results, facts, board.environment, error, timed=False)


def published_files(
    project: Project, suite: str, submissions: Iterable[Submission], say: Callable[[str], None] | None = None
) -> dict[str, VerdictFile]:
    """Return the verdict files that these submissions have for the suite.

    Raises FormatError for an invalid file. If `say` is given, an invalid file is left out and reported to `say`.
    """
    files = {}
    for submission in submissions:
        try:
            file = published_file(project, suite, submission.slug)
        except FormatError as error:
            if say is None:
                raise
            say(f"left out, as its verdicts cannot be read: {submission.slug}: {one_line(error)}")
            continue
        if file is not None:
            files[submission.slug] = file
    return files


def published_file(project: Project, suite: str, slug: str) -> VerdictFile | None:
    """Return the verdict file of a submission for a suite, or None. Raises FormatError for an invalid file."""
    path = verdicts_path(project, slug, suite)
    file = read_verdicts(path)
    if file is not None and file.header.suite != suite:
        message = f"suite: expected {suite!r}, as the file is named, found {file.header.suite!r}"
        raise FormatError([Problem(path, 1, message)])
    return file


def published_board(
    suite: Suite,
    submissions: Sequence[Submission],
    files: Files,
    store: Store,
    judge: Judge,
    error: JudgeError | None = None,
) -> SuiteBoard:
    """Return a suite's board from these verdict files.

    `judge` is the current judge, and `error` is its measured error. `store` is only used for values that are computed
    from texts, such as NLC2CMD scores.
    """
    listed = [submission for submission in submissions if submission.slug in files]
    candidates = list(answers(suite, listed))
    results = published_results(suite, candidates, files, store)
    headers = [file.header for file in files.values()]
    environment = describe_environment(suite.manifest, headers, panel_counts(results))
    manifests = {submission.slug: submission.manifest for submission in listed}
    facts = task_facts(suite, store)
    board = board_of_results(suite, manifests, results, facts, environment, error, timed=False)
    return as_published(board, suite, {slug: file.header for slug, file in files.items()}, judge, submissions)


def as_published(
    board: SuiteBoard,
    suite: Suite,
    headers: Mapping[str, VerdictsHeader],
    judge: Judge,
    submissions: Iterable[Submission],
) -> SuiteBoard:
    """Return a board whose rows state where their verdicts come from. `headers` are those of the verdict files.

    The other submissions to the suite are listed as awaiting verdicts.
    """
    fingerprint = _usual_fingerprint(headers.values())
    rows = [_add_origin(row, judged_by(headers[row.submission], judge, suite, fingerprint)) for row in board.standings]
    awaiting = (submission.slug for submission in submissions if suite.manifest.name in submission.manifest.suites)
    return replace(
        board,
        standings=tuple(rows),
        published=True,
        awaiting=tuple(slug for slug in awaiting if slug not in headers),
    )


def published_results(
    suite: Suite, candidates: Sequence[SubmittedCandidate], files: Files, store: Store
) -> list[Result]:
    """Return the results of these candidates from the verdict files of their submissions."""
    executed = {slug for slug, file in files.items() if any(verdict.run is not None for verdict in file.verdicts)}
    texts = measure_texts(store, candidates)
    name = suite.manifest.name
    results = []
    for chain in chains_of(candidates):
        commands = [candidate.candidate and candidate.candidate.command for candidate in chain]
        lines = {
            command: line
            for command, candidate in zip(commands, chain, strict=True)
            if (line := _published_line(files[candidate.submission], candidate))
        }
        ran = {command: line.finding for command, line in lines.items() if line.finding.outcome is not Outcome.NOT_RUN}
        final = final_findings(commands, ran)
        for command, candidate in zip(commands, chain, strict=True):
            finding = final.get(command, NO_VERDICT)
            run = _run(finding, lines.get(command), candidate, executed)
            results.append(result_of(name, candidate, finding, texts, run))
    return results


def _run(
    finding: Finding, line: PublishedVerdict | None, candidate: SubmittedCandidate, executed: Collection[str]
) -> RunMetrics | None:
    """Return the run metrics of an answer from its published verdict `line`, or None if they are unknown.

    `executed` has the submissions with run metrics in any verdict. Their answers that no shell can run get
    `NOTHING_RUN`. A command that was not run has no metrics.
    """
    if finding.outcome is Outcome.NOT_RUN:
        return None
    if line and line.run:
        return line.run
    return NOTHING_RUN if candidate.submission in executed and not is_executable(candidate.command) else None


def _published_line(file: VerdictFile, candidate: SubmittedCandidate) -> PublishedVerdict | None:
    """Return the published verdict on an answer, or None if the submission's verdict file has none.

    An empty command and a missing command have the same digest. Only the outcome `unanswered` distinguishes them.
    """
    line = file.by_command.get((candidate.task.id, command_digest(candidate.command)))
    if line is None or (line.finding.outcome is Outcome.UNANSWERED) != (candidate.candidate is None):
        return None
    return line


def judged_by(header: VerdictsHeader, judge: Judge, suite: Suite, fingerprint: str) -> JudgedBy:
    """Return the judge, suite version and environment that a verdict file states.

    In the result, `differs` lists the values that are not current: "judge", "suite" or "environment".
    """
    differs: list[Fact] = []
    manifest = suite.manifest
    if (header.judge, header.judge_version) != (judge.name, judge.version):
        differs.append("judge")
    if header.suite_version != manifest.version:
        differs.append("suite")
    if header.fingerprint != fingerprint:
        differs.append("environment")
    return JudgedBy(
        judge=header.judge,
        judge_version=header.judge_version,
        suite_version=header.suite_version,
        fingerprint=header.fingerprint,
        differs=tuple(differs),
        base=f"{manifest.base}{replaced}" if (replaced := manifest.replaced_bases(header.fingerprint)) else None,
    )


def _usual_fingerprint(headers: Iterable[VerdictsHeader]) -> str:
    """Return the most common environment fingerprint of the verdict files. If several tie, return the smallest."""
    counts = Counter(header.fingerprint for header in headers)
    return min(counts, key=lambda fingerprint: (-counts[fingerprint], fingerprint), default="")


def _add_origin(row: Standing, origin: JudgedBy) -> Standing:
    """Return a row with the judge, suite version and environment of its published verdicts.

    The accuracy range in the row follows from the errors of the current judge. Remove it if another judge gave the
    verdicts.
    """
    figures = row.figures
    if "judge" in origin.differs:
        figures = figures.model_copy(update={"judge_low": None, "judge_high": None})
    return row.model_copy(update={"judged_by": origin, "figures": figures})


class PanelCounts(NamedTuple):
    """The numbers of results that the panel of models decided, and of those that are undecided."""

    decided: int
    undecided: int


def panel_counts(results: Iterable[Result]) -> PanelCounts:
    """Count the results that the panel decided, and the undecided ones."""
    findings = [result.finding for result in results]
    decided = sum(finding.step is Step.PANEL and finding.outcome is not Outcome.UNDECIDED for finding in findings)
    return PanelCounts(decided, sum(finding.outcome is Outcome.UNDECIDED for finding in findings))


def describe_environment(
    manifest: SuiteManifest, headers: Sequence[VerdictsHeader], counts: PanelCounts
) -> dict[str, str]:
    """Return the environment of a published board as texts by label. `headers` are those of its verdict files."""
    environments = _format_counts(
        f"fingerprint {header.fingerprint[:16]}{manifest.replaced_bases(header.fingerprint)}" for header in headers
    )
    facts = {
        "Base": f"{manifest.base}, {environments}",
        "Judge": _format_counts(f"{header.judge}, version {header.judge_version}" for header in headers),
        "Suite version": _format_counts(header.suite_version for header in headers),
        "Run times": _TIMES_NOTE,
    }
    decided, undecided = counts
    panel = {"Panel": f"decided {decided} of {decided + undecided} answers left undecided by execution"}
    return facts | suite_facts(manifest) | (panel if decided else {})


def _format_counts(values: Iterable[str]) -> str:
    """Return the distinct values of a board's rows as one text, the most common value first.

    If there are several values, add to each value the number of rows that have it.
    """
    counts = Counter(values)
    if len(counts) < 2:
        return next(iter(counts), "no verdict is published yet")
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{value} ({pluralize(count, 'row')})" for value, count in ordered)
