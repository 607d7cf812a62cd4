"""This module writes the generated pages, charts and downloads of all boards. It writes all of them or none.

All boards are indexed first, so that inconsistent records raise an error before a file is written. All files are
written into a new folder, which replaces the old folder at the end. So pages of removed tasks disappear, and a reader
never sees an incomplete board. The same records give the same bytes, because nothing here depends on the time or the
machine.

`documents` says of what files a generated page consists, and `site_pages` makes the HTML pages of them. A marker in a
hand-written page has HTML in a file whose name begins with an underscore. No suite has such a name.

`unit_writer` writes the pages of submissions and tasks.
"""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from importlib.metadata import version
from pathlib import Path
from typing import Final

import vl_convert

from evaluator.files import exchange_folder, write_whole
from evaluator.leaderboard.audits_part import render_audits
from evaluator.leaderboard.board import BoardIndex, SuiteBoard, index_board
from evaluator.leaderboard.chart_groups import VEGA_LITE, ChartGroup, chart_files, draw_groups, draw_judges
from evaluator.leaderboard.chart_style import with_light_colours
from evaluator.leaderboard.compare_page import render_comparison, tasks_json
from evaluator.leaderboard.documents import Document, PageSettings, page, renamed_file, write_document
from evaluator.leaderboard.downloads import standings_csv, standings_json, times_csv, verdict_files_json
from evaluator.leaderboard.environment_part import render_environment
from evaluator.leaderboard.frozen import archive_path, frozen_versions, unpack
from evaluator.leaderboard.judges_page import render_blind_set, render_judges, render_judges_summary
from evaluator.leaderboard.leaderboard_page import (
    UNMEASURED,
    render_all_systems,
    render_leaderboard,
    render_rows,
    render_unavailable,
)
from evaluator.leaderboard.methods_part import methods_json
from evaluator.leaderboard.overview_part import OverviewRow, overview_rows
from evaluator.leaderboard.page_head import all_systems_head, compare_head, suite_card, suite_head
from evaluator.leaderboard.real_answers_part import render_real_answers
from evaluator.leaderboard.rows_file import ROWS_NAME
from evaluator.leaderboard.site_documents import site_documents, suite_documents, with_quote_part
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.leaderboard.site_pages import shell_documents
from evaluator.leaderboard.task_page import render_tasks
from evaluator.leaderboard.unit_writer import UnitWriter
from evaluator.leaderboard.versions_part import has_versions_page, render_versions
from evaluator.progress import NullProgress, Progress
from evaluator.records import Audit, Validation

_NO_SUITE: Final = '<p>No suite has been scored yet. <a href="submit/">Submit your system</a></p>\n'
_NONE: Final[Mapping[str, str]] = {}
_NO_FACTS: Final = SiteFacts()
VEGA: Final = f"vega-{version('vl-convert-python')}.js"
"""The file of Vega, Vega-Lite and Vega-Embed as one script without network access, named by its package's version."""


def write_pages(
    boards: Sequence[SuiteBoard],
    out: Path,
    validation: Validation = UNMEASURED,
    audits: Sequence[Audit] = (),
    unavailable: Mapping[str, str] = _NONE,
    facts: SiteFacts = _NO_FACTS,
    *,
    code: str | None = None,
    workers: Executor | None = None,
    progress: Progress | None = None,
) -> None:
    """Replace the content of the folder `out` by all generated documents of `boards`.

    The home page shows the first board. `unavailable` maps each suite without a board to the reason, which its page
    states. `facts` has the addresses, the commit and the changes. Raise ValueError if a board's records do not belong
    together or if two boards share a name, and OSError if the folder cannot be written. After an error, `out` is
    unchanged. The frozen boards of the folder beside `out` (see `frozen`) are written too.

    `code` is the digest of the programs that make pages. Units of the old folder with the same key are kept. Without
    `code`, all are made. `workers` are processes that make the pages of boards whose results are stored.
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
        _write_vega(fresh / VEGA, out.parent.parent / ".bashboard" / VEGA)
        frozen = frozen_versions(out.parent)
        writer = UnitWriter(out, fresh, facts, code, workers, progress or NullProgress())
        with writer.making([index for index in indexes if index.board.shows_texts], Path(scratch, "boards")):
            for document in _documents(indexes, validation, audits, unavailable, frozen, facts):
                write_document(fresh, document)
            _write_frozen(out.parent, fresh, frozen)
        exchange_folder(fresh, out)


def _write_frozen(site: Path, fresh: Path, frozen: Mapping[str, Sequence[int]]) -> None:
    """Write the documents of all frozen boards. Their charts load today's script."""
    for suite, versions in frozen.items():
        for major in versions:
            for name, data in unpack(archive_path(site, suite, major)):
                path = fresh / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if name == f".parts/{suite}/{major}.html" and fresh.joinpath(suite, "versions").is_dir():
                    link = b'The current version</a>, <a href="../versions/">all versions</a>'
                    data = data.replace(b"The current version</a>", link, 1)
                if name.endswith(".html"):
                    data = re.sub(rb"vega-[\w.]+\.js", VEGA.encode(), data)
                if name.endswith(".svg"):
                    data = with_light_colours(data.decode()).encode()
                path.write_bytes(data)


