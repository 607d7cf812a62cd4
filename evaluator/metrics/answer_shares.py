"""Compute a judge's results on labelled answers: shares with intervals, and a confusion table.

The answers are those of real systems, or those of the blind set.

Several answers belong to one task, and a judge errs on all of them for the same reason. So the answers are not
independent, and the interval of a share takes the tasks as clusters.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Final, NamedTuple

from evaluator.metrics.accuracy import CONFIDENCE_LEVEL
from evaluator.records import AnswerFigures, AnswerSet, ConfusionRow, EstimatedShare, Finding, Outcome, Part, Step


class JudgedAnswer(NamedTuple):
    """A labelled answer to a task, and a judge's finding on it. `right` is the label."""

    task: str
    right: bool
    finding: Finding

    @property
    def outcome(self) -> Outcome:
        """Return the outcome as it counts: pass, undecided, infra-error, or fail for every other outcome."""
        separate = (Outcome.PASS, Outcome.UNDECIDED, Outcome.INFRA_ERROR)
        return self.finding.outcome if self.finding.outcome in separate else Outcome.FAIL

    @property
    def agrees(self) -> bool:
        """Return whether the verdict agrees with the label. Undecided counts as fail."""
        return (self.outcome is Outcome.PASS) == self.right


_Test = Callable[[JudgedAnswer], bool]

_SHARES: Final[dict[str, tuple[_Test, _Test]]] = {
    "passes_right": (lambda answer: answer.outcome is Outcome.PASS, lambda answer: answer.right),
    "fails_right": (lambda answer: answer.outcome is Outcome.FAIL, lambda answer: not answer.right),
    "undecided": (lambda _: True, lambda answer: answer.outcome is Outcome.UNDECIDED),
    "accuracy": (lambda _: True, lambda answer: answer.agrees),
    "accuracy_perfect_panel": (lambda _: True, lambda answer: answer.outcome is Outcome.UNDECIDED or answer.agrees),
    "right_passed": (lambda answer: answer.right, lambda answer: answer.outcome is Outcome.PASS),
    "right_failed": (lambda answer: answer.right, lambda answer: answer.outcome is Outcome.FAIL),
    "wrong_failed": (lambda answer: not answer.right, lambda answer: answer.outcome is Outcome.FAIL),
}
"""For each share: the answers that the share is about, and those of them that it counts."""

_BLIND_SHARES: Final[dict[str, tuple[_Test, _Test]]] = {
    "wrong_passed": (lambda answer: not answer.right, lambda answer: answer.outcome is Outcome.PASS),
    **{name: _SHARES[name] for name in ("right_failed", "undecided")},
}
"""The same for the shares of `BlindFigures`."""


def answer_figures(
    judge: str, version: int, numbers: AnswerSet, part: Part, answers: Sequence[JudgedAnswer]
) -> AnswerFigures:
    """Return a judge's results on the answers to one part of a suite's tasks. `numbers` describes the set of labels."""
    judged = [answer for answer in answers if answer.outcome is not Outcome.INFRA_ERROR]
    right = sum(answer.right for answer in judged)
    fields: dict[str, object] = {
        "judge": judge,
        "version": version,
        "suite": numbers.suite,
        "suite_version": numbers.suite_version,
        "label_set": numbers.label_set,
        "part": part,
        "tasks": len({answer.task for answer in judged}),
        "right": right,
        "wrong": len(judged) - right,
        "infra_errors": len(answers) - len(judged),
        "confusion": confusion_rows(judged),
    }
    return AnswerFigures.model_validate(fields | answer_shares(judged))


def answer_shares(answers: Sequence[JudgedAnswer]) -> dict[str, EstimatedShare]:
    """Return the shares of these answers, by the names of fields of `AnswerFigures`. Infra-errors must be left out."""
    return _shares(answers, _SHARES)


def blind_counts(answers: Sequence[JudgedAnswer]) -> dict[str, object]:
    """Return the shares of these answers and their numbers, by the names of fields of `BlindFigures`."""
    judged = [answer for answer in answers if answer.outcome is not Outcome.INFRA_ERROR]
    tasks, errors = len({answer.task for answer in judged}), len(answers) - len(judged)
    return {"tasks": tasks, "infra_errors": errors, **_shares(judged, _BLIND_SHARES)}


def _shares(answers: Sequence[JudgedAnswer], shares: Mapping[str, tuple[_Test, _Test]]) -> dict[str, EstimatedShare]:
    return {
        name: clustered_share((answer.task, counted(answer)) for answer in answers if about(answer))
        for name, (about, counted) in shares.items()
    }


def clustered_share(observations: Iterable[tuple[str, bool]], level: float = CONFIDENCE_LEVEL) -> EstimatedShare:
    """Return the share of true observations with an interval. Each observation is a pair of its task and its value.

    The interval is Wilson's, with the effective number of observations in the place of their number. Source: Dean and
    Pagano 2015, "Evaluating confidence interval methods for binomial proportions in clustered surveys", Journal of
    Survey Statistics and Methodology 3, 484-503. With k tasks, mᵢ observations of task i, yᵢ of them true, n = Σmᵢ and
    p = Σyᵢ / n:

        v   = k / (k - 1) · Σ(yᵢ - p mᵢ)² / n²
        n_e = min(n, p (1 - p) / v)

    If all observations are equal, v says nothing, and n_e is the number of tasks. If v is 0 otherwise, n_e is n.
    Example: 46 of 48 with one observation for each task gives 0.859 to 0.989.
    """
    clusters: dict[str, list[bool]] = defaultdict(list)
    for task, value in observations:
        clusters[task].append(value)
    total, true = sum(map(len, clusters.values())), sum(map(sum, clusters.values()))
    if not total:
        return EstimatedShare(part=0, whole=0)
    low, high = _wilson(true / total, _effective_number(list(clusters.values()), true / total), level)
    return EstimatedShare(part=true, whole=total, low=low, high=high)


def _effective_number(clusters: Sequence[Sequence[bool]], share: float) -> float:
    total, tasks = sum(map(len, clusters)), len(clusters)
    if share in (0.0, 1.0) or tasks == 1:
        return tasks
    squares = sum((sum(cluster) - share * len(cluster)) ** 2 for cluster in clusters)
    variance = tasks / (tasks - 1) * squares / total**2
    return min(total, share * (1 - share) / variance) if variance else total


def _wilson(share: float, number: float, level: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = share + z * z / (2 * number)
    spread = z * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    scale = 1 + z * z / number
    return round(max(0.0, (centre - spread) / scale), 4), round(min(1.0, (centre + spread) / scale), 4)


def confusion_rows(answers: Iterable[JudgedAnswer]) -> tuple[ConfusionRow, ...]:
    """Count the labels of these answers by outcome, step and rule."""
    counts: dict[tuple[Outcome, Step | None, str], Counter[bool]] = defaultdict(Counter)
    for answer in answers:
        counts[answer.outcome, answer.finding.step, answer.finding.rule][answer.right] += 1
    return tuple(
        ConfusionRow(outcome=outcome, step=step, rule=rule, right=labels[True], wrong=labels[False])
        for (outcome, step, rule), labels in sorted(counts.items(), key=lambda item: _position(*item[0]))
    )


def _position(outcome: Outcome, step: Step | None, rule: str) -> tuple[int, int, str]:
    return list(Outcome).index(outcome), list(Step).index(step) if step else -1, rule
