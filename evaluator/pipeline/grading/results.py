"""The answers of submissions, and their results after grading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.text_metrics import cached_nlc2cmd_scores, text_figures
from evaluator.records import Candidate, Finding, Prediction, Result, RunMetrics, Task, TextMetrics, Usage
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


@dataclass(frozen=True, slots=True)
class SubmittedCandidate:
    """One candidate of a submission for a task, with its rank. `candidate` is None if the submission has no answer."""

    submission: str
    task: Task
    rank: int
    candidate: Candidate | None
    usage: Usage | None = None

    @property
    def command(self) -> bytes:
        """Return the candidate's command, or nothing if there is no candidate."""
        return self.candidate.command if self.candidate else b""

    @property
    def subject(self) -> GradingItem:
        """Return the grading item of this candidate."""
        return GradingItem(self.task.id, None if self.candidate is None else self.candidate.command)


def answers(suite: Suite, submissions: Iterable[Submission]) -> Iterator[SubmittedCandidate]:
    """Yield every candidate of every submission to the suite. A task without an answer has one entry of rank 1.

    A submission is not graded on tasks that are newer than the suite version that it answers.
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
                yield SubmittedCandidate(submission.slug, task, 1, None, usage)
            for rank, candidate in enumerate(given, 1):
                yield SubmittedCandidate(submission.slug, task, rank, candidate, usage)


def _usage(prediction: Prediction | None) -> Usage | None:
    """Return the usage that a prediction reports, or None if it reports none."""
    fields = {name: getattr(prediction, name) for name in Usage.model_fields} if prediction else {}
    return Usage(**fields) if any(value is not None for value in fields.values()) else None


class Texts(NamedTuple):
    """Measurements of the commands' texts, by task and command."""

    scores: Mapping[tuple[str, bytes], float]
    figures: Mapping[tuple[str, bytes], TextMetrics]


def measure_texts(store: Store, given: Sequence[SubmittedCandidate]) -> Texts:
    """Return the scores and metrics of all answers' texts. Missing ones are computed and stored."""
    return Texts(
        cached_nlc2cmd_scores(store, ((each.task, each.candidate.command) for each in given if each.candidate)),
        text_figures(store, ((each.task, each.command) for each in given)),
    )


def result_of(suite: str, answer: SubmittedCandidate, finding: Finding, texts: Texts, run: RunMetrics | None) -> Result:
    """Return the result of one answer. `run` describes the execution, or is None if nothing was executed."""
    candidate = answer.candidate
    return Result(
        submission=answer.submission,
        suite=suite,
        task=answer.task.id,
        rank=answer.rank,
        command=candidate.command if candidate else None,
        confidence=candidate.confidence if candidate else 0.0,
        finding=finding,
        nlc2cmd=texts.scores[answer.task.id, candidate.command] if candidate else -1.0,
        text=texts.figures.get((answer.task.id, answer.command)),
        run=run,
        usage=answer.usage,
    )
