"""Values of a standing by which a reader selects a system: its size, cost, openness, authors and topics.

Texts of a submission are returned with all characters visible, as `plain_text` does. They are not escaped for HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.leaderboard.html_text import plain_text
from evaluator.records import Standing

BILLION: Final = 1_000_000_000
SMALL: Final = 10 * BILLION
"""The number of parameters below which a system counts as small in the headline."""

SIZE_CLASSES: Final[Mapping[str, float]] = {
    "≤ 3 B": 3 * BILLION,
    "3–10 B": 10 * BILLION,
    "10–40 B": 40 * BILLION,
    "40–100 B": 100 * BILLION,
    "> 100 B": float("inf"),
}
"""The classes of sizes, each with its largest number of parameters."""

UNKNOWN_SIZE: Final = "unknown"


def size_class(standing: Standing) -> str:
    """Return the class of a system's size, or UNKNOWN_SIZE if the number of parameters is not stated."""
    parameters = standing.parameters
    if parameters is None:
        return UNKNOWN_SIZE
    return next(name for name, largest in SIZE_CLASSES.items() if parameters <= largest)


def tokens_of(standing: Standing) -> float | None:
    """Return the mean number of input and output tokens of a task, or None if the system reports no tokens."""
    figures = standing.figures
    if figures.mean_input_tokens is None or figures.mean_output_tokens is None:
        return None
    return figures.mean_input_tokens + figures.mean_output_tokens


def usd_per_thousand(standing: Standing) -> float | None:
    """Return the cost of 1,000 tasks in US dollars, or None if it is unknown."""
    return None if standing.usd_per_task is None else 1000 * standing.usd_per_task


def weights_of(standing: Standing) -> str:
    """Return "open" or "closed", the availability of the model's weights."""
    return "open" if standing.open_weights else "closed"


def topic_shares(standing: Standing) -> dict[str, float]:
    """Return the share of tasks that a system passes, by topic in alphabetical order, without topics not asked."""
    return {topic: tally.passed / tally.asked for topic, tally in sorted(standing.topics.items()) if tally.asked}


def weakest_share(standing: Standing) -> float:
    """Return the share of the topic in which a system passes the fewest tasks, or -1 if no topic was asked."""
    return min(topic_shares(standing).values(), default=-1)


def added_of(standing: Standing) -> str | None:
    """Return the day on which a submission was added, in ISO format, or None if it is unknown."""
    return standing.added.isoformat() if standing.added else None


def released_of(standing: Standing) -> str | None:
    """Return the day on which a model was released, in ISO format, or None if it is unknown."""
    return standing.released.isoformat() if standing.released else None


def licence_of(standing: Standing) -> str:
    """Return the licence of a system, or an empty text if it states none."""
    return plain_text(standing.licence or "")


def authors_of(standing: Standing) -> str:
    """Return the names of a submission's authors in one text."""
    return ", ".join(map(plain_text, standing.authors))


def models_of(standing: Standing) -> str:
    """Return the names of a system's models in one text."""
    return ", ".join(map(plain_text, standing.models))


def points_below(standing: Standing, leader: Standing) -> float:
    """Return the difference between a system's accuracy and the leader's, as a share. It is never positive."""
    return standing.accuracy - leader.accuracy


def frontier(standings: Sequence[Standing], costs: Mapping[str, float]) -> list[Standing]:
    """Return the systems to which no other is superior, from the lowest cost to the highest.

    `costs` maps slugs to a cost, such as dollars or seconds. A system is superior if it is more accurate at no higher
    cost, or cheaper at no lower accuracy.
    """
    best: list[Standing] = []
    for standing in sorted(
        (row for row in standings if row.submission in costs),
        key=lambda row: (costs[row.submission], -row.accuracy, row.submission),
    ):
        if not best or standing.accuracy > best[-1].accuracy:
            best.append(standing)
    return best
