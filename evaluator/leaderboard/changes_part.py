"""The changes of the boards: the page *Changes*, the Atom feed, and the newest ones for the home page.

The feed follows RFC 4287. The id of an entry is made from the commit, so it stays if the site moves.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from itertools import groupby
from typing import Final, NamedTuple

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.formats import percentage
from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.records import BoardChange, BoardChangeKind, RowScore
from evaluator.wording import pluralize

FEED: Final = "board/feed.xml"
"""The path of the feed below the site's root."""

NEW_DAYS: Final = 31
"""Number of days in which a change or a system is new."""

MAX_NEW: Final = 5
"""Number of changes that the home page lists."""

_FEED_NAMESPACE: Final = uuid.UUID("0f0cfc3e-6b0a-5d0e-8a53-3f1a3e6a9c55")

Pages = Mapping[str, Collection[str]]
"""The slugs of the submissions with a page, by suite."""


class ChangeLine(NamedTuple):
    """A change in words. `subject` may be a text of a submission. `page` is an address below the site's root."""

    change: BoardChange
    subject: str
    event: str
    page: str

    @property
    def plain(self) -> str:
        """Return the change as one plain sentence, without hidden characters."""
        return f"{plain_text(self.subject)}: {self.event}"


def pages_of(boards: Iterable[SuiteBoard]) -> Pages:
    """Return the submissions that have a page, by suite. A suite whose texts may not be shown has none."""
    return {board.name: {row.submission for row in board.standings} if board.shows_texts else set() for board in boards}


def newest_changes(facts: SiteFacts, suites: Collection[str] | None = None) -> tuple[BoardChange, ...]:
    """Return the changes of the last month before the commit, at most five, the latest first.

    If `suites` is given, only their changes count. Rows that were judged again without another score are left out.
    """
    if facts.time is None:
        return ()
    since = facts.time - timedelta(days=NEW_DAYS)
    found = (
        change
        for change in facts.changes
        if change.time >= since
        and change.kind is not BoardChangeKind.RESCORED
        and (suites is None or change.suite in suites)
    )
    return tuple(found)[:MAX_NEW]


def change_line(change: BoardChange, pages: Pages) -> ChangeLine:
    """Return a change in words, with the page of its row or its suite, if there is one."""
    page = f"board/{change.suite}/" if change.suite in pages else ""
    if change.submission in pages.get(change.suite, ()):
        page = f"board/{change.suite}/submissions/{change.submission}/"
    return ChangeLine(change, change.system or change.submission or change.suite, _event(change), page)


def _event(change: BoardChange) -> str:
    before, after = change.before, change.after
    match change.kind:
        case BoardChangeKind.VERSION:
            old, new = map(plain_text, change.versions[0])
            return f"version {old} → {new}" if old else f"new suite, version {new}"
        case BoardChangeKind.RESCORED:
            reasons = "; ".join(f"{old} → {new}" for old, new in change.versions)
            rows = f"{pluralize(change.rows, 'row')} judged again, with the same score"
            return f"{rows} ({plain_text(reasons)})" if reasons else rows
        case BoardChangeKind.ADDED if after:
            return f"new on {change.suite}, {_score(after)}"
        case BoardChangeKind.MOVED if before and after:
            return f"{percentage(before.accuracy)} → {_score(after)} on {change.suite}"
        case _:
            return f"removed from {change.suite}"


def _score(score: RowScore) -> str:
    return f"{percentage(score.accuracy)} ({score.passed} of {score.asked} tasks)"


def render_changes(facts: SiteFacts, pages: Pages) -> str:
    """Return the HTML of all known changes, by day."""
    lines = [change_line(change, pages) for change in facts.changes]
    days = [(day, list(group)) for day, group in groupby(lines, key=lambda line: f"{line.change.time:%Y-%m-%d}")]
    return render("changes.html", days=days, facts=facts, root="../")


def render_new_changes(facts: SiteFacts, pages: Pages, root: str) -> str:
    """Return the HTML of the newest changes for the home page, or nothing without any."""
    changes = newest_changes(facts)
    if not changes or facts.time is None:
        return ""
    since = f"{facts.time - timedelta(days=NEW_DAYS):%Y-%m-%d}"
    lines = [change_line(change, pages) for change in changes]
    return render("new_changes.html", lines=lines, since=since, facts=facts, root=root)


def render_feed(facts: SiteFacts, pages: Pages) -> str:
    """Return the Atom feed of all known changes. Raise ValueError without a commit, because a feed needs a time."""
    if facts.time is None:
        raise ValueError("expected the time of the commit: a feed says when it was updated")
    updated = max((change.time for change in facts.changes), default=facts.time)
    return (
        render(
            "feed.xml",
            id=uuid.uuid5(_FEED_NAMESPACE, facts.source or "bashboard").urn,
            updated=updated.isoformat(),
            lines=[change_line(change, pages) for change in facts.changes],
            address=facts.address,
            feed=FEED,
            root=facts.address or "../",
        )
        + "\n"
    )
