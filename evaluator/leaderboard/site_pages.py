"""This module makes the HTML pages of boards, which are too many for MkDocs.

MkDocs takes 30 ms for a page. So it builds the hand-written pages and a few *shells*: pages without content, one for
each depth of folders below `board/`. A page of a board is the shell of its depth with the page's own title,
description, head and content. So it has the same theme, navigation and policies as every other page.

The search index and the sitemap of MkDocs get the pages of boards as well.
"""

from __future__ import annotations

import functools
import gzip
import html
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.leaderboard.documents import PARTS, Document, PageSettings, read_settings

DEEPEST: Final = 4
"""The most folders below `board/` that a page has: that of a task in a frozen board, `core/2/tasks/files-001`."""

_SHELL: Final = "_shell"
_TITLE: Final = "bashboard-shell-title"
_DESCRIPTION: Final = "bashboard-shell-description"
_CARD: Final = "bashboard-shell-card"
_CONTENT: Final = '<h1 class="bashboard-shell-content"></h1>'
"""The place of the content. It is a heading, because the theme adds one to a page without."""
_HEAD_END: Final = "</head>"
_INDENTS: Final = re.compile(r"\n\s+")
"""The indentation and the blank lines of the theme's pages: a quarter of a shell, in every page of a board."""
_OPEN: Final = "<!-- content -->"
_CLOSE: Final = "<!-- end of content -->"


class SearchEntry(NamedTuple):
    """An entry of the search index. `location` is a page relative to the site's root. The others are plain texts."""

    location: str
    title: str
    text: str


HAND_WRITTEN: Final = (
    SearchEntry("", "Leaderboard", "Natural-language-to-Bash systems, ranked by execution accuracy."),
    SearchEntry("tasks/", "Tasks", "All tasks of all suites, with their instructions and the systems that solve them."),
)
"""The entries of hand-written pages with generated parts. MkDocs leaves these pages out of its index."""


def shell_documents(*, with_card: bool = True) -> Iterator[Document]:
    """Yield the Markdown of the shells, which MkDocs builds with all other pages.

    If `with_card` is false, no page has a card.
    """
    for depth in range(1, DEEPEST + 1):
        front = (
            f"title: {_TITLE}",
            f"description: {_DESCRIPTION}",
            *([f"card: {_CARD}"] if with_card else []),
            "hide: [navigation, toc]",
            "search: {exclude: true}",
        )
        yield Document(f"{_shell_path(depth)}/index.md", "\n".join(["---", *front, "---", "", _CONTENT, ""]))


def _shell_path(depth: int) -> str:
    return "/".join([_SHELL, *("page" for _ in range(depth - 1))])


@dataclass(frozen=True)
class Shells:
    """The shells in a site that MkDocs built to the folder `site`. `card` is the card of pages without their own."""

    site: Path
    card: str = ""

    @cached_property
    def _shells(self) -> dict[int, tuple[str, ...]]:
        """Return the texts of each shell between the places where a page has its own text, by depth."""
        found = {}
        for depth in range(1, DEEPEST + 1):
            path = f"board/{_shell_path(depth)}/"
            text = (self.site / path / "index.html").read_text("utf-8")
            if text.count(_CONTENT) != 1 or text.count(_HEAD_END) != 1 or _TITLE not in text:
                raise InfraError(f"the theme's page has another form than expected: {self.site / path / 'index.html'}")
            marks = f"({'|'.join(map(re.escape, (_TITLE, _DESCRIPTION, _CARD, _HEAD_END, _CONTENT, path)))})"
            found[depth] = tuple(re.split(marks, _INDENTS.sub("\n", text)))
        return found

    def page(self, path: str, settings: PageSettings, content: str) -> str:
        """Return the HTML of the page at `board/<path>/`. `content` is HTML, and so is `settings.head`."""
        depth = path.count("/") + 1
        texts = {
            _TITLE: html.escape(settings.title),
            _DESCRIPTION: html.escape(settings.description or _default_description(settings)),
            _CARD: html.escape(settings.card or self.card),
            _HEAD_END: settings.head + _HEAD_END,
            _CONTENT: f"{_OPEN}{content}{_CLOSE}",
            f"board/{_shell_path(depth)}/": f"board/{path}/",
        }
        return "".join(texts.get(piece, piece) for piece in self._shells[depth])


