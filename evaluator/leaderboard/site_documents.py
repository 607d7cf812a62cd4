"""The files beside the pages for quoting and following: facts, feed, downloads, badges and cards.

Cards are written only if the site's address is known, because other sites ask for them by a whole address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evaluator.leaderboard.badge import badge_json, badge_svg
from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.changes_part import FEED, pages_of, render_changes, render_feed, render_new_changes
from evaluator.leaderboard.documents import Document
from evaluator.leaderboard.downloads import board_json, passes_parquet, standings_parquet
from evaluator.leaderboard.page_head import CARD, suite_card
from evaluator.leaderboard.quote_part import render_cite
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.leaderboard.social_card import draw_card, submission_card_text, suite_card_text
from evaluator.leaderboard.versions_part import render_version_choice
from evaluator.records import Standing

FILES: Final = {
    "standings as CSV": "standings.csv",
    "standings as JSON": "standings.json",
    "standings as Parquet": "standings.parquet",
}
"""The files of every board, by what they have."""

TEXT_FILES: Final = {
    "list of the files with all verdicts": "verdicts.json",
    "passed tasks as Parquet": "passes.parquet",
}
"""The files of a board whose texts may be shown."""


def site_documents(indexes: Sequence[BoardIndex], facts: SiteFacts) -> Iterator[Document]:
    """Yield the facts for the theme, the page of changes, the citation, and the feed."""
    pages = pages_of(index.board for index in indexes)
    card = suite_card(indexes[0].board) if facts.address and indexes else ""
    feed = FEED if facts.time else ""
    yield Document(".parts/_site.json", facts.as_json(card=card, feed=feed))
    yield Document(".parts/_changes.html", render_changes(facts, pages))
    cite = (
        render_cite(indexes[0].board, facts, "../", linked=False)
        if indexes
        else "<p>No suite has been scored yet.</p>\n"
    )
    yield Document(".parts/_cite.html", cite)
    if feed:
        yield Document(FEED.removeprefix("board/"), render_feed(facts, pages))


def with_quote_part(index: BoardIndex, part: str, facts: SiteFacts, earlier: Sequence[int], root: str) -> str:
    """Return the HTML of a suite's board with the choice of a version, the newest changes, and how to cite it."""
    board = index.board
    choice = render_version_choice(board, facts, earlier, root)
    news = "" if root else render_new_changes(facts, pages_of([board]), root)
    return choice + part + news + render_cite(board, facts, root)


def suite_documents(index: BoardIndex, facts: SiteFacts) -> Iterator[Document]:
    """Yield a suite's downloads for programs, and its card."""
    board = index.board
    files = {**FILES, **(TEXT_FILES if board.shows_texts else {})}
    yield Document(f"{board.name}/board.json", board_json(index, facts, files))
    yield Document(f"{board.name}/standings.parquet", standings_parquet(board.standings))
    if board.shows_texts:
        yield Document(f"{board.name}/passes.parquet", passes_parquet(board))
    if facts.address:
        yield Document(f"{board.name}/{CARD}", draw_card(suite_card_text(index)))


def quoting_documents(index: BoardIndex, standing: Standing, facts: SiteFacts) -> Iterator[Document]:
    """Yield a submission's badge and its card."""
    folder = f"{index.board.name}/submissions/{standing.submission}"
    yield Document(f"{folder}/badge.svg", badge_svg(index, standing))
    yield Document(f"{folder}/badge.json", badge_json(index, standing))
    if facts.address:
        yield Document(f"{folder}/{CARD}", draw_card(submission_card_text(index, standing)))
