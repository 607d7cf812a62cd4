"""This module writes verdict files for tests, in the form in which a board's results are published."""

from __future__ import annotations

from typing import Any, Final

from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.records import Outcome, PublishedVerdict, VerdictsHeader, command_digest, digest_of
from evaluator.testing.executor import FINGERPRINT

JUDGE: Final = find_judge("consensus")


def header_of(board: SuiteBoard, **fields: Any) -> VerdictsHeader:
    """Return the header of a verdict file for a board's suite and the current judge. `fields` replace header fields."""
    values = {
        "format": VerdictsHeader.newest_format,
        "suite": board.name,
        "suite_version": board.manifest.version,
        "judge": JUDGE.name,
        "judge_version": JUDGE.version,
        "fingerprint": FINGERPRINT,
    }
    return VerdictsHeader.model_validate({**values, **fields})


def verdict_file(board: SuiteBoard, slug: str, **header: Any) -> VerdictFile:
    """Return a submission's results as a verdict file. Results with an infrastructure error are omitted.

    Equal commands of a task have one line, that of the first of them.
    """
    lines: dict[tuple[str, str], PublishedVerdict] = {}
    for result in board.results:
        digest = command_digest(result.command or b"")
        if result.submission == slug and result.finding.outcome is not Outcome.INFRA_ERROR:
            key = digest_of(result.task.encode(), digest.encode())
            run = result.run.model_copy(update={"wall_ms": None}) if result.run else None
            verdict = PublishedVerdict(key=key, task=result.task, command=digest, finding=result.finding, run=run)
            lines.setdefault((result.task, digest), verdict)
    return VerdictFile(header_of(board, **header), tuple(sorted(lines.values(), key=lambda verdict: verdict.key)))


def write_verdicts(project: Project, board: SuiteBoard, slug: str, **header: Any) -> VerdictFile:
    """Write a submission's verdict file to the path at which verdict files are published."""
    file = verdict_file(board, slug, **header)
    verdicts_path(project, slug, board.name).write_bytes(verdict_bytes(file))
    return file
