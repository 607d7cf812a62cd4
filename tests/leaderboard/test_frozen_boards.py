"""Tests of frozen boards: the pages of an earlier major version stay, and all their links lead to a place."""

from __future__ import annotations

import gzip
import io
import json
import posixpath
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evaluator.errors import FormatError, MissingError, UsageError
from evaluator.leaderboard.documents import PageSettings, read_settings
from evaluator.leaderboard.frozen import archive_path, freeze_documents, frozen_versions, pack, unpack
from evaluator.leaderboard.write import write_pages
from evaluator.pipeline.maintenance.freeze import freeze_board
from evaluator.pipeline.project import Project
from evaluator.testing.boards import drawn_board

BOARD = drawn_board(3, 8, candidates=2, seed=7)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `site` with the pages of a board."""
    site = tmp_path_factory.mktemp("frozen") / "site"
    write_pages([BOARD], site / "board")
    return site


def broken_links(documents: Mapping[str, bytes]) -> list[str]:
    """Return the relative links of frozen pages that lead to no frozen document, and to nothing outside of them."""
    pages = "scoring|judges|submit|tasks|data|changes"
    outside = re.compile(rf"board(/[a-z0-9-]+)?(/vega-[\w.]+\.js)?|assets/.*|({pages})|\.")
    found = []
    for name in (name for name in documents if name.startswith(".parts/")):
        page = "board/" + name.removeprefix(".parts/").removesuffix(".html")
        for address in re.findall(rb'(?:href|src|data-chart|data-rows|data-script)="([^"]*)"', documents[name]):
            path = urlsplit(address.decode()).path
            if not path or path.startswith("/") or urlsplit(address.decode()).scheme:
                continue
            target = posixpath.normpath(posixpath.join(page, path))
            own = target.removeprefix("board/")
            if own in documents or f"{own}/index.md" in documents or outside.fullmatch(target):
                continue
            found.append(f"{page}: {address.decode()}")
    return found


def test_a_frozen_board_has_all_pages_at_its_address(site: Path) -> None:
    board = BOARD
    documents = freeze_documents(site / "board", board.name, 2, "2.1.0")
    paths = [path for path in site.glob(f"board/{board.name}/**/*") if path.is_file()]
    before = {path.relative_to(site / "board").as_posix() for path in paths}
    before -= {f"{board.name}/versions/index.md"}
    assert {f"{board.name}/2{name.removeprefix(board.name)}" for name in before} <= set(documents)
    assert broken_links(documents) == []
    page = documents[f".parts/{board.name}/2.html"].decode()
    assert f"{board.name} 2.1.0, frozen" in page
    assert b"search: {exclude: true}" in documents[f"{board.name}/2/index.md"]
    assert f'data-part="{board.name}/2"'.encode() in documents[f"{board.name}/2/index.md"]
    settings = read_settings(documents[f"{board.name}/2/index.md"].decode())
    assert settings == PageSettings(settings.title, settings.description)  # no card, entry or redirect


def test_the_archive_is_reproducible_and_complete(site: Path, tmp_path: Path) -> None:
    documents = freeze_documents(site / "board", BOARD.name, 2, "2.1.0")
    data = pack(documents)
    assert data == pack(dict(reversed(documents.items())))
    (tmp_path / "archive").write_bytes(data)
    assert dict(unpack(tmp_path / "archive")) == documents


def test_each_build_writes_the_frozen_board_and_links_to_it(tmp_path: Path, site: Path) -> None:
    """The frozen board stands beside the current one, and the current one names it."""
    board = BOARD
    path = archive_path(tmp_path / "site", board.name, 2)
    path.parent.mkdir(parents=True)
    documents = freeze_documents(site / "board", board.name, 2, "2.1.0")
    themed = {name: data.replace(b"#1b232b", b"var(--board-ink)") for name, data in documents.items()}
    path.write_bytes(pack(themed))
    write_pages([board], tmp_path / "site" / "board")
    assert frozen_versions(tmp_path / "site") == {board.name: [2]}
    assert (tmp_path / "site" / "board" / board.name / "2" / "index.md").is_file()
    page = (tmp_path / "site" / "board" / ".parts" / f"{board.name}.html").read_text()
    assert f'board/{board.name}/2/">{board.name} 2</a>' in page
    drawings = list((tmp_path / "site" / "board" / board.name / "2" / "charts").glob("*.svg"))
    assert drawings
    assert [path.name for path in drawings if "var(--" in path.read_text()] == []


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", "core/2/..", ".hidden"])
def test_an_archive_with_another_path_is_refused(tmp_path: Path, name: str) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    (tmp_path / "archive").write_bytes(target.getvalue())
    with pytest.raises(FormatError, match="expected a file with a plain path"):
        list(unpack(tmp_path / "archive"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_an_archive_with_something_else_than_files_is_refused(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("core/2/index.md")
    member.type, member.linkname = kind, "/etc/passwd"
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz") as archive:
        archive.addfile(member)
    (tmp_path / "archive").write_bytes(target.getvalue())
    with pytest.raises(FormatError, match="expected a file with a plain path"):
        list(unpack(tmp_path / "archive"))


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"no archive")
    with pytest.raises(FormatError, match="expected an archive of `bashboard suite freeze`"):
        list(unpack(tmp_path / "archive"))


def test_a_frozen_board_is_not_replaced_by_accident(tmp_path: Path, site: Path) -> None:
    project, name = Project(tmp_path), BOARD.name
    with pytest.raises(MissingError, match="build the board first"):
        freeze_board(project, name)
    path, version = freeze_board(project, name, site / "board")
    assert (path, version) == (archive_path(tmp_path / "site", name, int(version[0])), version)
    with pytest.raises(UsageError, match="a frozen board stays as it is"):
        freeze_board(project, name, site / "board")
    assert freeze_board(project, name, site / "board", replace=True) == (path, version)


def test_a_frozen_board_is_whole(tmp_path: Path, site: Path) -> None:
    """Its links lead to a place, and its standings count the verdicts that it holds."""
    path, version = freeze_board(Project(tmp_path), BOARD.name, site / "board")
    documents, name = dict(unpack(path)), f"{BOARD.name}/{version.partition('.')[0]}"
    assert broken_links(documents) == []
    files = json.loads(documents[f"{name}/verdicts.json"])["files"]
    lines = [line for own in files for line in gzip.decompress(documents[f"{name}/{own['file']}"]).splitlines()]
    first = [result for line in lines if (result := json.loads(line))["rank"] == 1]
    rows = json.loads(documents[f"{name}/standings.json"])
    assert len(rows) == len(BOARD.standings)
    for row in rows:
        own = [result["finding"]["outcome"] for result in first if result["submission"] == row["submission"]]
        assert (own.count("pass"), len(own)) == (row["passed"], row["asked"])
