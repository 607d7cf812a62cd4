"""The settings of each kind of generated page for the browser's tab, the search, other sites and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.leaderboard.board import BoardIndex, SuiteBoard
from evaluator.leaderboard.documents import PageSettings
from evaluator.leaderboard.formats import percent, spread
from evaluator.leaderboard.html_text import plain_text
from evaluator.records import Standing, Task
from evaluator.wording import pluralize

MAX_TITLE: Final = 110
"""Characters of a title. Search engines and other sites show fewer."""

MAX_LISTED: Final = 5
"""Number of authors and of models of a submission that the search finds."""

MAX_SNIPPET: Final = 400
"""Characters of an instruction that the search finds."""

CARD: Final = "card.png"


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


def submission_head(index: BoardIndex, standing: Standing) -> PageSettings:
    """Return the settings of a submission's page."""
    board = index.board
    score = f"{score_text(standing)}, {rank_text(standing, len(index.ranked))}"
    description = f"{score}. Execution accuracy on {board.name} {board.manifest.version}, with every verdict."
    suite = f"{board.name} {board.manifest.version}"
    models = f" Models: {_listed(standing.models)}." if standing.models else ""
    return PageSettings(
        shortened(standing.system),
        description,
        submission_card(board, standing.submission),
        snippet=f"{standing.submission}, a system on {suite} by {_listed(standing.authors)}.{models}",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shortened(name, 80) for name in names[:MAX_LISTED]) or "unknown authors"


def task_head(board: SuiteBoard, task: Task) -> PageSettings:
    """Return the settings of a task's page. It depends on the task alone."""
    about = f"{task.topic.value}, difficulty {task.difficulty} of 5"
    description = f"Task {task.id} of {board.name} {board.manifest.version}: {about}. References and answers."
    return PageSettings(
        shortened(task.nl),
        description,
        suite_card(board),
        search_title=f"Task {task.id}",
        snippet=shortened(task.nl, MAX_SNIPPET),
    )


def suite_head(index: BoardIndex) -> PageSettings:
    """Return the settings of a suite's page."""
    board, ranked = index.board, index.ranked
    counts = f"{pluralize(len(ranked), 'ranked system')} on {pluralize(len(board.tasks), 'task')}"
    best = f" {shortened(ranked[0].system, 60)} leads with {score_text(ranked[0])}." if ranked else ""
    suite, description = f"{board.name} {board.manifest.version}", f"{counts}.{best}"
    return PageSettings(
        suite,
        description,
        suite_card(board),
        search_title=f"{suite}: leaderboard",
        snippet=shortened(f"{board.manifest.title}: {description}", MAX_SNIPPET),
    )


def compare_head(board: SuiteBoard) -> PageSettings:
    """Return the settings of a suite's page of comparisons."""
    suite = f"{board.name} {board.manifest.version}"
    return PageSettings(
        "Compare",
        f"Two systems on {suite}, task by task, with a paired test.",
        suite_card(board),
        search_title=f"{suite}: compare two systems",
        snippet="Two systems, task by task.",
    )


def all_systems_head(board: SuiteBoard) -> PageSettings:
    """Return the settings of the page with all systems of a suite. The search finds the systems themselves."""
    suite = f"{board.name} {board.manifest.version}"
    return PageSettings("All systems", f"All ranked systems on {suite}, on one plain page.", suite_card(board))


def suite_card(board: SuiteBoard) -> str:
    """Return the path of a suite's card below the site's root."""
    return f"board/{board.name}/{CARD}"


def submission_card(board: SuiteBoard, slug: str) -> str:
    """Return the path of a submission's card below the site's root. Without pages of its own, it has the suite's."""
    return f"board/{board.name}/submissions/{slug}/{CARD}" if board.shows_texts else suite_card(board)
