"""Freeze the pages of a suite's board, so that a major version stays at its address after the next one began.

For example, the pages of core 2 stay at `board/core/2/`. A frozen board is one archive,
`site/frozen/<suite>-<major>.tar.xz`. It has the documents that the builder wrote for the version: pages, charts and
downloads, with the links changed to the new addresses. Each build of the site unpacks the archives.
"""

from __future__ import annotations

import io
import posixpath
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from evaluator.errors import FormatError, Problem

MAX_BYTES: Final = 400 << 20
"""The most bytes of all documents of an archive."""

_NAME: Final = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)-([0-9]+)\.tar\.xz")
_MEMBER: Final = re.compile(r"(\.parts/)?[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_ADDRESS: Final = re.compile(r'\b(href|src|data-chart|data-rows|data-script)="([^"]*)"')
_PARTS: Final = ".parts/"
_CURRENT: Final = re.compile(r"^(snippet|search_title|redirect|card): .*\n", re.MULTILINE)
"""The settings of a page that a frozen page does not have.

The search leaves it out, it is no copy of the home page, and it has the card of the suite of today.
"""
_VERSIONS: Final = "versions"
_CHOICE: Final = '<nav class="versions"'


def archive_path(site: Path, suite: str, major: int) -> Path:
    """Return the path of a frozen board's archive in the folder `site`."""
    return site / "frozen" / f"{suite}-{major}.tar.xz"


def frozen_versions(site: Path) -> dict[str, list[int]]:
    """Return the major versions of each suite that have a frozen board, the latest first."""
    versions: dict[str, list[int]] = {}
    for path in site.glob("frozen/*.tar.xz"):
        if match := _NAME.fullmatch(path.name):
            versions.setdefault(match[1], []).append(int(match[2]))
    return {suite: sorted(found, reverse=True) for suite, found in sorted(versions.items())}


def freeze_documents(board: Path, suite: str, major: int, version: str) -> dict[str, bytes]:
    """Return the documents of a suite's board at their frozen paths, which are relative to the folder of boards.

    `board` is the folder of all boards, as the builder wrote it. Each page says that it is frozen. The choice of a
    version and the list of versions stay with the current board.
    """
    documents: dict[str, bytes] = {}
    versions = {f"{suite}/{_VERSIONS}/index.md", f"{_PARTS}{suite}/{_VERSIONS}.html"}
    for path in sorted((*board.glob(f"{suite}/**/*"), *board.glob(f".parts/{suite}.html"))):
        if path.is_file() and path.relative_to(board).as_posix() not in versions:
            documents |= _moved(path.relative_to(board).as_posix(), path.read_bytes(), suite, major, version)
    for path in sorted(board.glob(f".parts/{suite}/**/*.html")):
        if path.relative_to(board).as_posix() not in versions:
            documents |= _moved(path.relative_to(board).as_posix(), path.read_bytes(), suite, major, version)
    return documents


def pack(documents: Mapping[str, bytes]) -> bytes:
    """Return documents as an archive. Equal documents give equal bytes."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for name in sorted(documents):
            member = tarfile.TarInfo(name)
            member.size = len(documents[name])
            archive.addfile(member, io.BytesIO(documents[name]))
    return target.getvalue()


def unpack(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the paths and contents of an archive's documents.

    Raises FormatError for an archive that is too large, or has a member that is no file with a plain path.
    """
    try:
        with tarfile.open(path, mode="r:xz") as archive:
            left = MAX_BYTES
            for member in archive:
                left -= member.size
                stream = archive.extractfile(member) if member.isreg() and _MEMBER.fullmatch(member.name) else None
                if stream is None or left < 0:
                    raise FormatError([Problem(path, 0, f"{member.name!r}: expected a file with a plain path")])
                yield member.name, stream.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise FormatError([Problem(path, 0, f"expected an archive of `bashboard suite freeze`: {error}")]) from error


def _moved(name: str, data: bytes, suite: str, major: int, version: str) -> dict[str, bytes]:
    """Return a document with its frozen path. The links of a page lead to the same places as before."""
    frozen = f"{suite}/{major}"
    if name.startswith(_PARTS):
        page = name.removeprefix(_PARTS).removesuffix(".html")
        new = frozen + page.removeprefix(suite)
        text = _with_moved_links(_without_choice(data.decode()), page, new, suite, frozen)
        home = posixpath.relpath(f"board/{suite}", f"board/{new}")
        banner = f'<p class="note frozen">{suite} {version}, frozen. <a href="{home}/">The current version</a></p>\n'
        return {f"{_PARTS}{new}.html": (banner + text).encode()}
    new = frozen + name.removeprefix(suite)
    if name.endswith("/index.md"):
        text = data.decode().replace(f'data-part="{suite}', f'data-part="{frozen}')
        text = _CURRENT.sub("", text)
        if "search: {exclude: true}" not in text:
            text = text.replace("---\n", "---\nsearch: {exclude: true}\n", 1)
        data = text.encode()
    return {new: data}


def _without_choice(text: str) -> str:
    """Return the HTML of a page without the choice of a version."""
    before, choice, after = text.partition(_CHOICE)
    return before + after.partition("</nav>\n")[2] if choice else text


def _with_moved_links(text: str, page: str, new: str, suite: str, frozen: str) -> str:
    """Return the HTML of a page at `board/<new>/` with the links that it had at `board/<page>/`.

    A link to a page or a file of the suite leads to its frozen address.
    """

    def new_address(match: re.Match[str]) -> str:
        address = urlsplit(match[2])
        if address.scheme or address.netloc or not address.path or address.path.startswith("/"):
            return match[0]
        target = posixpath.normpath(posixpath.join(f"board/{page}", address.path))
        if target == f"board/{suite}" or target.startswith(f"board/{suite}/"):
            target = f"board/{frozen}{target.removeprefix(f'board/{suite}')}"
        slash = "/" if address.path.endswith("/") or address.path in (".", "..") else ""
        relative = posixpath.relpath(target, f"board/{new}") + slash
        return f'{match[1]}="{urlunsplit(("", "", relative, address.query, address.fragment))}"'

    return _ADDRESS.sub(new_address, text)
