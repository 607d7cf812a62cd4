"""The values that the cells of the leaderboard need besides a row: addresses, names, the leader, formatted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from evaluator.leaderboard import formats
from evaluator.leaderboard import standing_values as values
from evaluator.leaderboard.columns import PageCell
from evaluator.leaderboard.environment import ENVIRONMENT
from evaluator.records import Standing

HEAT_STEPS: Final = (0.2, 0.4, 0.6, 0.8)
"""The shares at which the colour of a topic's cell changes."""


class LeaderDifference(NamedTuple):
    """The difference between a system and the leader by their tie groups: a sign, and the same as words."""

    sign: str
    text: str


NOT_SIGNIFICANT: Final = LeaderDifference("≈", "not significant")
SIGNIFICANT: Final = LeaderDifference("<", "significant")
LOWER_GROUP: Final = LeaderDifference("<", "lower group")


@dataclass(frozen=True, slots=True)
class BoardView:
    """The ranked systems of a board, as the cells of its table show them.

    `place` is the address of the board's folder, or None if its systems have no pages. `systems` maps slugs to names.
    """

    place: str | None
    ranked: Sequence[Standing]
    systems: Mapping[str, str]

    @classmethod
    def of(cls, ranked: Sequence[Standing], place: str | None) -> BoardView:
        """Return the view of a board with these ranked systems."""
        return cls(place, ranked, {standing.submission: standing.system for standing in ranked})

    @property
    def leader(self) -> Standing:
        """Return the first of the ranked systems."""
        return self.ranked[0]

    @property
    def tied(self) -> int:
        """Return the number of systems that are not significantly different from the leader."""
        return sum(standing.tie_group == self.leader.tie_group for standing in self.ranked) - 1

    @property
    def ahead(self) -> str:
        """Return the points between the leader and the second system, or an empty text without a second."""
        return self.points(self.ranked[1]).lstrip("+−") if len(self.ranked) > 1 else ""

    def address(self, slug: str) -> str | None:
        """Return the address of a submission's page, or None if it has no page."""
        return None if self.place is None else f"{self.place}/submissions/{slug}/"

    def difference(self, standing: Standing) -> LeaderDifference | None:
        """Return what the paired tests say about a system and the leader, or None for the leader.

        The leader is compared with each system. The first system that differs begins the second tie group. The test
        of a later system against the leader is not part of a standing, so only its group is named.
        """
        if standing.submission == self.leader.submission:
            return None
        if standing.tie_group == self.leader.tie_group:
            return NOT_SIGNIFICANT
        return SIGNIFICANT if standing.compared_with == self.leader.submission else LOWER_GROUP

    def points(self, standing: Standing) -> str:
        """Return the difference between a system's accuracy and the leader's in points."""
        return formats.points(values.points_below(standing, self.leader))

    def tie(self, standing: Standing) -> str:
        """Return a few words about a system's place in its tie group."""
        if standing.tie_group == self.leader.tie_group:
            return "tied with the leader"
        return "best of its group" if formats.begins_group(standing) else "tied with its best"

    def cost(self, standing: Standing) -> str | None:
        """Return the cost of 1,000 tasks, or None if it is unknown."""
        return formats.dollars(values.usd_per_thousand(standing))

    def latency(self, standing: Standing) -> str | None:
        """Return the median latency in seconds or milliseconds, or None if the system reports none."""
        return formats.latency(standing.figures.latency_s)

    def tokens(self, standing: Standing) -> str | None:
        """Return the mean number of tokens per task, or None if the system reports none."""
        return formats.integer(values.tokens_of(standing))

    def size(self, standing: Standing) -> str | None:
        """Return the number of parameters, or None if it is not stated."""
        return formats.size(standing.parameters)

    def topic_words(self, standing: Standing) -> str:
        """Return the accuracy in each topic as text."""
        shares = values.topic_shares(standing)
        return ", ".join(f"{topic} {100 * share:.0f}" for topic, share in shares.items()) + " %"

    def strip_style(self, standing: Standing) -> str:
        """Return the CSS of a strip with a cell for each topic, in one of five colours, with a gap between cells."""
        shares = list(values.topic_shares(standing).values())
        stops = []
        for number, share in enumerate(shares):
            colour = f"var(--board-heat-{sum(share >= step for step in HEAT_STEPS)})"
            left, right = 100 * number / len(shares), 100 * (number + 1) / len(shares)
            stops += [f"{colour} {left:.4g}% calc({right:.4g}% - 2px)", f"#0000 0 {right:.4g}%"]
        return f"background:linear-gradient(90deg,{','.join(stops)})" if stops else ""

    def cell(self, key: str, cell: PageCell, standing: Standing) -> Markup:
        """Return the HTML of a table cell, with its element."""
        cells = _cells()
        content = getattr(cells, cell.macro)(standing, cell, self)
        rendered: Markup = cells.whole(key, cell, cell.value(standing), content)
        return rendered


@cache
def _cells() -> Any:
    """Return the macros of the cells."""
    return ENVIRONMENT.get_template("leaderboard_cells.html").module
