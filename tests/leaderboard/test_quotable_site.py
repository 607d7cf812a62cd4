"""What other sites and people take from the board: titles, descriptions, cards, badges, feeds, citations, search."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import struct
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from evaluator.leaderboard.badge import badge_json, badge_svg
from evaluator.leaderboard.board import BoardIndex, index_board
from evaluator.leaderboard.build import build_site
from evaluator.leaderboard.changes_part import change_line, newest_changes, pages_of, render_changes, render_feed
from evaluator.leaderboard.frozen import archive_path, freeze_documents, pack
from evaluator.leaderboard.page_head import submission_head, suite_head, task_head
from evaluator.leaderboard.png_image import read_rgba, write_indexed
from evaluator.leaderboard.quote_part import bibtex, render_badge
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.leaderboard.social_card import CardText, draw_card, submission_card_text, suite_card_text
from evaluator.leaderboard.versions_part import suite_versions
from evaluator.leaderboard.write import write_pages
from evaluator.records import BoardChange, BoardChangeKind, RowScore
from evaluator.testing.boards import drawn_board
from tests.doubles.hostile_boards import hostile_board
from tests.leaderboard.test_board_site import Elements
from tests.leaderboard.test_board_site import pages_of as html_pages

ROOT = Path(__file__).parents[2]
ADDRESS = "https://board.example/site/"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EVIL = '<script>alert(1)</script>]]>&\u202e\x1b"\ufffe'
ATOM = "{http://www.w3.org/2005/Atom}"

pytestmark = pytest.mark.slow  # they build a site


def change(kind: BoardChangeKind, days: int = 0, **fields: Any) -> BoardChange:
    values = {"suite": "core", "commit": f"{days:040x}", "time": NOW - timedelta(days=days), "kind": kind}
    return BoardChange.model_validate({**values, **fields})


CHANGES = (
    change(BoardChangeKind.ADDED, 1, submission="attack-00", system=EVIL, after=RowScore(passed=3, asked=4)),
    change(
        BoardChangeKind.MOVED,
        2,
        submission="attack-01",
        system="B",
        before=RowScore(passed=1, asked=4),
        after=RowScore(passed=2, asked=4),
    ),
    change(BoardChangeKind.RESCORED, 3, rows=2, versions=(("consensus 1", EVIL),)),
    change(BoardChangeKind.REMOVED, 4, submission="gone", system="Gone", before=RowScore(passed=1, asked=4)),
    change(BoardChangeKind.VERSION, 200, versions=(("", "1.0.0"),)),
)
FACTS = SiteFacts(ADDRESS, "https://git.example/a/b", "2e91402" + "0" * 33, NOW, changes=CHANGES)


@pytest.fixture(scope="module")
def index() -> BoardIndex:
    return index_board(drawn_board(6, 12, candidates=2, seed=7))


@pytest.fixture(scope="module")
def hostile() -> BoardIndex:
    return index_board(hostile_board())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a hostile board and a frozen board, built with an address, a repository, a commit and changes."""
    project = tmp_path_factory.mktemp("quotable")
    shutil.copyfile(ROOT / "mkdocs.yml", project / "mkdocs.yml")
    shutil.copytree(ROOT / "site", project / "site", ignore=shutil.ignore_patterns("board", ".board-*", "frozen"))
    (project / "evaluator").symlink_to(ROOT / "evaluator")
    frozen = archive_path(project / "site", "core", 2)
    frozen.parent.mkdir()
    write_pages([drawn_board(3, 8, seed=7)], project / "earlier")
    frozen.write_bytes(pack(freeze_documents(project / "earlier", "core", 2, "2.1.0")))
    write_pages([hostile_board()], project / "site" / "board", facts=FACTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BASHBOARD_SITE_URL", ADDRESS)
        return build_site(project)


def xml(text: str) -> ET.Element:
    return ET.fromstring(text.encode())  # noqa: S314 - our own text


def metas(page: Elements) -> dict[str, str]:
    return {
        values.get("property") or values.get("name", ""): values.get("content", "")
        for tag, values in page.elements
        if tag == "meta"
    }


# -- heads of pages


def test_a_submission_is_titled_by_its_name_and_described_by_its_score(index: BoardIndex) -> None:
    row = index.ranked[0]
    head = submission_head(index, row)
    assert head.title == row.system
    pattern = rf"\d+\.\d % \(\d+\.\d–\d+\.\d\), rank 1(–\d)? of {len(index.ranked)}\. .*"
    assert re.fullmatch(pattern, head.description)
    assert head.card == f"board/{index.board.name}/submissions/{row.submission}/card.png"


def test_a_task_is_titled_by_its_instruction_and_a_suite_by_its_version(index: BoardIndex) -> None:
    board = index.board
    assert task_head(board, board.tasks[0]).title == board.tasks[0].nl
    assert suite_head(index).title == f"{board.name} {board.manifest.version}"
    long = board.tasks[0].model_copy(update={"nl": "many words " * 100})
    assert len(task_head(board, long).title) <= 110


def test_every_page_has_a_title_and_a_description_and_says_what_a_link_shows(site: Path) -> None:
    seen = set()
    for path, page in html_pages(site).items():
        found = metas(page)
        if path == "404.html" or path.startswith("board/core/2/"):
            continue
        place = path.removesuffix("index.html")
        assert {"og:title", "og:description", "og:url", "og:image", "twitter:card"} <= set(found), path
        assert found["og:url"] == f"{ADDRESS}{place}"
        assert found["og:description"] == found["description"]
        assert site.joinpath(found["og:image"].removeprefix(ADDRESS)).is_file(), path
        assert ("link", f"{ADDRESS}{place}") in [(tag, values.get("href")) for tag, values in page.elements]
        seen.add(found["description"])
    assert len(seen) > 20


def test_hostile_names_are_text_in_every_head(site: Path, hostile: BoardIndex) -> None:
    for row in hostile.board.standings:
        text = site.joinpath("board/core/submissions", row.submission, "index.html").read_text("utf-8")
        head = text[: text.index("</head>")]
        tags = {tag for tag, _ in Elements(head).elements}
        assert tags <= {"html", "head", "meta", "link", "title", "script", "style"}, row.submission
        assert head.count("<script") == 2, row.submission
        title = re.search(r"<title>(.*)</title>", head)
        assert title is not None
        assert "<" not in title[1]


def test_the_search_finds_every_submission_and_task_and_no_table(site: Path, hostile: BoardIndex) -> None:
    docs = json.loads(site.joinpath("search/search_index.json").read_text("utf-8"))["docs"]
    entries = {entry["location"]: entry for entry in docs}
    board = hostile.board
    for row in board.standings:
        entry = entries[f"board/core/submissions/{row.submission}/"]
        assert row.submission in entry["text"]
        assert not re.search(r"<(?!/?(?:code|p|pre|ul|ol|li|sub|sup)>)", entry["title"] + entry["text"])
    for task in board.tasks:
        assert f"board/core/tasks/{task.id}/" in entries
    generated = [location for location in entries if location.startswith("board/")]
    assert len(generated) == len(board.standings) + len(board.tasks) + 1  # and the page to compare systems
    assert sum(location.split("#")[0] in ("", "tasks/") for location in entries) == 2
    assert all(len(entry["text"]) <= 300 for entry in docs if entry["location"].startswith("cli/"))


def test_an_entry_has_names_authors_and_models_or_the_instruction(index: BoardIndex) -> None:
    row = next(row for row in index.board.standings if row.models)
    head = submission_head(index, row)
    assert head.search_title == ""
    assert head.title == row.system
    assert all(name in (head.snippet or "") for name in (row.submission, *row.authors[:5], *row.models[:5]))
    task = index.board.tasks[0]
    head = task_head(index.board, task)
    assert head.search_title == f"Task {task.id}"
    assert (head.snippet or "").startswith(task.nl[:40])


# -- source, commit and sitemap


def test_each_page_links_the_source_and_says_of_which_commit_it_is(site: Path) -> None:
    for path, page in html_pages(site).items():
        links = [values.get("href") for tag, values in page.elements if tag == "a"]
        assert links.count(FACTS.source) == (3 if "md-nav__source" in str(page.elements) else 2), path
        assert f"{FACTS.source}/commit/{FACTS.commit}" in links, path
        assert ("time", {"datetime": "2026-11-21"}) in page.elements, path
        assert not any(
            "data-md-component" in values and values["data-md-component"] == "source" for _, values in page.elements
        )


def test_a_build_without_git_says_so(small_site: Path) -> None:
    page = " ".join("".join(Elements((small_site / "index.html").read_text("utf-8")).text).split())
    assert "built –" in page
    assert not any(
        "/commit/" in link for link in re.findall(r'href="([^"]*)"', (small_site / "index.html").read_text())
    )


def test_a_sitemap_needs_an_address_and_has_no_day_of_the_build(site: Path, small_site: Path) -> None:
    places = [
        element.text
        for element in xml((site / "sitemap.xml").read_text("utf-8")).iter()
        if element.tag.endswith("}loc")
    ]
    assert f"{ADDRESS}board/core/compare/" in places
    assert f"{ADDRESS}board/core/" not in places  # the home page shows this board
    assert all(place and place.startswith(ADDRESS) for place in places)
    assert "lastmod" not in site.joinpath("sitemap.xml").read_text("utf-8")
    assert gzip.decompress(site.joinpath("sitemap.xml.gz").read_bytes()) == site.joinpath("sitemap.xml").read_bytes()
    assert struct.unpack("<I", site.joinpath("sitemap.xml.gz").read_bytes()[4:8]) == (0,)
    assert f"Sitemap: {ADDRESS}sitemap.xml" in site.joinpath("robots.txt").read_text()
    assert not small_site.joinpath("sitemap.xml").exists()
    assert "Sitemap:" not in small_site.joinpath("robots.txt").read_text()


def test_equal_facts_write_equal_bytes(tmp_path: Path) -> None:
    def written(name: str) -> dict[str, bytes]:
        out = tmp_path / name / "board"
        write_pages([drawn_board(3, 6, 2)], out, facts=FACTS)
        return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    assert written("one") == written("two")


# -- cards


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place = 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        content = png[place + 4 : place + 8 + length]
        assert struct.unpack_from(">I", png, place + 8 + length) == (zlib.crc32(content),)
        place += 12 + length
    width, height = struct.unpack_from(">II", png, 16)
    return width, height


def test_a_card_has_the_size_that_other_sites_expect_and_is_small(index: BoardIndex, hostile: BoardIndex) -> None:
    texts = [suite_card_text(index), submission_card_text(index, index.ranked[0])]
    texts += [submission_card_text(hostile, row) for row in hostile.board.standings]
    texts += [texts[1]._replace(name=name) for name in ("", "x" * 5_000, "W M " * 2_000, EVIL, "模型 " * 50, "\n\t ")]
    for text in texts:
        card = draw_card(text)
        assert size_of(card) == (1200, 630), text.name[:40]
        assert len(card) <= 40_000, text.name[:40]


def test_a_card_depends_on_its_texts_alone() -> None:
    text = CardText("label", "name", "79.2 %", "note", "rank 1", (0.7, 0.79, 0.85))
    assert draw_card(text) == draw_card(text)
    others = [text._replace(label="5"), text._replace(name="5"), text._replace(score="5")]
    others += [text._replace(note="5"), text._replace(rank="5"), text._replace(share=(0.1, 0.2, 0.3))]
    assert len({draw_card(text), *map(draw_card, others)}) == 7


def test_a_suite_without_a_ranked_system_has_a_card(index: BoardIndex) -> None:
    empty = index_board(drawn_board(6, 12, candidates=2, seed=7))
    assert size_of(draw_card(suite_card_text(replace(empty, ranked=())))) == (1200, 630)


def test_cards_are_written_only_for_a_site_with_an_address(site: Path, small_site: Path) -> None:
    assert size_of(site.joinpath("board/core/card.png").read_bytes()) == (1200, 630)
    assert list(small_site.rglob("card.png")) == []


@pytest.mark.parametrize("kind", range(5))
def test_an_image_is_read_whatever_filter_its_rows_have(kind: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 7, 4), np.uint8)
    rows = b"".join(bytes([kind]) + filtered(pixels, number, kind) for number in range(6))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 7, 6, 8, 6, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    data = b"".join(struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in chunks)
    assert (read_rgba(b"\x89PNG\r\n\x1a\n" + data) == pixels).all()


