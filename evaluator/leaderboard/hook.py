"""Sets the generated parts into their pages while MkDocs builds.

A generated page's Markdown holds its title and a marker, `<div data-part="core/home"></div>`; the HTML itself
lies in `board/.parts/`. What a submission says so never passes through Markdown or a template, in which it
could mean something, and a table of hundreds of rows is copied rather than parsed. MkDocs loads this file by
its path, so it needs nothing but the standard library.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_MARKER = re.compile(r'<div data-part="([A-Za-z0-9_][A-Za-z0-9._/-]*)"></div>')


def on_page_content(html: str, *, page: Any, config: Any, files: Any) -> str:
    """Replace each marker by its part; a part that is missing fails the build with its path."""
    parts = Path(config["docs_dir"], "board", ".parts")
    return _MARKER.sub(lambda found: parts.joinpath(f"{found[1]}.html").read_text("utf-8"), html)
