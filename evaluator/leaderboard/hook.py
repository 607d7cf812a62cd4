"""This MkDocs hook inserts generated HTML into the pages.

A generated page's Markdown holds a title and a marker, `<div data-part="core/home"></div>`. The HTML for this marker is
a file in `board/.parts/`. MkDocs does not parse this HTML, so neither Markdown nor a template of the theme can
interpret a submission's text. MkDocs loads the hook by its path, so the hook imports only the standard library.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_MARKER = re.compile(r'<div data-part="([A-Za-z0-9_][A-Za-z0-9._/-]*)"></div>')


def on_page_content(html: str, *, page: Any, config: Any, files: Any) -> str:
    """Replace each marker `<div data-part=…>` in a page by the HTML file that it names.

    Raise an error with the path if the file is missing.
    """
    parts = Path(config["docs_dir"], "board", ".parts")
    return _MARKER.sub(lambda marker: parts.joinpath(f"{marker[1]}.html").read_text("utf-8"), html)
