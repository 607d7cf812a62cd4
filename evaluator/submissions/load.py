"""A submission that passes the check, as the stages after it want it: who, and candidates by suite and task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.errors import FormatError, Severity
from evaluator.records import Candidate, Prediction, SubmissionManifest
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.submissions.validate import examine

_DEFAULT_LIMITS = SubmissionLimits()


@dataclass(frozen=True, slots=True)
class Submission:
    """One system's predictions with its metadata: by suite, by task, in file order.

    Every prediction has `candidates`: from raw model text its command is taken already. Only tasks that the
    suite's present version asks are there.
    """

    slug: str
    manifest: SubmissionManifest
    predictions: Mapping[str, Mapping[str, Prediction]]

    def candidates(self, suite: str, task: str) -> tuple[Candidate, ...]:
        """The candidates for a task, best first; none where it is unanswered."""
        prediction = self.predictions.get(suite, {}).get(task)
        return (prediction.candidates or ()) if prediction else ()


def load_submission(
    folder: Path, suites: Mapping[str, SuiteInfo], limits: SubmissionLimits = _DEFAULT_LIMITS
) -> Submission:
    """Read a submission's folder; `suites` are those known here, by name.

    Raises FormatError with every problem of severity error, UsageError where there is nothing at `folder`.
    """
    found = examine(folder, suites, limits)
    if found.refused or found.manifest is None:
        raise FormatError([problem for problem in found.problems if problem.severity is Severity.ERROR])
    return Submission(found.slug, found.manifest, found.predictions)
