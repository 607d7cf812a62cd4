"""Provide the judge `exact`: the candidate must print the same bytes as one reference, in every variant.

This is the simplest judge in the literature. The project uses it as a baseline for the other judges. The judge ignores
file changes and accepts no difference in layout.
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed, Executed
from evaluator.judges.consensus.prechecks import early_verdict
from evaluator.records import Ending, Finding, Outcome, Step


class Exact:
    """Passes a candidate if its standard output has the same digest as one reference's in every variant."""

    name: Final = "exact"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """Compare the digests of standard output, unless the checks that all judges share have decided the case."""
        early = early_verdict(case)
        if early is not None or case.candidate is None:
            return early or Finding(outcome=Outcome.UNANSWERED)
        differing = []
        for number, reference in enumerate(case.references, start=1):
            variant = _first_difference(case, case.candidate, reference)
            if variant is None:
                sentence = f"prints the bytes of reference {number} in every variant"
                return Finding(outcome=Outcome.PASS, step=Step.OUTPUT, reason=sentence)
            differing.append(variant)
        sentence = "no reference prints the same bytes in every variant"
        return Finding(outcome=Outcome.FAIL, step=Step.OUTPUT, reason=sentence, variant=differing[0])


def _first_difference(case: Case, candidate: Executed, reference: Executed) -> str | None:
    for variant in case.variants:
        candidate_run, reference_run = candidate.trials[variant].first, reference.trials[variant].first
        if reference_run.ending is not Ending.EXITED or candidate_run.stdout.digest != reference_run.stdout.digest:
            return variant
    return None
