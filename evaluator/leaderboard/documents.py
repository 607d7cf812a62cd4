"""Generated documents: the files that a build writes below `board/`, before pages become HTML.

A page consists of two documents. `<path>/index.md` has its settings as front matter, and `.parts/<path>.html` has its
content. `site_pages` makes the HTML page of both. Other documents are downloads, which the site has as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PARTS: Final = ".parts"
"""The folder with the contents of pages."""

_SETTING: Final = re.compile(r"^([a-z_]+): (.*)$", re.MULTILINE)


class Document(NamedTuple):
    """The content of a generated file. The path of the file is relative to the output folder."""

    path: str
    text: str | bytes


class PageSettings(NamedTuple):
    """The settings of a page for the browser's tab, other sites and the search.

    `title`, `description`, `search_title` and `snippet` are plain texts. `card` is the path of the page's card below
    the site's root, or empty. `head` is HTML for the head of the page. `snippet` is the text that the search finds
    beside `search_title`, or None if the search leaves the page out. Without `search_title`, the title is found.
    `redirect` is the address to which the page leads at once, or empty.
    """

    title: str
    description: str = ""
    card: str = ""
    head: str = ""
    search_title: str = ""
    snippet: str | None = None
    redirect: str = ""


def page(path: str, settings: PageSettings, part: str) -> Iterator[Document]:
    """Yield the two documents of a page. `part` is the HTML of its content."""
    values = {name: value for name, value in settings._asdict().items() if value}
    front = [f"{name}: {json.dumps(value)}" for name, value in values.items()]
    marker = f'<div data-part="{path}"></div>'
    yield Document(f"{path}/index.md", "\n".join(["---", *front, "---", "", marker, ""]))
    yield Document(f"{PARTS}/{path}.html", part)


def read_settings(text: str) -> PageSettings:
    """Return the settings in the front matter of a page. Unknown settings, such as those of frozen pages, are left out.

    Raise ValueError if there is no title.
    """
    front = text.split("---\n")[1] if text.startswith("---\n") else ""
    values = {name: value for name, value in _SETTING.findall(front) if name in PageSettings._fields}
    if "title" not in values:
        raise ValueError("a page without a title")
    return PageSettings(**{name: json.loads(value) for name, value in values.items()})


def renamed_file(path: str, new: str) -> Document:
    """Return the document that stays at an old address and names the new one, relative to its folder."""
    return Document(path, json.dumps({"moved_to": new}) + "\n")


def write_document(folder: Path, document: Document) -> str:
    """Write a document below a folder, and return its path."""
    path = folder / document.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document.text if isinstance(document.text, bytes) else document.text.encode())
    return document.path
