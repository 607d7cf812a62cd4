"""This module defines the changes that a pull request can make, its states, the reasons for a state, and the labels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from evaluator.github.labels import StateLabel


class ChangeKind(StrEnum):
    """The change that a pull request makes. `MIXES`: it changes several submissions, or files of no submission."""

    NOTHING = "nothing"
    ADDS = "adds"
    UPDATES = "updates"
    WITHDRAWS = "withdraws"
    RENAMES = "renames"
    MIXES = "mixes"


class State(StrEnum):
    """The state of a pull request: ready to be merged, waiting for its author, or waiting for a maintainer."""

    VALID = "valid"
    NEEDS_CHANGES = "needs changes"
    HELD = "held"


class Reason(NamedTuple):
    """A reason in Markdown why a pull request is not valid, and the commands that correct the pull request."""

    state: State
    text: str
    commands: tuple[str, ...] = ()


CONTESTED: Final = "contested"
READY: Final = "ready to merge"

LABELS: Final = (
    StateLabel(State.VALID, "0e8a16", "The check finds no errors"),
    StateLabel(State.NEEDS_CHANGES, "d93f0b", "The author has to change something, see the comment"),
    StateLabel(State.HELD, "b60205", "Waits for a maintainer's decision or for time to pass, see the comment"),
    StateLabel(CONTESTED, "fbca04", "Has verdicts that no judge could decide and that wait for adjudication"),
    StateLabel(READY, "1d76db", "Adds one new submission and nothing else, and is valid"),
)
"""The labels of this project. A pull request has those that apply and no others of them."""


CLEARING: Final = tuple(label for label in LABELS if label.name in (State.VALID, CONTESTED, READY))
"""The labels that allow a merge. They apply to one commit and become invalid with the next push."""


def worst(reasons: Sequence[Reason]) -> State | None:
    """Return the most severe state of these reasons, or None if there are no reasons."""
    states = {reason.state for reason in reasons}
    return next((state for state in (State.HELD, State.NEEDS_CHANGES) if state in states), None)
