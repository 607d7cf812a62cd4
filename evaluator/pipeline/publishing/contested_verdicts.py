"""List the undecided published verdicts that a maintainer should decide.

Submissions with the same command share an entry, also if they spell it differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from evaluator.github.comment.contested_list import contested_list
from evaluator.leaderboard.board import Appeal
from evaluator.pipeline.boards.appeal_form import appeal_form, repository_address
from evaluator.pipeline.boards.published_boards import Files, published_files
from evaluator.pipeline.grading.results import SubmittedCandidate, answers
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import choose_suites, public_instruction
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.records import CandidateSource, Contested, Finding, Outcome, command_digest
from evaluator.shell.canonical import form_digest
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

SHOWN: Final = 2_000
"""Bytes of a command that an entry includes."""


def contested_verdicts(
    project: Project, suites: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> list[Contested]:
    """Return the undecided published verdicts of the named suites, or of all suites.

    Verdicts that affect the most rows of the board come first. If `environ` names the repository on GitHub,
    the verdicts contain links to the appeal form. A suite that cannot be loaded and an invalid verdict file are left
    out.
    """
    submissions, location = load_sound(project).submissions, repository_address(project, environ or {})
    contested: list[Contested] = []
    for suite in choose_suites(project, suites, submissions).suites:
        name = suite.manifest.name
        files = published_files(project, name, submissions, lambda line: None)
        found = contested_of(suite, submissions, files, appeal_form(location, name))
        told = {task.id: public_instruction(project, name, task) for task in suite.tasks}
        contested += [verdict.model_copy(update={"instruction": told[verdict.task]}) for verdict in found]
    return contested


def contested_of(
    suite: Suite, submissions: Iterable[Submission], files: Files, appeal: Appeal | None = None
) -> list[Contested]:
    """Return the undecided verdicts of one suite. A command that is no longer in a submission is left out."""
    undecided: dict[tuple[str, str], list[SubmittedCandidate]] = {}
    findings: dict[tuple[str, str], Finding] = {}
    for candidate in answers(suite, [submission for submission in submissions if submission.slug in files]):
        verdict = files[candidate.submission].by_command.get((candidate.task.id, command_digest(candidate.command)))
        if candidate.candidate and verdict and verdict.finding.outcome is Outcome.UNDECIDED:
            question = (candidate.task.id, form_digest(candidate.command))
            undecided.setdefault(question, []).append(candidate)
            findings.setdefault(question, verdict.finding)
    contested = [
        _contested(suite.manifest.name, candidates, findings[question], appeal)
        for question, candidates in undecided.items()
    ]
    return sorted(contested, key=lambda entry: (-entry.rows, entry.task, entry.digest))


def contested_markdown(verdicts: Sequence[Contested]) -> str:
    """Return the undecided published verdicts as a list in GitHub Markdown."""
    return contested_list(verdicts)


def _contested(
    suite: str, candidates: Sequence[SubmittedCandidate], finding: Finding, appeal: Appeal | None
) -> Contested:
    first = min(candidates, key=lambda candidate: candidate.rank)
    task, command = first.task, first.command
    where = f"{first.submission} {task.id}"
    options = f" --suite {suite}" + (f" --rank {first.rank}" if first.rank > 1 else "")
    return Contested(
        suite=suite,
        task=task.id,
        instruction=task.nl,
        command=command[:SHOWN],
        size=len(command),
        digest=command_digest(command),
        step=finding.step,
        reason=finding.reason,
        variant=finding.variant,
        given_by=tuple(CandidateSource(submission=source.submission, rank=source.rank) for source in candidates),
        rows=len({source.submission for source in candidates if source.rank == 1}),
        explain=f"bashboard explain {where}{options}",
        adjudicate=f"bashboard adjudicate {where} pass{options} --because 'WHY'",
        appeal=appeal(first.submission, task.id, first.rank) if appeal else None,
    )
