"""Apply the rule that several judges from the literature share: pass if the similarity of two texts is above 0.75.

These judges and their threshold come from Westenfelder et al. 2025, "LLM-Supported Natural Language to Bash
Translation", which compares methods of deciding functional equivalence. `exec-tfidf` is the measure of InterCode (Yang
et al. 2023). In these papers, a command has one reference and one environment. Here, a task has several references and
variants. A command passes if it is similar enough to one reference. A judge of outputs requires this in every variant,
always with the same reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from evaluator.judges.case import Case, Judge
from evaluator.judges.consensus.prechecks import early_verdict, settle_by_text
from evaluator.records import Ending, Finding, Outcome, Step

THRESHOLD: Final = 0.75
"""A command passes if its similarity is above this value. All heuristics use the same threshold, as in the paper."""

Similarity = Callable[[str, str], float]
"""Computes the similarity of a candidate's text and a reference's text. It is at most 1, for equal texts."""


@runtime_checkable
class TextScorer(Judge, Protocol):
    """A judge of command texts that also returns the similarity score itself."""

    def similarity(self, command: str, reference: str) -> float:
        """Return the similarity of the command's text and the reference's text."""
        ...


def judge_texts(case: Case, similarity: Similarity) -> Finding:
    """Pass the command if its text is similar to the text of a reference. Ignore the evidence of execution."""
    early = settle_by_text(case)
    if early is not None or case.candidate is None:
        return early or Finding(outcome=Outcome.UNANSWERED)
    command = text_of(case.candidate.command)
    scores: list[tuple[float, str | None]] = [
        (similarity(command, text_of(reference.command)), None) for reference in case.references
    ]
    return _finding("text", scores)


def judge_outputs(case: Case, similarity: Similarity) -> Finding:
    """Pass the command if its output is similar to the output of one reference in every variant."""
    early = early_verdict(case)
    if early is not None or case.candidate is None:
        return early or Finding(outcome=Outcome.UNANSWERED)
    scores: list[tuple[float, str | None]] = []
    for reference in case.references:
        if any(trial.first.ending is not Ending.EXITED for trial in reference.trials.values()):
            continue
        by_variant = [
            (similarity(text_of(case.candidate.trials[name].first.stdout.data), text_of(trial.first.stdout.data)), name)
            for name, trial in reference.trials.items()
        ]
        scores.append(min(by_variant))
    if not scores:
        return Finding(outcome=Outcome.UNDECIDED, step=Step.LIMIT, reason="every reference reached a limit")
    return _finding("output", scores)


def text_of(data: bytes) -> str:
    """Decode bytes as UTF-8 and replace invalid bytes."""
    return data.decode(errors="replace")


def _finding(subject: str, scores: list[tuple[float, str | None]]) -> Finding:
    number, (score, variant) = max(enumerate(scores, 1), key=lambda numbered: numbered[1][0])
    passes = score > THRESHOLD
    return Finding(
        outcome=Outcome.PASS if passes else Outcome.FAIL,
        step=Step.SCORE,
        reason=f"its {subject} has similarity {score:.3f} to that of reference {number}, the nearest; "
        f"more than {THRESHOLD} passes",
        variant=None if passes else variant,
    )
