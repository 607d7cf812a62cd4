"""Writes a board's generated pages, charts and downloads, whole or not at all.

Everything is gathered first, so that records which do not belong together stop the work before a file is
touched. Then documents are written one by one into a new folder beside the old one, which takes its place
at the end: no page of a task that is gone survives, and a reader never meets half a board. The same records
give the same bytes: nothing here knows the time or the machine.

A page is two documents: Markdown with title and marker, and under `.parts/` its HTML (see `hook`). Parts of
hand-written pages begin with an underscore, which no suite's name can.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import vl_convert

from evaluator.leaderboard.board import Gathered, SuiteBoard, gather
from evaluator.leaderboard.charts import accuracy_chart, agreement_chart, has_horizon, horizon_chart, topic_chart
from evaluator.leaderboard.compare_page import compare_part, tasks_json
from evaluator.leaderboard.downloads import results_lines, standings_csv, standings_json
from evaluator.leaderboard.environment_part import environment_part
from evaluator.leaderboard.judges_page import judges_part
from evaluator.leaderboard.leaderboard_page import leaderboard_part
from evaluator.leaderboard.submission_page import submission_part
from evaluator.leaderboard.task_page import task_part, tasks_part
from evaluator.records import Result, Validation

_UNMEASURED: Final = Validation(format=1)
_VEGA_LITE: Final = "6.4"
VEGA: Final = f"vega-{version('vl-convert-python')}.js"
"""Vega, Vega-Lite and Vega-Embed as one script that needs no network, named by the package it comes from."""


class Document(NamedTuple):
    """A piece of a file to write: the path below the board's folder, and text that follows what is there."""

    path: str
    text: str


def write_pages(boards: Sequence[SuiteBoard], out: Path, validation: Validation = _UNMEASURED) -> None:
    """Write all generated documents of `boards` into the folder `out`, in place of what was there.

    The first board is the home page's. Raises ValueError where a board's records do not belong together or
    two boards share a name, and OSError where the folder cannot be written; `out` is then as it was.
    """
    gathered = [gather(board) for board in boards]
    names = [board.name for board in boards]
    if len(set(names)) < len(names):
        raise ValueError(f"two boards have the same suite: {names}")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".board-", dir=out.parent) as scratch:
        fresh = Path(scratch, "fresh")
        fresh.mkdir()
        _write_vega(fresh / VEGA, out / VEGA)
        for document in _documents(gathered, validation):
            path = fresh / document.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(document.text)
        if out.exists():
            out.rename(Path(scratch, "stale"))
        fresh.rename(out)


def _documents(boards: Sequence[Gathered], validation: Validation) -> Iterator[Document]:
    names = [gathered.board.name for gathered in boards]
    yield Document(".parts/_environment.html", environment_part(gathered.board for gathered in boards))
    yield Document(".parts/_tasks.html", tasks_part(boards))
    yield Document(".parts/_judges.html", judges_part(validation))
    if not boards:
        yield Document(".parts/_home.html", "<p>No suite has been scored yet.</p>\n")
    for place, gathered in enumerate(boards):
        drawings: dict[str, str] = {}
        for name, spec in _charts(gathered).items():
            drawings[name] = vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE)
            yield from _chart(f"{gathered.board.name}/charts/{name}", spec, drawings[name])
        if place == 0:
            yield Document(".parts/_home.html", leaderboard_part(gathered, drawings, "", names, VEGA))
        yield from _suite(gathered, drawings, names)


def _suite(gathered: Gathered, drawings: Mapping[str, str], names: Sequence[str]) -> Iterator[Document]:
    board = gathered.board
    heading = f"<h1>{board.name} {board.manifest.version}</h1>\n"
    yield from _page(board.name, board.name, heading + leaderboard_part(gathered, drawings, "../../", names, VEGA))
    yield Document(f"{board.name}/standings.csv", standings_csv(board.standings))
    yield Document(f"{board.name}/standings.json", standings_json(board.standings))
    if board.manifest.foreign:  # tasks, commands and reasons quote texts that are not ours: numbers only
        return
    yield from _page(f"{board.name}/compare", "Compare", compare_part(gathered, "../../../assets/compare.js"))
    yield Document(f"{board.name}/tasks.json", tasks_json(board))
    yield Document(f"{board.name}/results.jsonl", "")
    for standing in board.standings:
        path = f"{board.name}/submissions/{standing.submission}"
        yield from _page(path, standing.submission, submission_part(gathered, standing), searched=False)
        lines = results_lines(_flat(gathered.answers[standing.submission]))
        yield Document(f"{path}.jsonl", lines)
        yield Document(f"{board.name}/results.jsonl", lines)
    for task in board.tasks:
        path = f"{board.name}/tasks/{task.id}"
        yield from _page(path, task.id, task_part(gathered, task))
        yield Document(f"{path}.jsonl", results_lines(gathered.attempts[task.id]))


def _flat(answers: Mapping[str, Sequence[Result]]) -> Iterator[Result]:
    for results in answers.values():
        yield from results


def _page(path: str, title: str, part: str, searched: bool = True) -> Iterator[Document]:
    """A page without sidebars. `title` reaches templates that do not escape: a slug or identifier, no more."""
    front = [f"title: {json.dumps(title)}", "hide: [navigation, toc]"]
    if not searched:
        front.append("search: {exclude: true}")
    marker = f'<div data-part="{path}"></div>'
    yield Document(f"{path}/index.md", "\n".join(["---", *front, "---", "", marker, ""]))
    yield Document(f".parts/{path}.html", part)


def _write_vega(path: Path, before: Path) -> None:
    """Write the script, which takes seconds to bundle: the one that lies there already is of the same version."""
    if before.is_file():
        shutil.copyfile(before, path)
    else:
        path.write_text(_vega(), "utf-8", newline="\n")


@functools.cache
def _vega() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", _VEGA_LITE))


def _charts(gathered: Gathered) -> dict[str, dict[str, Any]]:
    rows = gathered.ranked
    if not rows:
        return {}
    charts = {"accuracy": accuracy_chart(rows), "agreement": agreement_chart(rows), "topics": topic_chart(rows)}
    if has_horizon(rows):
        charts["horizon"] = horizon_chart(rows)
    return {name: chart.to_dict() for name, chart in charts.items()}


def _chart(path: str, spec: Mapping[str, Any], drawing: str) -> Iterator[Document]:
    yield Document(f"{path}.json", json.dumps(spec, sort_keys=True, ensure_ascii=False) + "\n")
    yield Document(f"{path}.svg", drawing)
