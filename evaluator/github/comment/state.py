"""What a pull request does, the states it may be in, why, and the labels that say so."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from evaluator.github.labels import StateLabel


class ChangeKind(StrEnum):
    """What a pull request does to the board's submissions. `MIXES`: to several, or to what is in no submission."""

    NOTHING = "nothing"
    ADDS = "adds"
    UPDATES = "updates"
    WITHDRAWS = "withdraws"
    RENAMES = "renames"
    MIXES = "mixes"


class State(StrEnum):
    """Whose turn it is: nobody's but the merge, the author's, or a maintainer's."""

    VALID = "valid"
    NEEDS_CHANGES = "needs changes"
    HELD = "held"


class Reason(NamedTuple):
    """Why a pull request is not valid, in Markdown, and the lines to type that mend it."""

    state: State
    text: str
    commands: tuple[str, ...] = ()


CONTESTED: Final = "contested"
READY: Final = "ready to merge"

LABELS: Final = (
    StateLabel(State.VALID, "0e8a16", "The check finds nothing to mend"),
    StateLabel(State.NEEDS_CHANGES, "d93f0b", "Its author has something to change; the comment says what"),
    StateLabel(State.HELD, "b60205", "Waits for a maintainer's decision, or for time; the comment says why"),
    StateLabel(CONTESTED, "fbca04", "Has verdicts that no judge could decide: up for adjudication"),
    StateLabel(READY, "1d76db", "Adds one new submission and nothing else, and is valid"),
)
"""All of ours; a pull request has those that hold and no others of them."""


CLEARING: Final = tuple(each for each in LABELS if each.name in (State.VALID, CONTESTED, READY))
"""Those that clear the way to a merge; they are said of one commit and hold for no other."""


def worst(reasons: Sequence[Reason]) -> State | None:
    """The state that a reader has to know first; None where there is no reason."""
    found = {each.state for each in reasons}
    return next((state for state in (State.HELD, State.NEEDS_CHANGES) if state in found), None)
