"""List the answers of submissions, and combine each answer with its finding into a result.

An answer to a task is a *chain* of candidates, best first. A candidate behind one that passes changes no metric, so it
is not run. `final_findings` decides this from the final findings alone, with rulings and the panel. So it does not
matter which evidence exists.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple, TypeVar

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.text_metrics import cached_nlc2cmd_scores, cached_text_metrics
from evaluator.records import Candidate, Finding, Outcome, Prediction, Result, RunMetrics, Task, TextMetrics, Usage
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.fresh_variants import fresh_seed, has_fresh
from evaluator.suites.load import Suite

_RESULT_FIELDS: Final = set(Result.model_fields)

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SubmittedCandidate:
    """One candidate of a submission for a task. `candidate` is None if the submission has no answer for the task.

    `seed` is the seed of the fresh variant in which the submission's commands run too, or empty if there is none.
    `first_variant` is the variant in which the task's commands run first.
    """

    submission: str
    task: Task
    rank: int
    candidate: Candidate | None
    usage: Usage | None = None
    seed: str = ""
    first_variant: str | None = None

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
            first_variant = suite.variants(task)[0]
            for rank, candidate in enumerate(candidates or (None,), 1):
                yield SubmittedCandidate(submission.slug, task, rank, candidate, usage, seed, first_variant)


def chains_of(candidates: Iterable[SubmittedCandidate]) -> list[list[SubmittedCandidate]]:
    """Return the candidates in the order of `answers`, with one list for each submission and task."""
    return [list(chain) for _, chain in groupby(candidates, key=lambda each: (each.submission, each.task.id))]


def final_findings(chain: Sequence[Key], findings: Mapping[Key, Finding]) -> dict[Key, Finding]:
    """Return the final finding of each candidate of a chain, in the order of the chain.

    `findings` are those of the judge, the rulings and the panel. Behind the first candidate that passes, every
    candidate is not run, whether it has a finding or not. A candidate that is neither behind a pass nor in `findings`
    is left out. Equal candidates have the finding of the first of them.

    >>> passed, failed = Finding(outcome=Outcome.PASS), Finding(outcome=Outcome.FAIL)
    >>> final_findings(["a", "b", "c"], {"a": failed, "b": passed, "c": failed})["c"].reason
    'candidate 2 passed'
    """
    ranks: dict[Key, int] = {}
    for rank, candidate in enumerate(chain, 1):
        ranks.setdefault(candidate, rank)
    final: dict[Key, Finding] = {}
    passed = 0
    for candidate, rank in ranks.items():
        if passed:
            final[candidate] = _not_run(passed)
        elif (finding := findings.get(candidate)) is not None:
            final[candidate] = finding
            passed = rank if finding.outcome is Outcome.PASS else 0
    return final


@lru_cache
def _not_run(passed: int) -> Finding:
    return Finding(outcome=Outcome.NOT_RUN, reason=f"candidate {passed} passed")


def up_to_pass(
    candidates: Iterable[SubmittedCandidate], findings: Mapping[GradingItem, Finding]
) -> list[SubmittedCandidate]:
    """Return the candidates that are not behind a pass of their own chain. `findings` are the known ones."""
    return [
        candidate
        for chain in chains_of(candidates)
        for final in [final_findings([candidate.subject for candidate in chain], findings)]
        for candidate in chain
        if candidate.subject not in final or final[candidate.subject].outcome is not Outcome.NOT_RUN
    ]


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
    from evaluator.metrics.error_classes import error_class  # commands without results do not load Polars

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
        error=error_class(
            finding, text, run, is_script=answer.task.driver is not None, first_variant=answer.first_variant
        ),
    )
