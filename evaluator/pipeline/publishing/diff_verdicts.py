"""Describe the effect of a rescore (published commands are judged again): the boards, and the reason for each flip.

A verdict flips if its outcome changes. The boards before and after the rescore use the current submissions, so only
verdicts can differ. The reason for a flip comes from a comparison of the old and the new verdict file. A cache key is a
digest of all inputs of a verdict except the replies of the LLM panel. So if the old and the new key are equal, only the
replies can differ. Verdict files at an earlier commit are read from Git as data.
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
from evaluator.pipeline.submissions.board_suites import readable_suites
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.records import (
    SLUG_PATTERN,
    BoardPosition,
    Outcome,
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

SHOWN: Final = 240
"""Bytes of a command that a flip includes."""

_KEY: Final = "its key: the task or its world, a reference, a ruling or a mark"
_SAME: Final = "nothing that its key names: look into it"
_SLUG: Final = SLUG_PATTERN.strip("^$")
_ENTRY: Final = re.compile(
    rf"100(?:644|755) blob (?P<blob>[0-9a-f]{{40,64}}) +(?P<size>\d+)\t"
    rf"submissions/(?P<slug>{_SLUG})/(?P<suite>{_SLUG}){re.escape(VERDICTS)}"
)
"""A line of `git ls-tree --long` for a regular file with the path of a verdict file."""


def committed_files(project: Project, commit: str) -> Mapping[str, Files]:
    """Return the verdict files at a commit, as a mapping from suite to submission to file.

    Raises UsageError if the commit does not exist in this clone, and FormatError for an invalid verdict file.
    """
    name = resolve_commit(project.root, commit)
    listing = run_git(project.root, "ls-tree", "-r", "-z", "--long", name, "--", "submissions") or b""
    lines = (line.decode(errors="replace") for line in listing.split(b"\0"))
    files: dict[str, dict[str, VerdictFile]] = {}
    for entry in filter(None, map(_ENTRY.fullmatch, lines)):
        files.setdefault(entry["suite"], {})[entry["slug"]] = _file(project.root, entry)
    return files


def _file(root: Path, entry: re.Match[str]) -> VerdictFile:
    """Return the verdict file of a Git tree entry. Raises FormatError if the file is invalid or too large."""
    path = Path("submissions", entry["slug"], f"{entry['suite']}{VERDICTS}")
    data = run_git(root, "cat-file", "blob", entry["blob"]) if int(entry["size"]) <= MAX_BYTES else None
    if data is None:
        raise FormatError([Problem(path, 0, f"cannot be read at that commit: {int(entry['size']):,} bytes")])
    return verdicts_in(data, path)


def changes_since(project: Project, commit: str, suites: Sequence[str] = ()) -> VerdictDiff:
    """Return the differences between the verdict files at a commit and the current verdict files.

    Without `suites`, all suites are compared. Raises UsageError if the commit does not exist in this clone, and
    FormatError for an invalid verdict file.
    """
    before = committed_files(project, commit)
    submissions = load_sound(project).submissions
    names = suites or [suite.manifest.name for suite in readable_suites(project).suites]
    after = {name: published_files(project, name, submissions) for name in names}
    return changes_between(project, {name: before.get(name, {}) for name in names}, after, submissions)


def changes_between(
    project: Project, before: Mapping[str, Files], after: Mapping[str, Files], submissions: Sequence[Submission]
) -> VerdictDiff:
    """Return the changes between two sets of verdict files. Each set is a mapping from suite to submission to file."""
    judge = find_judge(project.settings.judge)
    diffs = []
    with contextlib.closing(Store(project.store_path)) as store:
        for name in sorted({*before, *after}):
            earlier, later = before.get(name, {}), after.get(name, {})
            if any(earlier.get(slug) != later.get(slug) for slug in {*earlier, *later}):
                diffs.append(changes_of(project.suite(name), submissions, earlier, later, store, judge))
    return VerdictDiff(format=1, suites=tuple(diffs))


def changes_of(
    suite: Suite, submissions: Sequence[Submission], before: Files, after: Files, store: Store, judge: Judge
) -> SuiteDiff:
    """Return the changes on one suite's board between two sets of verdict files. `store` caches text metrics."""
    boards = [published_board(suite, submissions, files, store, judge) for files in (before, after)]
    in_both = [submission for submission in submissions if submission.slug in before and submission.slug in after]
    flips = list(_flips(answers(suite, in_both), before, after))
    pairs = [(before.get(slug), after.get(slug)) for slug in sorted({*before, *after})]
    counts = [_counts(earlier, later) for earlier, later in pairs]
    return SuiteDiff(
        suite=suite.manifest.name,
        suite_version=suite.manifest.version,
        rows=_rows(*boards),
        kinds=dict(sorted(Counter(f"{flip.before.outcome} → {flip.after.outcome}" for flip in flips).items())),
        flips=tuple(flips),
        given=sum(gained for gained, _, _ in counts),
        gone=sum(gone for _, gone, _ in counts),
        reasoned=sum(reasoned for _, _, reasoned in counts),
    )