def _default_description(settings: PageSettings) -> str:
    return " ".join((settings.snippet or settings.title).split())[:300]


def redirect_page(settings: PageSettings) -> tuple[PageSettings, str]:
    """Return the settings and the content of a page that leads to another address at once, with the reader's view."""
    address = html.escape(settings.redirect)
    script = f"<script>location.replace({json.dumps(settings.redirect)} + location.search + location.hash)</script>"
    head = f'{script}<meta http-equiv="refresh" content="0; url={address}"><meta name="robots" content="noindex">'
    content = (
        f'<h1>{html.escape(settings.title)}</h1>\n<p>This board is on <a href="{address}">the home page</a>.</p>\n'
    )
    return settings._replace(head=settings.head + head, snippet=None), content


_CHUNK: Final = 500
"""Number of files that a process writes at a time."""


def write_site_pages(board: Path, site: Path, workers: Executor | None = None) -> None:
    """Add all pages and downloads of boards to a site that MkDocs built.

    `board` is the folder that `write_pages` wrote. If there are many files, `workers` write them.
    """
    facts = json.loads((board / PARTS / "_site.json").read_text("utf-8"))
    shells, entries, places = Shells(site, facts["card"]), [*HAND_WRITTEN], []
    paths = (path for path in sorted(board.rglob("*")) if path.is_file())
    names = [
        name
        for name in (path.relative_to(board) for path in paths)
        if not any(part.startswith((".", _SHELL)) for part in name.parts)
    ]
    chunks = [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]
    write = functools.partial(_write_files, board, shells)
    for written in workers.map(write, chunks) if workers is not None and len(chunks) > 2 else map(write, chunks):
        for path, settings in written:
            if not settings.redirect:
                places.append(f"board/{path}/")
            if settings.snippet is not None:
                entries.append(SearchEntry(f"board/{path}/", settings.search_title or settings.title, settings.snippet))
    _remove_shells(site)
    append_search_entries(site / "search" / "search_index.json", entries)
    append_to_sitemap(site / "sitemap.xml", places)


def _write_files(board: Path, shells: Shells, names: Iterable[Path]) -> list[tuple[str, PageSettings]]:
    """Write files of boards to the site. Return the path and the settings of each page among them."""
    written = []
    for name in names:
        target = shells.site / "board" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.name != "index.md":
            shutil.copyfile(board / name, target)  # a link would let a reader of the site change the board's file
            continue
        path = name.parent.as_posix()
        settings = read_settings((board / name).read_text("utf-8"))
        content = (board / PARTS / f"{path}.html").read_text("utf-8")
        if settings.redirect:
            settings, content = redirect_page(settings)
        target.with_name("index.html").write_text(shells.page(path, settings, content), "utf-8", newline="\n")
        written.append((path, settings))
    return written


def _remove_shells(site: Path) -> None:
    for depth in range(DEEPEST, 0, -1):
        folder = site / "board" / _shell_path(depth)
        (folder / "index.html").unlink()
        folder.rmdir()


def append_search_entries(index: Path, entries: Iterable[SearchEntry]) -> None:
    """Add entries to MkDocs' search index. The theme shows their texts as HTML, so all are escaped."""
    value: dict[str, Any] = json.loads(index.read_text("utf-8"))
    value["docs"] += [
        {
            "location": entry.location,
            "title": html.escape(entry.title, quote=False),
            "text": html.escape(entry.text, quote=False),
        }
        for entry in entries
    ]
    index.write_bytes(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def append_to_sitemap(sitemap: Path, places: Iterable[str]) -> None:
    """Add pages to MkDocs' sitemap, and remove the shells and all dates, which are those of the build.

    Without the site's address, MkDocs writes no sitemap.
    """
    if not sitemap.is_file():
        return
    text = sitemap.read_text("utf-8")
    known = [address for address in re.findall(r"<loc>([^<]*)</loc>", text) if f"/board/{_SHELL}/" not in address]
    root = min(known, key=len, default="")  # the address of the home page
    new = (root + html.escape(place) for place in places) if root else ()
    rows = "".join(f"  <url><loc>{address}</loc></url>\n" for address in (*known, *new))
    data = f"{text.partition('<url>')[0].rstrip()}\n{rows}</urlset>\n".encode()
    sitemap.write_bytes(data)
    sitemap.with_name("sitemap.xml.gz").write_bytes(gzip.compress(data, mtime=0))
