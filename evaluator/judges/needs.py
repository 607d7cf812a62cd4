"""Which findings ask for a second, spaced run of the candidate before they count."""

from __future__ import annotations

from typing import Final

from evaluator.records import Finding, Outcome, Step

_COMPARED: Final = frozenset({Step.FILES, Step.SHELL, Step.PROCESSES, Step.EXIT, Step.STDERR, Step.OUTPUT, Step.SCORE})


def needs_second_run(finding: Finding) -> bool:
    """True where the candidate did not pass and comparing evidence decided so.

    Only there can a field that changes from run to run be at fault. Over-long, unreadable, missing and
    verified commands would say the same again.
    """
    return finding.outcome in (Outcome.FAIL, Outcome.UNDECIDED) and finding.step in _COMPARED