def changes_markdown(changes: VerdictDiff) -> str:
    """Return the changes of verdicts as Markdown for the body of a rescore's pull request."""
    return rescore_table(changes)


def _rows(before: SuiteBoard, after: SuiteBoard) -> tuple[RowChange, ...]:
    earlier = {row.submission: _position(row) for row in before.standings}
    later = {row.submission: _position(row) for row in after.standings}
    return tuple(
        RowChange(submission=slug, before=earlier.get(slug), after=later.get(slug))
        for slug in dict.fromkeys((*later, *earlier))
    )


def _position(row: Standing) -> BoardPosition:
    return BoardPosition(
        asked=row.asked,
        passed=row.passed,
        undecided=row.undecided,
        accuracy=row.accuracy,
        rank_low=row.rank_low,
        rank_high=row.rank_high,
    )


def _flips(candidates: Iterable[SubmittedCandidate], before: Files, after: Files) -> Iterable[VerdictChange]:
    """Yield a change for every command whose outcome differs. Report a repeated command once, with its best rank."""
    seen = set()
    for candidate in candidates:
        slug, line = candidate.submission, (candidate.task.id, command_digest(candidate.command))
        earlier, later = before[slug].by_command.get(line), after[slug].by_command.get(line)
        if earlier is None or later is None or (slug, *line) in seen:
            continue
        seen.add((slug, *line))
        if earlier.finding.outcome is not later.finding.outcome:
            yield VerdictChange(
                submission=slug,
                task=candidate.task.id,
                rank=candidate.rank,
                command=None if candidate.candidate is None else candidate.command[:SHOWN],
                size=len(candidate.command),
                before=earlier.finding,
                after=later.finding,
                why=tuple(reasons(before[slug].header, after[slug].header, earlier, later)),
            )


def reasons(
    before: VerdictsHeader, after: VerdictsHeader, earlier: PublishedVerdict, later: PublishedVerdict
) -> list[str]:
    """Return the reasons for a verdict's change. `before` and `after` are the headers of the verdict's two files."""
    differences = _steps(earlier, later) + _headers(before, after)
    return differences or [_SAME if earlier.key == later.key else _KEY]


def _steps(earlier: PublishedVerdict, later: PublishedVerdict) -> list[str]:
    if Outcome.NOT_RUN in (earlier.finding.outcome, later.finding.outcome):
        changed = "passes now" if later.finding.outcome is Outcome.NOT_RUN else "passes no more"
        return [f"a candidate before it {changed}"]
    steps = earlier.finding.step, later.finding.step
    if Step.ADJUDICATION in steps:
        if steps[0] is steps[1]:
            return ["another ruling of a maintainer"]
        return ["a maintainer's ruling" if steps[1] is Step.ADJUDICATION else "a ruling that holds no more"]
    if earlier.panel and later.panel and earlier.panel != later.panel:
        return ["the panel: others vote, or they are asked otherwise"]
    return ["what the panel said"] if Step.PANEL in steps else []


def _headers(before: VerdictsHeader, after: VerdictsHeader) -> list[str]:
    fields = {
        "judge": (f"{before.judge} {before.judge_version}", f"{after.judge} {after.judge_version}"),
        "suite": (before.suite_version, after.suite_version),
        "environment": (before.fingerprint[:8], after.fingerprint[:8]),
    }
    return [f"{name}: {earlier} → {later}" for name, (earlier, later) in fields.items() if earlier != later]


def _counts(before: VerdictFile | None, after: VerdictFile | None) -> tuple[int, int, int]:
    """Count a submission's added verdicts, removed verdicts, and verdicts that changed but have the same outcome."""
    earlier = before.by_command if before else {}
    later = after.by_command if after else {}
    shared = [(earlier[line].finding, later[line].finding) for line in earlier.keys() & later.keys()]
    reasoned = sum(old.outcome is new.outcome and old != new for old, new in shared)
    return len(later.keys() - earlier.keys()), len(earlier.keys() - later.keys()), reasoned
