"""Take README's picture of the board in a real browser, and mark it with a digest of its contents.

Two browsers never draw the same bytes, so the picture is not compared. It contains the digest of the standings and of
the style that it shows, and a test compares this digest with the present board.
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from evaluator.leaderboard.build import site_server

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "site" / "assets" / "board.png"
STYLE = ROOT / "site" / "assets" / "board.css"
KEYWORD = b"depicts"
FIRST_CHUNK = 33  # a PNG begins with its signature and one header chunk: 8 + 25 bytes
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


def depicted(standings: list[dict[str, Any]]) -> str:
    """Return the digest of a picture's contents: the rows of `bashboard standings --json`, and the style."""
    rows = json.dumps(standings, sort_keys=True).encode()
    return hashlib.sha256(rows + STYLE.read_bytes()).hexdigest()


def mark(picture: bytes, text: str) -> bytes:
    """Return the PNG with a text chunk after its header."""
    body = b"tEXt" + KEYWORD + b"\0" + text.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return picture[:FIRST_CHUNK] + chunk + picture[FIRST_CHUNK:]


def marked(picture: bytes) -> str:
    """Return the text that `mark` added, or an empty text."""
    start = picture.find(b"tEXt" + KEYWORD + b"\0")
    if start < 0:
        return ""
    (length,) = struct.unpack(">I", picture[start - 4 : start])
    return picture[start + 4 : start + 4 + length].partition(b"\0")[2].decode()


def take(site: Path) -> bytes:
    """Return a screenshot of the top of the leaderboard."""
    from playwright.sync_api import sync_playwright

    with site_server(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 780}, color_scheme="light")
        page.goto(address, wait_until="networkidle")
        picture = page.screenshot()
        browser.close()
    return picture


def main() -> None:
    """Take the picture of build/site and write it to PICTURE."""
    command = [sys.executable, "-m", "evaluator.cli", "standings", "--json"]
    standings = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    PICTURE.write_bytes(mark(take(ROOT / "build" / "site"), depicted(json.loads(standings))))


if __name__ == "__main__":
    main()
