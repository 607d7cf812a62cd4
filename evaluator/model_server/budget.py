"""Limit the number and the cost of requests to models.

Before a client sends a request, it reserves the maximum cost of this request. Concurrent requests therefore never
exceed the cost limit together. If a request ends without an answer, its whole reserved amount counts as spent, because
the server may have processed the request.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.errors import BashboardError
from evaluator.wording import pluralize


class BudgetSpentError(BashboardError):
    """The error for a request to a model that the budget does not allow."""


@dataclass(slots=True)
class Budget:
    """The limits on the number and the cost of requests to models, and the amounts that are used so far.

    `calls` counts all requests, including retries. `usd` is the cost of these requests in US dollars.
    """

    max_calls: int | None = None
    max_usd: float | None = None
    calls: int = 0
    replies: int = 0
    usd: float = 0.0
    tokens: int = 0
    is_priced: bool = True
    _set_aside: float = 0.0

    def begin(self, usd: float, *, is_priced: bool) -> None:
        """Count a request and reserve its maximum cost `usd`.

        Raise BudgetSpentError if a limit forbids this. Then nothing is counted or reserved.
        """
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
        """Release the amount reserved for a finished request (`set_aside`), and record the actual cost (`usd`)."""
        self._set_aside = max(0.0, self._set_aside - set_aside)
        self.usd += usd
        self.tokens += tokens

    def __str__(self) -> str:
        """Return a text for messages: the number of replies and their cost."""
        money = f"${self.usd:.4f}" if self.is_priced else f"{self.tokens} tokens, price unknown"
        return f"{pluralize(self.replies, 'reply', 'replies')}, {money}"
