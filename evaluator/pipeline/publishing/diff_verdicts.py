"""What a rescore changes: the board of the verdict files as they are and as they would be, and every flip with its why.

Both boards are of the submissions as they stand now, so that only verdicts make a difference. Why a verdict is another
is told by what the two files say: their headers, the verdicts' keys, and which step decided. A key names everything
that its verdict depends on, so where it is the same, only what the panel said can be another.

Verdict files as they stand at a commit: Git is asked, and its answer read as data.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem
from evaluator.github.comment.rescore_table import rescore_table
from evaluator.judges import Judge, find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.published_boards import Files, published_board, published_files
from evaluator.pipeline.git import resolve_commit, run_git
from evaluator.pipeline.grading.results import SubmittedCandidate, answers
from evaluator.pipeline.grading.verdict_files import MAX_BYTES, VerdictFile, verdicts_in
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.records import (
    SLUG_PATTERN,
    BoardPosition,
    PublishedVerdict,
    RowChange,
    Standing,
    Step,
    SuiteDiff,
    VerdictChange,
    VerdictDiff,
    VerdictsHeader,
    command_digest,
)
from evaluator.store import Store
from evaluator.submissions.names import VERDICTS
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

_SLUG: Final = SLUG_PATTERN.strip("^$")
_ENTRY: Final = re.compile(
    rf"100(?:644|755) blob (?P<blob>[0-9a-f]{{40,64}}) +(?P<size>\d+)\t"
    rf"submissions/(?P<slug>{_SLUG})/(?P<suite>{_SLUG}){re.escape(VERDICTS)}"
)
"""A line of `git ls-tree --long`: a regular file whose path is a verdict file's."""


def committed_files(project: Project, commit: str) -> Mapping[str, Files]:
    """Every suite's verdict files at a commit, by suite.

    Raises UsageError where there is no such commit here, FormatError for a file that does not read.
    """
    name = resolve_commit(project.root, commit)
    listed = run_git(project.root, "ls-tree", "-r", "-z", "--long", name, "--", "submissions") or b""
    lines = (line.decode(errors="replace") for line in listed.split(b"\0"))
    found: dict[str, dict[str, VerdictFile]] = {}
    for entry in filter(None, map(_ENTRY.fullmatch, lines)):
        found.setdefault(entry["suite"], {})[entry["slug"]] = _file(project.root, entry)
    return found


def _file(root: Path, entry: re.Match[str]) -> VerdictFile:
    """The file of an entry; what is larger than a verdict file may be is not asked for."""
    path = Path("submissions", entry["slug"], f"{entry['suite']}{VERDICTS}")
    data = run_git(root, "cat-file", "blob", entry["blob"]) if int(entry["size"]) <= MAX_BYTES else None
    if data is None:
        raise FormatError([Problem(path, 0, f"cannot be read at that commit: {int(entry['size']):,} bytes")])
    return verdicts_in(data, path)


SHOWN: Final = 240
"""Bytes of a command that a flip holds."""

_KEY: Final = "its key: the task or its world, a reference, a ruling or a mark"
_SAME: Final = "nothing that its key names: look into it"


def changes_since(project: Project, commit: str, suites: Sequence[str] = ()) -> VerdictDiff:
    """From the verdict files at a commit to those of the checkout, on the suites named (all where none is).

    Raises UsageError where there is no such commit here, FormatError for a verdict file that does not read.
    """
    before = committed_files(project, commit)
    entries = load_sound(project).submissions
    names = suites or [each.manifest.name for each in project.suites()]
    after = {name: published_files(project, name, entries) for name in names}
    return changes_between(project, {name: before.get(name, {}) for name in names}, after, entries)


def changes_between(
    project: Project, before: Mapping[str, Files], after: Mapping[str, Files], submissions: Sequence[Submission]
) -> VerdictDiff:
    """From some verdict files to others, both by suite."""
    judge = find_judge(project.settings.judge)
    made = []
    with contextlib.closing(Store(project.store_path)) as store:
        for name in sorted({*before, *after}):
            earlier, later = before.get(name, {}), after.get(name, {})
            if any(earlier.get(slug) != later.get(slug) for slug in {*earlier, *later}):
                made.append(changes_of(project.suite(name), submissions, earlier, later, store, judge))
    return VerdictDiff(format=1, suites=tuple(made))


