"""The entries of generated pages in the site's search: one for each suite, submission and task.

A table is not searched, because its cells make no sentence. So MkDocs leaves the generated pages out, and these entries
are added to its index after the build. The browser inserts titles and texts of the index as HTML, so they are escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.page_head import shortened, suite_head

MAX_LISTED: Final = 5
"""Number of authors and of models of a submission that can be searched for."""

MAX_TEXT: Final = 400
"""Characters of an instruction that can be searched for."""

Entry = Mapping[str, str]

_HOME: Final = ("", "Leaderboard", "Natural-language-to-Bash systems, ranked by execution accuracy.")
_TASKS: Final = ("tasks/", "Tasks", "All tasks of all suites, with their instructions and the systems that solve them.")


def search_entries(indexes: Iterable[BoardIndex]) -> Iterator[Entry]:
    """Yield the entries of the home page, the list of tasks, and all pages of these boards."""
    yield _entry(*_HOME)
    yield _entry(*_TASKS)
    for index in indexes:
        yield from _entries_of(index)


def _entries_of(index: BoardIndex) -> Iterator[Entry]:
    board = index.board
    suite, folder = f"{board.name} {board.manifest.version}", f"board/{board.name}/"
    yield _entry(folder, f"{suite}: leaderboard", f"{board.manifest.title}: {suite_head(index).description}")
    if not board.shows_texts:
        return
    yield _entry(f"{folder}compare/", f"{suite}: compare two systems", "Two systems, task by task.")
    for row in board.standings:
        models = f" Models: {_listed(row.models)}." if row.models else ""
        text = f"{row.submission}, a system on {suite} by {_listed(row.authors)}.{models}"
        yield _entry(f"{folder}submissions/{row.submission}/", row.system, text)
    for task in board.tasks:
        yield _entry(f"{folder}tasks/{task.id}/", f"Task {task.id}", task.nl)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shortened(name, 80) for name in names[:MAX_LISTED]) or "unknown authors"


def _entry(location: str, title: str, text: str) -> Entry:
    return {
        "location": location,
        "title": html.escape(shortened(title), quote=False),
        "text": html.escape(shortened(text, MAX_TEXT), quote=False),
    }


def entries_json(entries: Iterable[Entry]) -> str:
    """Return entries as a JSON list."""
    return json.dumps(list(entries), ensure_ascii=False, separators=(",", ":")) + "\n"
