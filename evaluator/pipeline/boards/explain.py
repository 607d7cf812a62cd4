"""Explain the verdict on one answer: show the candidate, its task's references, and the evidence of these commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.errors import UsageError
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import missing_evidence, open_grader
from evaluator.pipeline.grading.llm_panel import PanelItem, ask_panel, open_panel
from evaluator.pipeline.grading.results import final_findings, submission_seed
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress
from evaluator.records import Evidence, Finding, Outcome, Result, Task, Trial
from evaluator.shell import utilities_of
from evaluator.submissions import Submission
from evaluator.wording import pluralize


@dataclass(frozen=True, slots=True)
class Explanation:
    """The data that explain the verdict on one answer.

    `trials` maps each variant to the candidate's runs in this variant, and is empty for a candidate that is not run.
    `references` has one such mapping per reference. `is_unreadable` tells whether no parser reads the command.
    """

    task: Task
    command: bytes | None
    finding: Finding
    trials: Mapping[str, Trial]
    references: tuple[Mapping[str, Trial], ...]
    is_unreadable: bool = False

    @property
    def variants(self) -> list[str]:
        """Return every variant in which the candidate or a reference was executed."""
        return list(dict.fromkeys(name for trials in (self.trials, *self.references) for name in trials))

    def columns(self, variant: str) -> dict[str, Evidence]:
        """Return the evidence of one variant for a table with one column per command.

        The columns are the first run of the candidate, then the first run of each reference.
        """
        columns = {"candidate": self.trials[variant].first} if variant in self.trials else {}
        for number, trials in enumerate(self.references, 1):
            if variant in trials:
                columns[f"reference {number}"] = trials[variant].first
        return columns

    def as_json(self) -> dict[str, object]:
        """Return the explanation as JSON values."""
        return {
            "task": self.task.model_dump(mode="json"),
            "command": None if self.command is None else self.command.decode(errors="replace"),
            "unreadable": self.is_unreadable,
            "finding": self.finding.model_dump(mode="json"),
            "variants": {
                name: {column: evidence.model_dump(mode="json") for column, evidence in self.columns(name).items()}
                for name in self.variants
            },
        }


def failed_results(
    project: Project, progress: Progress, *, suite: str, submission: str, judge: str | None = None
) -> list[Result]:
    """Return the results of a submission's first candidates that did not pass, in the order of the suite's tasks.

    Execute nothing. Raises UsageError if the submission does not answer the suite, and MissingError without verdicts.
    """
    from evaluator.pipeline.boards.gather import gather_boards  # takes as long as all else of `explain`

    loaded_suite = project.suite(suite)
    _submission_of(project, suite, submission)
    with open_panel(project, progress, judge=judge) as panel:
        found = gather_boards(
            project, progress, suites=[suite], submissions=[submission], judge=judge, execute=False, panel=panel
        )
    (board,) = found.boards
    if board.awaiting:
        raise missing_evidence(loaded_suite, judge)
    results = {row.task: row for row in board.results if row.rank == 1 and row.finding.outcome is not Outcome.PASS}
    return [results[task.id] for task in loaded_suite.tasks if task.id in results]


def _submission_of(project: Project, suite: str, slug: str) -> Submission:
    """Load a submission. Raises UsageError if it does not answer the suite."""
    (submission,) = load_submissions(project, [slug])
    if suite not in submission.manifest.suites:
        raise UsageError(f"{slug} does not answer suite {suite}, but {', '.join(submission.manifest.suites)}")
    return submission


def explain_answer(
    project: Project,
    progress: Progress,
    *,
    suite: str,
    submission: str,
    task: str,
    rank: int,
    judge: str | None = None,
    everywhere: bool = False,
) -> Explanation:
    """Explain the verdict on one candidate by the runs that decided it. It also depends on the candidates before it.

    Without a command, show the references.

    If `everywhere` is true, the commands are executed in every variant. The verdict stays the same. Raises UsageError
    if the submission has no candidate at position `rank`.
    """
    loaded_suite = project.suite(suite)
    loaded_task = loaded_suite.task(task)
    entry = _submission_of(project, suite, submission)
    candidates = entry.candidates(suite, task)
    if rank > max(1, len(candidates)):
        ranks = f"1 to {len(candidates)}" if len(candidates) > 1 else "1"
        raise UsageError(
            f"{submission} gave {pluralize(len(candidates), 'candidate')} for {task}: expected --rank {ranks}"
        )
    seed = submission_seed(loaded_suite, entry)
    chain = [GradingItem(task, candidate.command, seed=seed) for candidate in candidates[:rank]]
    chain = chain or [GradingItem(task, None, seed=seed)]
    with (
        open_panel(project, progress, judge=judge) as panel,
        open_grader(project, loaded_suite, progress, judge=judge) as grader,
    ):
        findings = grader.grade_chains([chain])
        items = [PanelItem(submission, item) for item in findings]
        by_panel = ask_panel(panel, grader, items, findings, {submission: entry.manifest.models})
        findings |= {item.subject: finding for item, finding in by_panel.items()}
        final = final_findings(chain, findings)
        finding = final[chain[-1]]
        is_run = finding.outcome is not Outcome.NOT_RUN
        # the references of a candidate that is not run are shown as the one that passes was compared with them
        shown = chain[-1] if is_run else next(item for item in final if final[item].outcome is Outcome.PASS)
        shows_all = everywhere or shown.command is None
        if shows_all:
            grader.ensure_evidence([shown])
        else:
            grader.ensure_cases([shown])
        case = grader.full_case(shown) if shows_all else grader.case(shown)
        references = tuple(reference.trials for reference in case.references)
        trials = case.candidate.trials if case.candidate and is_run else {}
    command = chain[-1].command
    is_unreadable = command is not None and utilities_of(command) is None
    return Explanation(loaded_task, command, finding, trials, references, is_unreadable)
