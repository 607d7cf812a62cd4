"""The field's judges that are models: registered like every other, and pure like every other.

What can be settled without a model they settle as all judges do; the rest they leave undecided for the panel,
which the pipeline asks afterwards. So grading needs no network, and a board without a panel says how many are
undecided.
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.case import Case, EvidenceNeed
from evaluator.judges.consensus.prechecks import early_verdict, settle_by_text
from evaluator.records import Finding, Outcome, Step


class Embed:
    """Passes a command whose embedding is near a reference's."""

    name: Final = "embed"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """What the text settles; else undecided, for the panel."""
        return settle_by_text(case) or _left_open(self.name)


class ExecEmbed:
    """Passes a command whose output's embedding is near that of one reference's in every variant."""

    name: Final = "exec-embed"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """What needs no model; else undecided, for the panel."""
        return early_verdict(case) or _left_open(self.name)


class Llm:
    """Passes a command of which a chat model, shown it beside a reference, says that it does the task."""

    name: Final = "llm"
    version: Final = 1
    basis: Final = EvidenceNeed.TEXT

    def judge(self, case: Case) -> Finding:
        """What the text settles; else undecided, for the panel."""
        return settle_by_text(case) or _left_open(self.name)


class ExecLlm:
    """Passes a command of which a chat model, shown it and its output beside a reference, says that it does it."""

    name: Final = "exec-llm"
    version: Final = 1
    basis: Final = EvidenceNeed.RUN

    def judge(self, case: Case) -> Finding:
        """What needs no model; else undecided, for the panel."""
        return early_verdict(case) or _left_open(self.name)


def _left_open(name: str) -> Finding:
    return Finding(outcome=Outcome.UNDECIDED, step=Step.PANEL, reason=f"{name} is a model's to say")


BY_MODEL: Final = (Embed(), ExecEmbed(), Llm(), ExecLlm())
"""The judges that need the panel to decide anything beyond the first step."""
