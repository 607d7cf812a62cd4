"""The field's judges that are models: registered like every other, and pure like every other.

What can be settled without a model they settle as all judges do; the rest they leave undecided for the panel,
which the pipeline asks afterwards. So grading needs no network, and a board without a panel says how many are
undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evaluator.judges.case import Basis, Case
from evaluator.judges.screening import settle_by_text, settle_early
from evaluator.records import Finding, Outcome, Step


@dataclass(frozen=True, slots=True)
class Asking:
    """A judge of which everything beyond the first step is a model's answer."""

    name: str
    basis: Basis
    version: int = 1

    def judge(self, case: Case) -> Finding:
        """What needs no model; else undecided, for the panel."""
        early = settle_by_text(case) if self.basis is Basis.TEXT else settle_early(case)
        return early or Finding(outcome=Outcome.UNDECIDED, step=Step.PANEL, reason=f"{self.name} is a model's to say")


BY_MODEL: Final = (
    Asking("embed", Basis.TEXT),
    Asking("exec-embed", Basis.RUN),
    Asking("llm", Basis.TEXT),
    Asking("exec-llm", Basis.RUN),
)
"""`embed` and `exec-embed` compare embeddings of commands and of outputs; `llm` and `exec-llm` ask a chat model."""
