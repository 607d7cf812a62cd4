"""What asking may cost and what it has cost so far.

Money is set aside before a request is sent, for the most that it can cost, so that requests in flight together
never go over the limit. A request that ended without an answer keeps what was set aside: the server may have
done the work.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.errors import BashboardError
from evaluator.wording import pluralize


class BudgetSpentError(BashboardError):
    """No further request fits what may be spent."""


@dataclass(slots=True)
class Budget:
    """Limits and what is spent: `calls` are requests sent, repeated ones too; `usd` is US dollars."""

    max_calls: int | None = None
    max_usd: float | None = None
    calls: int = 0
    replies: int = 0
    usd: float = 0.0
    tokens: int = 0
    is_priced: bool = True
    _set_aside: float = 0.0

    def begin(self, usd: float, *, is_priced: bool) -> None:
        """Set `usd` aside for one request. Raises BudgetSpentError, and counts nothing, where it does not fit."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetSpentError(f"{self.calls} calls are made, as many as --max-calls allows")
        if self.max_usd is not None and self.usd + self._set_aside + usd > self.max_usd:
            raise BudgetSpentError(
                f"${self.usd:.4f} are spent, and the next call might go over the ${self.max_usd:g} of --max-usd"
            )
        self.calls += 1
        self.is_priced = self.is_priced and is_priced
        self._set_aside += usd

    def end(self, set_aside: float, usd: float, tokens: int = 0) -> None:
        """A request is over and has cost this."""
        self._set_aside = max(0.0, self._set_aside - set_aside)
        self.usd += usd
        self.tokens += tokens

    def __str__(self) -> str:
        """What is spent, in words."""
        money = f"${self.usd:.4f}" if self.is_priced else f"{self.tokens} tokens, price unknown"
        return f"{pluralize(self.replies, 'reply', 'replies')}, {money}"
