"""What the field's heuristics share: a similarity of two texts, and a pass above .75.

The heuristics and their threshold are those of Westenfelder et al. 2025, "LLM-Supported Natural Language to
Bash Translation", which compares ways of telling functional equivalence, and of InterCode (Yang et al. 2023),
whose measure is `exec-tfidf`. There a command has one reference and one environment. Here it has several of
both: a command passes where it is near enough to one and the same reference, in every variant where outputs
are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from evaluator.judges.case import Case, Judge
from evaluator.judges.consensus.prechecks import early_verdict, settle_by_text
from evaluator.records import Ending, Finding, Outcome, Step

THRESHOLD: Final = 0.75
"""What lies above it passes; the same for every heuristic, as in the paper."""

Similarity = Callable[[str, str], float]
"""Of a candidate's text to a reference's; at most 1 for the same texts."""


@runtime_checkable
class TextScorer(Judge, Protocol):
    """A judge of texts that can say how near two commands are, and not only whether that is enough."""

    def similarity(self, command: str, reference: str) -> float:
        """How near the command's text is to the reference's."""
        ...


def judge_texts(case: Case, similarity: Similarity) -> Finding:
    """Compare the command's text with that of each reference. Nothing that was executed is looked at."""
    early = settle_by_text(case)
    if early is not None or case.candidate is None:
        return early or Finding(outcome=Outcome.UNANSWERED)
    command = text_of(case.candidate.command)
    found: list[tuple[float, str | None]] = [
        (similarity(command, text_of(each.command)), None) for each in case.references
    ]
    return _finding("text", found)


def judge_outputs(case: Case, similarity: Similarity) -> Finding:
    """Compare what the command prints with what each reference prints, the least alike variant deciding."""
    early = early_verdict(case)
    if early is not None or case.candidate is None:
        return early or Finding(outcome=Outcome.UNANSWERED)
    found: list[tuple[float, str | None]] = []
    for reference in case.references:
        if any(trial.first.ending is not Ending.EXITED for trial in reference.trials.values()):
            continue
        scores = [
            (similarity(text_of(case.candidate.trials[name].first.stdout.data), text_of(trial.first.stdout.data)), name)
            for name, trial in reference.trials.items()
        ]
        found.append(min(scores))
    if not found:
        return Finding(outcome=Outcome.UNDECIDED, step=Step.LIMIT, reason="every reference ran into a limit")
    return _finding("output", found)


def text_of(data: bytes) -> str:
    """Bytes as text; what is not UTF-8 is like nothing else."""
    return data.decode(errors="replace")


def _finding(what: str, found: list[tuple[float, str | None]]) -> Finding:
    number, (score, variant) = max(enumerate(found, 1), key=lambda each: each[1][0])
    passes = score > THRESHOLD
    return Finding(
        outcome=Outcome.PASS if passes else Outcome.FAIL,
        step=Step.SCORE,
        reason=f"its {what} has similarity {score:.3f} to that of reference {number}, the nearest; "
        f"more than {THRESHOLD} passes",
        variant=None if passes else variant,
    )
