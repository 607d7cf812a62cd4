"""This module writes the generated pages, charts and downloads of all boards. It writes all of them or none.

All boards are indexed first, so that inconsistent records raise an error before a file is written. All files are
written into a new folder, which replaces the old folder at the end. So pages of removed tasks disappear, and a reader
never sees an incomplete board. The same records give the same bytes, because nothing here depends on the time or the
machine.

A generated page consists of two files. One is Markdown with a title and a marker. The other is HTML below `.parts/`,
which replaces the marker. A marker in a hand-written page has HTML in a file whose name begins with an underscore. No
suite has such a name.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

import vl_convert

from evaluator.leaderboard.audits_part import render_audits
from evaluator.leaderboard.board import BoardIndex, SuiteBoard, index_board
from evaluator.leaderboard.chart_groups import VEGA_LITE, ChartGroup, chart_files, draw_groups
from evaluator.leaderboard.compare_page import render_comparison, tasks_json
from evaluator.leaderboard.downloads import results_lines, standings_csv, standings_json, times_csv
from evaluator.leaderboard.environment_part import render_environment
from evaluator.leaderboard.frozen import archive_path, frozen_versions, unpack
from evaluator.leaderboard.judges_page import render_judges
from evaluator.leaderboard.leaderboard_page import (
    render_all_systems,
    render_leaderboard,
    render_rows,
    render_unavailable,
)
from evaluator.leaderboard.methods_part import methods_json
from evaluator.leaderboard.overview_part import OverviewRow, overview_rows
from evaluator.leaderboard.real_answers_part import render_real_answers
from evaluator.leaderboard.rows_file import ROWS_NAME
from evaluator.leaderboard.submission_page import render_submission
from evaluator.leaderboard.task_page import render_task, render_tasks
from evaluator.records import Audit, Result, Validation

_UNMEASURED: Final = Validation(format=1)
_NONE: Final[Mapping[str, str]] = {}
VEGA: Final = f"vega-{version('vl-convert-python')}.js"
"""The file of Vega, Vega-Lite and Vega-Embed as one script without network access, named by its package's version."""


class Document(NamedTuple):
    """A text that is appended to a generated file. The path of the file is relative to the output folder."""

    path: str
    text: str


def write_pages(
    boards: Sequence[SuiteBoard],
    out: Path,
    validation: Validation = _UNMEASURED,
    audits: Sequence[Audit] = (),
    unavailable: Mapping[str, str] = _NONE,
) -> None:
    """Replace the content of the folder `out` by all generated documents of `boards`.

    The home page shows the first board. `unavailable` maps each suite without a board to the reason, which its page
    states. Raise ValueError if a board's records do not belong together or if two boards
    share a name, and OSError if the folder cannot be written. After an error, `out` is unchanged. The frozen boards of
    the folder beside `out` (see `frozen`) are written too.
    """
    indexes = [index_board(board) for board in boards]
    names = [board.name for board in boards]
    names += unavailable
    if len(set(names)) < len(names):
        raise ValueError(f"two boards have the same suite: {names}")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".board-", dir=out.parent) as scratch:
        fresh = Path(scratch, "fresh")
        fresh.mkdir()
        _write_vega(fresh / VEGA, out / VEGA)
        frozen = frozen_versions(out.parent)
        for document in _documents(indexes, validation, audits, unavailable, frozen):
            path = fresh / document.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(document.text)
        _write_frozen(out.parent, fresh, frozen)
        if out.exists():
            out.rename(Path(scratch, "stale"))
        fresh.rename(out)


def _write_frozen(site: Path, fresh: Path, frozen: Mapping[str, Sequence[int]]) -> None:
    """Write the documents of all frozen boards. Their charts load today's script."""
    for suite, versions in frozen.items():
        for major in versions:
            for name, data in unpack(archive_path(site, suite, major)):
                path = fresh / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(re.sub(rb"vega-[\w.]+\.js", VEGA.encode(), data) if name.endswith(".html") else data)


