"""What submissions answer, and the result of every answer once there is a finding on it."""

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
    """One candidate's place: which submission gave it for which task, and at which rank. None: nothing given."""

    submission: str
    task: Task
    rank: int
    candidate: Candidate | None
    usage: Usage | None = None

    @property
    def command(self) -> bytes:
        """Its text, empty where nothing was given."""
        return self.candidate.command if self.candidate else b""

    @property
    def subject(self) -> GradingItem:
        """What is to be judged of it."""
        return GradingItem(self.task.id, None if self.candidate is None else self.candidate.command)


def answers(suite: Suite, submissions: Iterable[Submission]) -> Iterator[SubmittedCandidate]:
    """Every candidate of every submission that answers the suite; an unanswered task has one of rank 1.

    Tasks that are newer than the version that a submission answers are not asked of it.
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
    """What a prediction reports of the work it took, None where it is silent."""
    fields = {name: getattr(prediction, name) for name in Usage.model_fields} if prediction else {}
    return Usage(**fields) if any(value is not None for value in fields.values()) else None


class Texts(NamedTuple):
    """What is measured of commands' texts alone, by task and command."""

    scores: Mapping[tuple[str, bytes], float]
    figures: Mapping[tuple[str, bytes], TextMetrics]


def measure_texts(store: Store, given: Sequence[SubmittedCandidate]) -> Texts:
    """The scores and figures of all answers' texts; what is not kept is computed and kept."""
    return Texts(
        cached_nlc2cmd_scores(store, ((each.task, each.candidate.command) for each in given if each.candidate)),
        text_figures(store, ((each.task, each.command) for each in given)),
    )


def result_of(suite: str, answer: SubmittedCandidate, finding: Finding, texts: Texts, run: RunMetrics | None) -> Result:
    """The result of one answer; `run` says how its command ran, None where nothing was executed."""
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