def filtered(pixels: Any, number: int, kind: int) -> bytes:
    """Return a row of an image after a filter of PNG, computed value by value as the recommendation defines it."""
    row = [int(value) for value in pixels[number].ravel()]
    above = [int(value) for value in pixels[number - 1].ravel()] if number else [0] * len(row)
    result = []
    for place, value in enumerate(row):
        a, b = row[place - 4] if place >= 4 else 0, above[place]
        c = above[place - 4] if place >= 4 else 0
        p = a + b - c
        paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        result.append((value - (0, a, b, (a + b) // 2, paeth)[kind]) % 256)
    return bytes(result)


def test_an_image_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a PNG image with 8-bit RGBA"):
        read_rgba(write_indexed(np.zeros((2, 2), np.uint8), [(0, 0, 0)]))


# -- badges


def test_a_badge_has_the_accuracy_and_the_rank_for_shields_and_as_a_picture(index: BoardIndex) -> None:
    row = index.ranked[0]
    badge = json.loads(badge_json(index, row))
    assert set(badge) == {"schemaVersion", "label", "message", "color"}
    assert badge["schemaVersion"] == 1
    assert re.fullmatch(r"\d+\.\d % · rank 1(–\d)? of \d+", badge["message"])
    picture = xml(badge_svg(index, row))
    assert picture.get("aria-label") == f"{badge['label']}: {badge['message']}"
    assert [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")] == [
        badge["label"],
        badge["message"],
    ]


def test_no_text_of_a_submission_is_on_a_badge(hostile: BoardIndex) -> None:
    badges = {re.sub(r"[\d.]+ % · .*?(?=[<\"])", "", badge_svg(hostile, row)) for row in hostile.ranked}
    assert len({re.sub(r"\d+", "", badge) for badge in badges}) <= 2
    row = hostile.ranked[0]
    assert row.system not in render_badge(hostile, row, FACTS)


def test_the_snippet_of_a_badge_has_whole_addresses(index: BoardIndex) -> None:
    row = index.ranked[0]
    page = f"{ADDRESS}board/core/submissions/{row.submission}/"
    assert f"]({page}badge.svg)]({page})" in render_badge(index, row, FACTS)
    assert "In Markdown" not in render_badge(index, row, SiteFacts())


# -- changes


def test_the_feed_is_valid_atom(hostile: BoardIndex) -> None:
    """RFC 4287, sections 4.1.1 and 4.1.2: what a feed and an entry must have."""
    feed = xml(render_feed(FACTS, pages_of([hostile.board])))
    assert feed.tag == f"{ATOM}feed"
    entries = feed.findall(f"{ATOM}entry")
    assert len(entries) == len(CHANGES)
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            (value,) = element.findall(f"{ATOM}{name}")
            assert value.text
        assert UUID(element.findtext(f"{ATOM}id", "").removeprefix("urn:uuid:"))
        assert datetime.fromisoformat(element.findtext(f"{ATOM}updated", "")).tzinfo is not None
        assert [link.get("rel") for link in element.findall(f"{ATOM}link")].count("alternate") == 1
        assert all((link.get("href") or "").startswith(ADDRESS) for link in element.findall(f"{ATOM}link"))
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == len(entries)
    assert feed.findtext(f"{ATOM}updated") == CHANGES[0].time.isoformat()
    assert "<script>" in (entries[0].findtext(f"{ATOM}title") or "")


def test_the_ids_of_the_feed_stay_if_the_site_moves(hostile: BoardIndex) -> None:
    def ids(facts: SiteFacts) -> list[str]:
        return re.findall("<id>(.*?)</id>", render_feed(facts, pages_of([hostile.board])))

    moved = SiteFacts("https://elsewhere.example/", FACTS.source, "f" * 40, NOW + timedelta(days=9), changes=CHANGES)
    assert ids(moved) == ids(FACTS)


def test_a_feed_without_changes_is_of_the_commit() -> None:
    feed = xml(render_feed(SiteFacts(time=NOW, commit="a" * 40), {}))
    assert feed.findtext(f"{ATOM}updated") == NOW.isoformat()
    with pytest.raises(ValueError, match="expected the time of the commit"):
        render_feed(SiteFacts(), {})


def test_changes_are_told_in_words(hostile: BoardIndex) -> None:
    lines = [change_line(each, pages_of([hostile.board])) for each in CHANGES]
    assert [line.event.split(" (consensus")[0] for line in lines] == [
        "new on core, 75.0 % (3 of 4 tasks)",
        "25.0 % → 50.0 % (2 of 4 tasks) on core",
        "2 rows judged again, with the same score",
        "removed from core",
        "new suite, version 1.0.0",
    ]
    assert [line.page for line in lines] == [
        "board/core/submissions/attack-00/",
        "board/core/submissions/attack-01/",
        "board/core/",
        "board/core/",
        "board/core/",
    ]


def test_the_page_of_changes_has_each_with_its_day_and_commit(site: Path, hostile: BoardIndex) -> None:
    page = Elements(site.joinpath("changes/index.html").read_text("utf-8"))
    days = [values["datetime"] for tag, values in page.elements if tag == "time"]
    assert days[: len(CHANGES)] == [f"{each.time:%Y-%m-%d}" for each in CHANGES]
    links = [values.get("href") for tag, values in page.elements if tag == "a"]
    assert {f"{FACTS.source}/commit/{each.commit}" for each in CHANGES} <= set(links)
    assert "<script>alert(1)</script>" in "".join(page.text)


def test_a_shallow_or_missing_history_is_told() -> None:
    shallow = SiteFacts(time=NOW, commit="a" * 40, complete=False)
    assert "earlier changes are missing" in render_changes(shallow, {})
    assert "does not know its history" in render_changes(SiteFacts(), {})


def test_the_newest_changes_are_those_of_the_last_month_before_the_commit() -> None:
    assert newest_changes(FACTS) == (CHANGES[0], CHANGES[1], CHANGES[3])
    assert newest_changes(FACTS, {"other"}) == ()
    assert newest_changes(SiteFacts()) == ()
    many = SiteFacts(time=NOW, changes=tuple(change(BoardChangeKind.REMOVED, 1, submission=f"s{n}") for n in range(9)))
    assert len(newest_changes(many)) == 5


# -- citation, versions


def test_a_citation_names_suite_version_commit_day_and_address(index: BoardIndex) -> None:
    entry = bibtex(index.board, FACTS)
    suite = f"core {index.board.manifest.version}"
    for part in (
        "@misc{bashboard-core-",
        f"Suite {suite}, commit 2e91402 of 2026-11-21",
        "year = {2026}",
        f"{ADDRESS}board/core/",
    ):
        assert part in entry
    assert entry.count("{") == entry.count("}")
    assert "year" not in bibtex(index.board, SiteFacts())


def test_the_citation_file_is_valid_and_has_the_version_of_the_package() -> None:
    path = ROOT / "CITATION.cff"
    words = ["--builtin-schema", "vendor.citation-file-format", str(path)]
    ran = CliRunner().invoke(check_jsonschema, words, prog_name="check-jsonschema")
    assert ran.exit_code == 0, ran.output
    citation = yaml.safe_load(path.read_text("utf-8"))
    assert citation["version"] == version("bashboard")
    assert citation["license"] == "GPL-3.0-or-later"


def test_a_suite_lists_its_versions_the_latest_first(index: BoardIndex) -> None:
    versions = (("2.1.0", "3.0.0"), ("2.0.0", "2.1.0"), ("", "2.0.0"))
    facts = SiteFacts(
        changes=tuple(change(BoardChangeKind.VERSION, n, versions=(pair,)) for n, pair in enumerate(versions))
    )
    manifest = index.board.manifest.model_copy(update={"version": "3.0.0"})
    board = hostile_board()
    object.__setattr__(board, "manifest", manifest)
    rows = suite_versions(board, facts, [2, 1])
    assert [(row.version, row.board) for row in rows] == [("3.0.0", ""), ("2.1.0", "2/"), ("2.0.0", None), ("1", "1/")]


def test_each_board_with_an_earlier_version_has_a_choice_and_an_index(site: Path) -> None:
    home = Elements(site.joinpath("index.html").read_text("utf-8")).elements
    assert ("a", {"href": "board/core/versions/"}) in home
    frozen = Elements(site.joinpath("board/core/2/index.html").read_text("utf-8")).elements
    assert ("a", {"href": "../versions/"}) in frozen
    assert ("a", {"href": "../2/"}) in Elements(
        site.joinpath("board/core/versions/index.html").read_text("utf-8")
    ).elements


def test_every_link_of_the_new_pages_leads_somewhere(site: Path) -> None:
    for page in ("changes/", "data/", "board/core/versions/", ""):
        for tag, values in Elements(site.joinpath(page, "index.html").read_text("utf-8")).elements:
            address = re.split("[#?]", values.get("href", ""))[0]
            if tag == "a" and address and "://" not in address:
                target = (site / page / address).resolve()
                assert target.is_file() or (target / "index.html").is_file(), (page, address)
