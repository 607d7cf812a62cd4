"""The built site has no broken link, loads nothing from another host, and shows hostile text only as text."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from evaluator.errors import InfraError, MissingError
from evaluator.leaderboard.build import build_site
from evaluator.leaderboard.html_text import plain_text
from tests.doubles.hostile_boards import ATTACKS

LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "manifest", "ping"}
"""Attributes with which a page loads or sends something."""

ACTIVE = {"script", "iframe", "object", "embed", "base", "link", "meta", "style", "img", "form", "svg", "input", "math"}


class Elements(HTMLParser):
    """All elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.elements.append(("!--", {}))


def pages_of(site: Path) -> dict[str, Elements]:
    return {str(path.relative_to(site)): Elements(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def small(small_site: Path) -> dict[str, Elements]:
    return pages_of(small_site)


@pytest.fixture(scope="module")
def hostile(hostile_site: Path) -> dict[str, Elements]:
    return pages_of(hostile_site)


def kind_of(path: str) -> str:
    """Return a page's path without the names of submissions and tasks. One template makes all pages of a kind."""
    parts = Path(path).parts
    return "/".join((*parts[:3], "*")) if len(parts) > 4 else path


def test_every_page_and_file_that_is_linked_exists(small_site: Path, small: dict[str, Elements]) -> None:
    files = {str(path.relative_to(small_site)) for path in small_site.rglob("*") if path.is_file()}
    missing = set()
    for page, parsed in small.items():
        if page == "404.html":
            continue
        for _, attributes in parsed.elements:
            for address in (
                attributes.get("href"),
                attributes.get("src"),
                attributes.get("data-chart"),
                attributes.get("data-rows"),
            ):
                target = urlsplit(urljoin(f"http://site/{page}", address or ""))
                if address is None or target.scheme != "http" or target.netloc != "site":
                    continue
                path = unquote(target.path).strip("/")
                if not {path, f"{path}/index.html".lstrip("/")} & files:
                    missing.add((page, address))
    assert not missing


def test_a_page_has_one_heading_of_the_first_level(small: dict[str, Elements]) -> None:
    counts = {path: sum(tag == "h1" for tag, _ in page.elements) for path, page in small.items()}
    assert {path: count for path, count in counts.items() if count != 1} == {}


def test_no_page_loads_anything_from_elsewhere(small: dict[str, Elements], hostile: dict[str, Elements]) -> None:
    for parsed in (*small.values(), *hostile.values()):
        for tag, attributes in parsed.elements:
            addresses = [value for name, value in attributes.items() if name in LOADING]
            addresses += (
                [attributes["href"]] if tag in ("link", "use", "image", "base") and "href" in attributes else []
            )
            assert not [address for address in addresses if urlsplit(address).netloc]


def test_a_table_reads_without_scripts(small: dict[str, Elements]) -> None:
    names = Counter(tag for tag, _ in small["index.html"].elements)
    heads = [attributes for tag, attributes in small["index.html"].elements if tag == "th"]
    assert names["caption"] == names["table"]
    assert {attributes.get("scope") for attributes in heads} == {"col", "row"}


def test_charts_are_in_the_page_as_drawings(small: dict[str, Elements]) -> None:
    drawings = [
        attributes
        for tag, attributes in small["index.html"].elements
        if tag == "svg" and attributes.get("class") == "marks"
    ]
    assert len(drawings) == 5


def test_what_a_submission_says_makes_no_element_and_no_attribute(
    small: dict[str, Elements], hostile: dict[str, Elements]
) -> None:
    """Hostile text adds no element, attribute or active element to a page of its kind."""
    usual: dict[str, set[tuple[str, str]]] = {}
    active: dict[str, set[tuple[tuple[str, int], ...]]] = {}
    for path, parsed in small.items():
        usual.setdefault(kind_of(path), set()).update(shape(parsed))
        active.setdefault(kind_of(path), set()).add(actives(parsed))
    ours = {("span", "class"), ("br", ""), ("a", "rel"), ("code", "dir"), ("bdi", "")}
    for path, parsed in hostile.items():
        assert shape(parsed) - usual[kind_of(path)] - ours <= set(), path
        assert actives(parsed) in active[kind_of(path)], path


def shape(parsed: Elements) -> set[tuple[str, str]]:
    return {(tag, name) for tag, attributes in parsed.elements for name in (*attributes, "")}


def actives(parsed: Elements) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(tag for tag, _ in parsed.elements if tag in ACTIVE).items()))


def test_addresses_on_hostile_pages_lead_inside_or_vouch_for_nothing(hostile: dict[str, Elements]) -> None:
    for path, parsed in hostile.items():
        if not path.startswith("board/"):
            continue
        for tag, attributes in parsed.elements:
            address = attributes.get("href", "") if tag == "a" else ""
            scheme = urlsplit(address).scheme
            assert scheme in ("", "http", "https"), address
            if scheme:
                assert attributes["rel"] == "nofollow ugc noopener"


@pytest.mark.parametrize("number", range(len(ATTACKS)))
def test_an_attack_is_shown_as_text(number: int, hostile: dict[str, Elements]) -> None:
    text = "".join(hostile["board/core/submissions/attack-00/index.html"].text)
    assert plain_text(ATTACKS[number][:40])[:12] in text


def test_no_control_or_direction_mark_reaches_a_page(hostile_site: Path) -> None:
    forbidden = {
        *map(chr, range(0x20)),
        *map(chr, range(0x7F, 0xA0)),
        *"\u202a\u202b\u202d\u202e\u2066\u2069\u200b\ufeff",
    }
    for path in (hostile_site / "board").rglob("*.html"):
        assert not (set(path.read_text("utf-8")) & forbidden) - {"\n"}, path


def test_templates_and_markers_from_a_submission_stay_as_they_are(hostile: dict[str, Elements]) -> None:
    text = "".join(hostile["board/core/submissions/attack-10/index.html"].text)
    assert "{{ 7 * 7 }}" in text
    assert '<div data-part="_home"></div>' in text
    assert "root:x:0:0" not in text


def test_a_site_without_pages_names_the_command_that_writes_them(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="bashboard build"):
        build_site(tmp_path)


@pytest.mark.slow
def test_what_mkdocs_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "site/board/.parts").mkdir(parents=True)
    (tmp_path / "site/index.md").write_text("[gone](nowhere.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\ndocs_dir: site\nsite_dir: build/site\n")
    with pytest.raises(InfraError, match=r"nowhere\.md"):
        build_site(tmp_path)
