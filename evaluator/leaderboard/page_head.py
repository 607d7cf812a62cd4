"""The title, the description and the card of a generated page: what a browser tab, a search engine and a link show.

The theme inserts the values of a page's front matter into HTML without escaping them, and YAML has characters that it
does not take. So the front matter has them as HTML in plain ASCII.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from evaluator.leaderboard.board import BoardIndex, SuiteBoard
from evaluator.leaderboard.formats import percent, spread
from evaluator.leaderboard.html_text import plain_text
from evaluator.records import Standing, Task
from evaluator.wording import pluralize

MAX_TITLE: Final = 110
"""Characters of a title. Search engines and other sites show fewer."""

CARD: Final = "card.png"


class PageHead(NamedTuple):
    """The head of a page, as plain text. `card` is the path of the page's card below the site's root, if it has one."""

    title: str
    description: str = ""
    card: str = ""

    def front_matter(self) -> Iterator[str]:
        """Yield lines of YAML. Each value is HTML in ASCII."""
        for name, value in self._asdict().items():
            if value:
                yield f"{name}: {json.dumps(html_text(value))}"


def html_text(text: str) -> str:
    """Return a text as HTML in ASCII, for an element's content or for an attribute in double quotes."""
    return html.escape(plain_text(text)).encode("ascii", "xmlcharrefreplace").decode()


def shortened(text: str, most: int = MAX_TITLE) -> str:
    """Return a text on one line, with an ellipsis if it had more than `most` characters."""
    line = " ".join(plain_text(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def score_text(standing: Standing) -> str:
    """Return a system's accuracy with its 95 % interval, such as 79.2 % (72.4-84.6), with a dash."""
    interval = spread(percent(standing.accuracy_low), percent(standing.accuracy_high))
    return f"{percent(standing.accuracy)} % ({interval})"


def rank_text(standing: Standing, ranked: int) -> str:
    """Return a system's range of ranks, or "not ranked"."""
    if not standing.ranked or standing.rank_low is None:
        return "not ranked"
    return f"rank {spread(standing.rank_low, standing.rank_high)} of {ranked}"


def submission_head(index: BoardIndex, standing: Standing) -> PageHead:
    """Return the head of a submission's page."""
    board = index.board
    score = f"{score_text(standing)}, {rank_text(standing, len(index.ranked))}"
    description = f"{score}. Execution accuracy on {board.name} {board.manifest.version}, with every verdict."
    return PageHead(shortened(standing.system), description, submission_card(board, standing.submission))


def task_head(board: SuiteBoard, task: Task) -> PageHead:
    """Return the head of a task's page. It depends on the task alone."""
    about = f"{task.topic.value}, difficulty {task.difficulty} of 5"
    description = f"Task {task.id} of {board.name} {board.manifest.version}: {about}. References and answers."
    return PageHead(shortened(task.nl), description, suite_card(board))


def suite_head(index: BoardIndex) -> PageHead:
    """Return the head of a suite's page."""
    board, ranked = index.board, index.ranked
    counts = f"{pluralize(len(ranked), 'ranked system')} on {pluralize(len(board.tasks), 'task')}"
    best = f" {shortened(ranked[0].system, 60)} leads with {score_text(ranked[0])}." if ranked else ""
    return PageHead(f"{board.name} {board.manifest.version}", f"{counts}.{best}", suite_card(board))


def compare_head(board: SuiteBoard) -> PageHead:
    """Return the head of a suite's page of comparisons."""
    description = f"Two systems on {board.name} {board.manifest.version}, task by task, with a paired test."
    return PageHead("Compare", description, suite_card(board))


def suite_card(board: SuiteBoard) -> str:
    """Return the path of a suite's card below the site's root."""
    return f"board/{board.name}/{CARD}"


def submission_card(board: SuiteBoard, slug: str) -> str:
    """Return the path of a submission's card below the site's root. Without pages of its own, it has the suite's."""
    return f"board/{board.name}/submissions/{slug}/{CARD}" if board.shows_texts else suite_card(board)
