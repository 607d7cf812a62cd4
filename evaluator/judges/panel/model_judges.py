"""Provide the judges from the literature that ask a model. These judges are registered and pure, like all other judges.

Without the panel, these judges decide only the cases that need no model. All other cases stay undecided until the
pipeline asks the panel. Grading therefore needs no network, and a board without a panel reports the number of undecided
cases.
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.consensus.prechecks import early_verdict, settle_by_text
from evaluator.records import Finding, Outcome, Step


class Embed:
    """Passes a command if its embedding is similar to some reference's embedding."""

    name: Final = "embed"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """Decide the case if the command's text alone allows it. If not, leave the case undecided for the panel."""
        return settle_by_text(case) or _left_open(self.name)


class ExecEmbed:
    """Passes a command if the embedding of its output is similar to one reference's in every variant."""

    name: Final = "exec-embed"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """Decide the case if it needs no model. If it needs one, leave the case undecided for the panel."""
        return early_verdict(case) or _left_open(self.name)


class Llm:
    """Passes a command if a chat model says that it does the task. The model also sees a reference."""

    name: Final = "llm"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """Decide the case if the command's text alone allows it. If not, leave the case undecided for the panel."""
        return settle_by_text(case) or _left_open(self.name)


class ExecLlm:
    """Passes a command if a chat model says that it does the task. The model also sees the outputs of both commands."""

    name: Final = "exec-llm"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """Decide the case if it needs no model. If it needs one, leave the case undecided for the panel."""
        return early_verdict(case) or _left_open(self.name)


def _left_open(name: str) -> Finding:
    return Finding(outcome=Outcome.UNDECIDED, step=Step.PANEL, reason=f"{name} is a model's to say")


BY_MODEL: Final = (Embed(), ExecEmbed(), Llm(), ExecLlm())
"""The judges that need the panel for every decision after the prechecks."""
