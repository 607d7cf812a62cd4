"""The result of making the boards of several suites, including the suites and submissions that were left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evaluator.leaderboard.board import SuiteBoard


@dataclass(slots=True)
class BoardSet:
    """The boards of several suites.

    `unavailable` maps each suite without a board to the reason. `troubles` maps each suite whose commands could not be
    executed to the reason. `asked` holds the suites that the caller named, directly or by a submission. `left_out`
    lists the submissions that cannot be scored.
    """

    boards: list[SuiteBoard] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()

    @property
    def lacks_asked(self) -> bool:
        """Return whether a suite without a board was asked for."""
        return bool(self.asked & self.unavailable.keys())

    def notes(self) -> Iterator[str]:
        """Yield a line for each suite and each board that lacks something, with the reason."""
        for board in self.boards:
            if board.awaiting:
                kind = "published verdicts" if board.published else "verdicts on this machine"
                yield f"{board.name}: without {kind}: {', '.join(board.awaiting)}"
        for name, reason in self.troubles.items():
            yield f"suite {name}: not everything could be executed: {reason}"
        for name, reason in self.unavailable.items():
            yield f"suite {name} is left out: {reason}"