def _documents(
    indexes: Sequence[BoardIndex],
    validation: Validation,
    audits: Sequence[Audit],
    unavailable: Mapping[str, str],
    frozen: Mapping[str, Sequence[int]],
    facts: SiteFacts,
) -> Iterator[Document]:
    names = [*(index.board.name for index in indexes), *unavailable]
    yield from site_documents(indexes, facts)
    yield from shell_documents(with_card=bool(indexes))
    yield Document(".parts/_environment.html", render_environment(index.board for index in indexes))
    yield Document(".parts/_tasks.html", render_tasks(indexes))
    yield Document(".parts/_blind_set.html", render_blind_set(validation))
    yield Document(".parts/_real_answers.html", render_real_answers(validation))
    yield Document(".parts/_judges.html", render_judges(validation))
    yield from _judges_summary(validation)
    yield Document(".parts/_audits.html", render_audits(audits))
    if not indexes:
        yield Document(".parts/_home.html", _NO_SUITE)
    overview = overview_rows(indexes)
    for position, index in enumerate(indexes):
        groups, earlier = draw_groups(index.ranked), frozen.get(index.board.name, ())
        for name, text in (file for group in groups for file in chart_files(group)):
            yield Document(f"{index.board.name}/charts/{name}", text)
        if position == 0:
            part = render_leaderboard(index, groups, "", names, VEGA, earlier, validation=validation, overview=overview)
            yield Document(".parts/_home.html", with_quote_part(index, part, facts, earlier, ""))
        yield from _suite(index, groups, names, earlier, validation, overview, facts)
    for name, reason in unavailable.items():
        yield from page(name, PageSettings(name), render_unavailable(name, reason, "../../", names))


def _judges_summary(validation: Validation) -> Iterator[Document]:
    group = draw_judges(validation)
    for name, text in chart_files(group) if group else ():
        yield Document(name, text)
    yield Document(".parts/_judges_summary.html", render_judges_summary(validation, group, VEGA))


def _suite(
    index: BoardIndex,
    groups: Sequence[ChartGroup],
    names: Sequence[str],
    earlier: Sequence[int],
    validation: Validation,
    overview: Sequence[OverviewRow],
    facts: SiteFacts,
) -> Iterator[Document]:
    board, settings = index.board, suite_head(index)
    part = render_leaderboard(index, groups, "../../", names, VEGA, earlier, validation=validation, overview=overview)
    if board.name == names[0]:  # the home page shows it, so its own page leads there: a second copy would be as large
        settings = settings._replace(redirect="../../")
    yield from page(board.name, settings, with_quote_part(index, part, facts, earlier, "../../"))
    yield from suite_documents(index, facts)
    if has_versions_page(board, facts, earlier):
        description = f"All versions of the suite {board.name}."
        settings = PageSettings(f"Versions of {board.name}", description, card=suite_card(board))
        yield from page(f"{board.name}/versions", settings, render_versions(board, facts, earlier))
    if index.ranked:
        yield from page(f"{board.name}/all", all_systems_head(board), render_all_systems(index))
        yield Document(f"{board.name}/{ROWS_NAME}", render_rows(index))
    yield Document(f"{board.name}/standings.csv", standings_csv(board.standings))
    yield Document(f"{board.name}/standings.json", standings_json(board.standings))
    if methods := methods_json(board):
        yield Document(f"{board.name}/methods.json", methods)
    if not board.shows_texts:  # tasks, commands and reasons quote texts that we may not publish: numbers only
        return
    comparison = render_comparison(index, "../../../assets/compare.js")
    yield from page(f"{board.name}/compare", compare_head(board), comparison)
    yield Document(f"{board.name}/tasks.json", tasks_json(board))
    yield Document(f"{board.name}/times.csv", times_csv(board))
    yield Document(f"{board.name}/verdicts.json", verdict_files_json(board.standings))
    yield renamed_file(f"{board.name}/results.jsonl", "verdicts.json")


def _write_vega(path: Path, kept: Path) -> None:
    """Write the script of Vega, which draws charts in the browser.

    It takes seconds to make, so the file `kept` has it from build to build. Its name has the version of the package.
    """
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, _vega().encode())
    shutil.copyfile(kept, path)


@functools.cache
def _vega() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))
