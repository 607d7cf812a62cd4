"""Provide the judge `intercode`: the published reward of InterCode, computed from our own execution.

The source is Yang et al. 2023, "InterCode: Standardizing and Benchmarking Interactive Coding with Execution Feedback",
and its published code. The reward has three parts of 0.33 each, rounded to hundredths, and 0.01 more:

- *file system*: `1 - erf(n)`, for n entries of `git status` that only one of the two commands causes;
- *file content*: the share of the new files of both commands that have the same md5 sum;
- *answer*: the cosine of the TF-IDF vectors of the two outputs, each with its standard error.

So the reward is 1 if no entry of `git status` differs, almost all contents are equal, and the cosine is above 0.984. A
reward of 1 passes. The judge reads only the publisher's own variant of the world, because the publisher has no others.
`git status` shows no empty directory, no owner, only the owner's execute permission of a mode, and nothing in the
directories that the publisher's image excludes.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from evaluator.judges.case import Case, EvidenceNeed, Executed
from evaluator.judges.consensus.prechecks import early_verdict
from evaluator.judges.tfidf import cosine
from evaluator.judges.threshold import text_of
from evaluator.records import Ending, Evidence, FileType, Finding, Kind, Outcome, PathChange, Step

PUBLISHERS_VARIANT: Final = "plain"
"""The variant of a world that a publisher's own script creates, without an addition of ours."""

WEIGHT: Final = 33
"""The weight of each part of the reward, in hundredths. The whole reward is 100 hundredths."""

_EXCLUDED: Final = frozenset(
    b"bin boot dev etc home lib media opt proc root run sbin srv sys usr var .dockerenv".split()
)
"""The names in the `.gitignore` of the publisher's image. Git ignores them in every directory."""

_SHOWN_TYPES: Final = frozenset({FileType.FILE, FileType.LINK})
_OWNER_EXECUTES: Final = 0o100
_NEW: Final = "??"

Status = Mapping[bytes, str]
"""Entries of `git status --short`: each path with its letters. The path of a new directory ends with a slash."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The parts of InterCode's reward, in hundredths. Each part is at most `WEIGHT`."""

    file_system: int
    file_content: int
    answer: int

    @property
    def hundredths(self) -> int:
        """Return the whole reward in hundredths. 100 is a reward of 1."""
        return 1 + self.file_system + self.file_content + self.answer

    def __str__(self) -> str:
        """Return the reward and its parts for a reader."""
        parts = f"file system {self.file_system}, file content {self.file_content}, answer {self.answer}"
        return f"{self.hundredths / 100:.2f} ({parts}, of {WEIGHT} each)"


class Intercode:
    """Passes a command if InterCode's reward is 1: equal changes of files, and an output with the same words."""

    name: Final = "intercode"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """Pass the command if its reward is 1 with at least one reference, in the publisher's variant."""
        narrowed = in_publishers_variant(case)
        early = early_verdict(narrowed)
        if early is not None or narrowed.candidate is None:
            return early or Finding(outcome=Outcome.UNANSWERED)
        candidate = _first_run(narrowed.candidate)
        references = [_first_run(reference) for reference in narrowed.references]
        rewards = [
            (reward_of(candidate, reference), number)
            for number, reference in enumerate(references, 1)
            if reference.ending is Ending.EXITED
        ]
        if not rewards:
            return Finding(outcome=Outcome.UNDECIDED, step=Step.LIMIT, reason="every reference reached a limit")
        best, number = max(rewards, key=lambda rewarded: (rewarded[0].hundredths, -rewarded[1]))
        passes = best.hundredths == 100
        return Finding(
            outcome=Outcome.PASS if passes else Outcome.FAIL,
            step=Step.SCORE,
            reason=f"its reward with reference {number} is {best}; 1 passes",
            variant=None if passes else narrowed.variants[0],
        )


def in_publishers_variant(case: Case) -> Case:
    """Return the case with the runs in the publisher's variant alone. Without such a variant, keep the first one."""
    names = case.variants
    return case.within({PUBLISHERS_VARIANT if PUBLISHERS_VARIANT in names else next(iter(names), "")})


def _first_run(executed: Executed) -> Evidence:
    (trial,) = executed.trials.values()
    return trial.first


def reward_of(candidate: Evidence, reference: Evidence) -> Reward:
    """Return the reward of a command's run, compared with a reference's run."""
    found, expected = git_status(candidate.changes), git_status(reference.changes)
    differing = len(set(found.items()) ^ set(expected.items()))
    common = [path for path, letters in expected.items() if letters == _NEW and found.get(path) == _NEW]
    contents = _contents(candidate.changes), _contents(reference.changes)
    equal = sum(_below(path, contents[0]) == _below(path, contents[1]) for path in common)
    return Reward(
        round(WEIGHT * (1 - math.erf(differing))),
        round(WEIGHT * (equal / len(common) if common else 1)),
        round(WEIGHT * cosine(observation_of(candidate), observation_of(reference))),
    )


def observation_of(evidence: Evidence) -> str:
    """Return both output streams as one text. The order of words does not matter for the similarity."""
    return "\n".join(text_of(stream.data) for stream in (evidence.stdout, evidence.stderr) if stream.size)


def git_status(changes: tuple[PathChange, ...]) -> Status:
    """Return the entries that `git status --short` would show for these changes.

    Git shows a new directory as one entry, if a file is in it. Before the command, all files were in the repository.
    """
    added = {change.path for change in changes if change.kind is Kind.ADDED and change.type is FileType.DIRECTORY}
    entries: dict[bytes, str] = {}
    for change in changes:
        letters = _letters(change)
        if letters and not _EXCLUDED.intersection(change.path.split(b"/")):
            entries[_topmost(change.path, added) if letters == _NEW else change.path] = letters
    return entries


def _letters(change: PathChange) -> str | None:
    """Return Git's letters for a change, or None if Git does not show the change."""
    match change.kind:
        case Kind.DELETED:
            return "D"
        case Kind.ADDED if change.type in _SHOWN_TYPES:
            return _NEW
        case Kind.MODIFIED:
            return "M"
        case Kind.TYPE:
            return "T" if change.type in _SHOWN_TYPES else "D"
        case Kind.MODE if change.type is FileType.FILE:
            return "M" if ((change.mode or 0) ^ (change.old_mode or 0)) & _OWNER_EXECUTES else None
        case _:
            return None


def _topmost(path: bytes, added: set[bytes]) -> bytes:
    """Return the topmost new directory above a new file, with a slash at the end, or the file's own path."""
    parts = path.split(b"/")
    parents = (b"/".join(parts[:number]) for number in range(2, len(parts)))
    return next((parent + b"/" for parent in parents if parent in added), path)


def _contents(changes: tuple[PathChange, ...]) -> dict[bytes, object]:
    """Return each new path's content: the digest of a file, or the path that a link leads to.

    A checksum program follows links. So two links have the same content if they lead to the same path. A link and a
    file always differ here, because the evidence does not have the content of an unchanged target.
    """
    return {
        change.path: change.content if change.target is None else posixpath.normpath(_target(change))
        for change in changes
        if change.kind is Kind.ADDED and change.type in _SHOWN_TYPES
    }


def _target(change: PathChange) -> bytes:
    return posixpath.join(posixpath.dirname(change.path), change.target or b"")


def _below(path: bytes, contents: Mapping[bytes, object]) -> dict[bytes, object]:
    """Return the contents of a new file, or of all new files below a new directory."""
    if not path.endswith(b"/"):
        return {path: contents.get(path)}
    return {file: content for file, content in contents.items() if file.startswith(path)}
