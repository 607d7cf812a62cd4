"""This MkDocs hook inserts generated HTML into the pages, and the facts of the build into the theme.

A generated page's Markdown holds a title and a marker, `<div data-part="core/home"></div>`. The HTML for this marker is
a file in `board/.parts/`. MkDocs does not parse this HTML, so neither Markdown nor a template of the theme can
interpret a submission's text. MkDocs loads the hook by its path, so the hook imports only the standard library.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_MARKER = re.compile(r'<div data-part="([A-Za-z0-9_][A-Za-z0-9._/-]*)"></div>')

_SHORT = 300


def on_config(config: Any) -> None:
    """Give the theme's templates the facts of the build, as `config.extra.build`.

    The address of the repository is one of these facts. `repo_url` of mkdocs.yml only states it for builds outside of
    a workflow.
    """
    path = _parts(config) / "_site.json"
    facts = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    config["extra"]["build"] = facts
    config["repo_url"] = facts.get("source") or None
    config["edit_uri"] = None


def on_page_content(html: str, *, page: Any, config: Any, files: Any) -> str:
    """Replace each marker `<div data-part=…>` in a page by the HTML file that it names.

    Raise an error with the path if the file is missing.
    """
    parts = _parts(config)
    return _MARKER.sub(lambda marker: parts.joinpath(f"{marker[1]}.html").read_text("utf-8"), html)


def on_post_build(*, config: Any) -> None:
    """Shorten the entries of the search for the reference of commands, and add the sitemap's address to robots.txt."""
    site = Path(config["site_dir"])
    index, robots = site / "search" / "search_index.json", site / "robots.txt"
    if index.is_file():
        content = json.loads(index.read_text("utf-8"))
        content["docs"] = [_short(entry) for entry in content["docs"]]
        index.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
    if config["site_url"] and robots.is_file():
        text = robots.read_text("utf-8").rstrip("\n")
        robots.write_text(f"{text}\n\nSitemap: {config['site_url']}sitemap.xml\n", "utf-8")


def _short(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of the reference of commands with the beginning of its text. Every page loads the index."""
    if not entry["location"].startswith("cli/"):
        return entry
    text = re.sub(r"<[^<>]*+>", "", entry["text"])
    return {**entry, "text": text if len(text) <= _SHORT else text[:_SHORT].rsplit(maxsplit=1)[0]}


def _parts(config: Any) -> Path:
    return Path(config["docs_dir"], "board", ".parts")