def _documents(
    indexes: Sequence[BoardIndex],
    validation: Validation,
    audits: Sequence[Audit],
    unavailable: Mapping[str, str],
    frozen: Mapping[str, Sequence[int]],
) -> Iterator[Document]:
    names = [*(index.board.name for index in indexes), *unavailable]
    yield Document(".parts/_environment.html", render_environment(index.board for index in indexes))
    yield Document(".parts/_tasks.html", render_tasks(indexes))
    yield Document(".parts/_real_answers.html", render_real_answers(validation))
    yield Document(".parts/_judges.html", render_judges(validation))
    yield Document(".parts/_audits.html", render_audits(audits))
    if not indexes:
        yield Document(".parts/_home.html", "<p>No suite has been scored yet.</p>\n")
    overview = overview_rows(indexes)
    for position, index in enumerate(indexes):
        groups, earlier = draw_groups(index.ranked), frozen.get(index.board.name, ())
        for name, text in (file for group in groups for file in chart_files(group)):
            yield Document(f"{index.board.name}/charts/{name}", text)
        if position == 0:
            home = render_leaderboard(index, groups, "", names, VEGA, earlier, validation=validation, overview=overview)
            yield Document(".parts/_home.html", home)
        yield from _suite(index, groups, names, earlier, validation, overview)
    for name, reason in unavailable.items():
        yield from _page(name, name, render_unavailable(name, reason, "../../", names))


def _suite(
    index: BoardIndex,
    groups: Sequence[ChartGroup],
    names: Sequence[str],
    earlier: Sequence[int],
    validation: Validation,
    overview: Sequence[OverviewRow],
) -> Iterator[Document]:
    board = index.board
    page = render_leaderboard(index, groups, "../../", names, VEGA, earlier, validation=validation, overview=overview)
    yield from _page(board.name, board.name, page)
    if index.ranked:
        yield from _page(f"{board.name}/all", "All systems", render_all_systems(index), searched=False)
        yield Document(f"{board.name}/{ROWS_NAME}", render_rows(index))
    yield Document(f"{board.name}/standings.csv", standings_csv(board.standings))
    yield Document(f"{board.name}/standings.json", standings_json(board.standings))
    if methods := methods_json(board):
        yield Document(f"{board.name}/methods.json", methods)
    if not board.shows_texts:  # tasks, commands and reasons quote texts that we may not publish: numbers only
        return
    yield from _page(f"{board.name}/compare", "Compare", render_comparison(index, "../../../assets/compare.js"))
    yield Document(f"{board.name}/tasks.json", tasks_json(board))
    yield Document(f"{board.name}/times.csv", times_csv(board))
    yield Document(f"{board.name}/results.jsonl", "")
    for standing in board.standings:
        path = f"{board.name}/submissions/{standing.submission}"
        yield from _page(path, standing.submission, render_submission(index, standing), searched=False)
        lines = results_lines(_flat(index.answers[standing.submission]))
        yield Document(f"{path}.jsonl", lines)
        yield Document(f"{board.name}/results.jsonl", lines)
    for task in board.tasks:
        path = f"{board.name}/tasks/{task.id}"
        yield from _page(path, task.id, render_task(index, task))
        yield Document(f"{path}.jsonl", results_lines(index.attempts[task.id]))


def _flat(answers: Mapping[str, Sequence[Result]]) -> Iterator[Result]:
    for results in answers.values():
        yield from results


def _page(path: str, title: str, part: str, searched: bool = True) -> Iterator[Document]:
    """Yield the two documents of a page without sidebars.

    `title` must be a slug or an identifier, because the theme does not escape it.
    """
    front = [f"title: {json.dumps(title)}", "hide: [navigation, toc]"]
    if not searched:
        front.append("search: {exclude: true}")
    marker = f'<div data-part="{path}"></div>'
    yield Document(f"{path}/index.md", "\n".join(["---", *front, "---", "", marker, ""]))
    yield Document(f".parts/{path}.html", part)


def _write_vega(path: Path, before: Path) -> None:
    """Write the script of Vega, which draws charts in the browser.

    If the file `before` exists, copy it, because it takes seconds to make a new one.
    """
    if before.is_file():
        shutil.copyfile(before, path)
    else:
        path.write_text(_vega(), "utf-8", newline="\n")


@functools.cache
def _vega() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))
