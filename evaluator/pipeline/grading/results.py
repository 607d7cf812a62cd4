"""List the answers of submissions, and combine each answer with its finding into a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from evaluator.metrics.error_classes import error_class
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.text_metrics import cached_nlc2cmd_scores, cached_text_metrics
from evaluator.records import Candidate, Finding, Prediction, Result, RunMetrics, Task, TextMetrics, Usage
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.fresh_variants import fresh_seed, has_fresh
from evaluator.suites.load import Suite

_RESULT_FIELDS: Final = set(Result.model_fields)


@dataclass(frozen=True, slots=True)
class SubmittedCandidate:
    """One candidate of a submission for a task. `candidate` is None if the submission has no answer for the task.

    `seed` is the seed of the fresh variant in which the submission's commands run too, or empty if there is none.
    """

    submission: str
    task: Task
    rank: int
    candidate: Candidate | None
    usage: Usage | None = None
    seed: str = ""

    @property
    def command(self) -> bytes:
        """Return the candidate's command, or empty bytes if there is no candidate."""
        return self.candidate.command if self.candidate else b""

    @property
    def subject(self) -> GradingItem:
        """Return the grading item for this candidate's command."""
        return GradingItem(self.task.id, None if self.candidate is None else self.candidate.command, seed=self.seed)


def answers(suite: Suite, submissions: Iterable[Submission]) -> Iterator[SubmittedCandidate]:
    """Yield all candidates of these submissions. For a task without an answer, yield one entry without a command.

    A submission answers one version of the suite. It is not graded on tasks that were added in a later version.
    """
    for submission in submissions:
        version = submission.manifest.suites.get(suite.manifest.name)
        if version is None:
            continue
        seed = submission_seed(suite, submission)
        for task in suite.tasks:
            if not task.is_asked_of(version):
                continue
            candidates = submission.candidates(suite.manifest.name, task.id)
            usage = _usage(submission.predictions[suite.manifest.name].get(task.id))
            if not candidates:
                yield SubmittedCandidate(submission.slug, task, 1, None, usage, seed)
            for rank, candidate in enumerate(candidates, 1):
                yield SubmittedCandidate(submission.slug, task, rank, candidate, usage, seed)


def submission_seed(suite: Suite, submission: Submission) -> str:
    """Return the seed of the fresh variants for a submission, or an empty text if the suite's worlds have none."""
    return fresh_seed(submission.origin, suite.manifest.version) if submission.origin and has_fresh(suite) else ""


def _usage(prediction: Prediction | None) -> Usage | None:
    """Return the usage (time, energy and tokens) that a prediction reports, or None if it reports no usage."""
    fields = {name: getattr(prediction, name) for name in Usage.model_fields} if prediction else {}
    return Usage(**fields) if any(value is not None for value in fields.values()) else None


class TextMeasurements(NamedTuple):
    """The NLC2CMD scores and the text similarity of commands. Each key is a pair of task id and command."""

    scores: Mapping[tuple[str, bytes], float]
    metrics: Mapping[tuple[str, bytes], TextMetrics]


def measure_texts(store: Store, answers: Sequence[SubmittedCandidate]) -> TextMeasurements:
    """Return the text metrics of all answers. Compute and store the metrics that the store lacks."""
    return TextMeasurements(
        cached_nlc2cmd_scores(store, ((answer.task, answer.command) for answer in answers if answer.candidate)),
        cached_text_metrics(store, ((answer.task, answer.command) for answer in answers)),
    )


def result_of(
    suite: str, answer: SubmittedCandidate, finding: Finding, texts: TextMeasurements, run: RunMetrics | None
) -> Result:
    """Return the result of one answer. `run` holds the run metrics, or is None if nothing was executed."""
    candidate, text = answer.candidate, texts.metrics.get((answer.task.id, answer.command))
    # every value is part of a validated record, and validating a million results again takes half a minute
    return Result.model_construct(
        _RESULT_FIELDS,
        submission=answer.submission,
        suite=suite,
        task=answer.task.id,
        rank=answer.rank,
        command=candidate.command if candidate else None,
        confidence=candidate.confidence if candidate else 0.0,
        finding=finding,
        nlc2cmd=texts.scores[answer.task.id, candidate.command] if candidate else -1.0,
        text=text,
        run=run,
        usage=answer.usage,
        error=error_class(finding, text, run, is_script=answer.task.driver is not None),
    )