def changes_of(
    suite: Suite, submissions: Sequence[Submission], before: Files, after: Files, store: Store, judge: Judge
) -> SuiteDiff:
    """What one suite's board comes to; of the store only what is computed from texts is used."""
    boards = [published_board(suite, submissions, files, store, judge) for files in (before, after)]
    both = [each for each in submissions if each.slug in before and each.slug in after]
    flips = list(_flips(answers(suite, both), before, after))
    pairs = [(before.get(slug), after.get(slug)) for slug in sorted({*before, *after})]
    counts = [_counts(earlier, later) for earlier, later in pairs]
    return SuiteDiff(
        suite=suite.manifest.name,
        suite_version=suite.manifest.version,
        rows=_rows(*boards),
        kinds=dict(sorted(Counter(f"{each.before.outcome} → {each.after.outcome}" for each in flips).items())),
        flips=tuple(flips),
        given=sum(given for given, _, _ in counts),
        gone=sum(gone for _, gone, _ in counts),
        reasoned=sum(reasoned for _, _, reasoned in counts),
    )


def changes_markdown(changes: VerdictDiff) -> str:
    """What a pull request's body says of it."""
    return rescore_table(changes)


# -- rows


def _rows(before: SuiteBoard, after: SuiteBoard) -> tuple[RowChange, ...]:
    earlier = {row.submission: _place(row) for row in before.standings}
    later = {row.submission: _place(row) for row in after.standings}
    return tuple(
        RowChange(submission=slug, before=earlier.get(slug), after=later.get(slug))
        for slug in dict.fromkeys((*later, *earlier))
    )


def _place(row: Standing) -> BoardPosition:
    return BoardPosition(
        asked=row.asked,
        passed=row.passed,
        undecided=row.undecided,
        accuracy=row.accuracy,
        rank_low=row.rank_low,
        rank_high=row.rank_high,
    )


# -- verdicts


def _flips(given: Iterable[SubmittedCandidate], before: Files, after: Files) -> Iterable[VerdictChange]:
    seen = set()
    for answer in given:
        place = (answer.task.id, command_digest(answer.command))
        earlier = before[answer.submission].by_command.get(place)
        later = after[answer.submission].by_command.get(place)
        if earlier is None or later is None or (answer.submission, *place) in seen:
            continue
        seen.add((answer.submission, *place))  # a command that is given twice has its better rank
        if earlier.finding.outcome is not later.finding.outcome:
            headers = before[answer.submission].header, after[answer.submission].header
            yield _flip(answer, earlier, later, reasons(*headers, earlier, later))


def _flip(
    answer: SubmittedCandidate, earlier: PublishedVerdict, later: PublishedVerdict, why: Sequence[str]
) -> VerdictChange:
    return VerdictChange(
        submission=answer.submission,
        task=answer.task.id,
        rank=answer.rank,
        command=None if answer.candidate is None else answer.command[:SHOWN],
        size=len(answer.command),
        before=earlier.finding,
        after=later.finding,
        why=tuple(why),
    )


def reasons(
    before: VerdictsHeader, after: VerdictsHeader, earlier: PublishedVerdict, later: PublishedVerdict
) -> list[str]:
    """Why a verdict is another, as far as the two lines and their files' headers tell."""
    told = _steps(earlier, later) + _headers(before, after)
    return told or [_SAME if earlier.key == later.key else _KEY]


def _steps(earlier: PublishedVerdict, later: PublishedVerdict) -> list[str]:
    steps = earlier.finding.step, later.finding.step
    if Step.ADJUDICATION in steps:
        if steps[0] is steps[1]:
            return ["another ruling of a maintainer"]
        return ["a maintainer's ruling" if steps[1] is Step.ADJUDICATION else "a ruling that holds no more"]
    if earlier.panel and later.panel and earlier.panel != later.panel:
        return ["the panel: others vote, or they are asked otherwise"]
    return ["what the panel said"] if Step.PANEL in steps else []


def _headers(before: VerdictsHeader, after: VerdictsHeader) -> list[str]:
    facts = {
        "judge": (f"{before.judge} {before.judge_version}", f"{after.judge} {after.judge_version}"),
        "suite": (before.suite_version, after.suite_version),
        "environment": (before.fingerprint[:8], after.fingerprint[:8]),
    }
    return [f"{name}: {earlier} → {later}" for name, (earlier, later) in facts.items() if earlier != later]


def _counts(before: VerdictFile | None, after: VerdictFile | None) -> tuple[int, int, int]:
    """Of one submission: verdicts given anew, gone, and of the same outcome for another reason."""
    earlier = before.by_command if before else {}
    later = after.by_command if after else {}
    shared = [(earlier[place].finding, later[place].finding) for place in earlier.keys() & later.keys()]
    reasoned = sum(one.outcome is other.outcome and one != other for one, other in shared)
    return len(later.keys() - earlier.keys()), len(earlier.keys() - later.keys()), reasoned
