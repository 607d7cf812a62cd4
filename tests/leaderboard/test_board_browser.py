"""The site in a real browser: Chromium, on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

pytestmark = pytest.mark.browser

PAGES = (
    "",
    "tasks/",
    "scoring/",
    "submit/",
    "board/core/",
    "board/core/compare/",
    "board/core/submissions/{slug}/",
    "board/core/tasks/text-000/",
)
WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


class Watched:
    """A page that records its network requests, errors, warnings and dialogs."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self.note_dialog)
        page.on("console", self.note_console)

    def note_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Any]:
    contexts = []

    def opened(address: str, **options: Any) -> Watched:
        context = chromium.new_context(**{**WIDE, **options})
        contexts.append(context)
        watched = Watched(context.new_page())
        watched.page.goto(address)
        return watched

    yield opened
    for context in contexts:
        context.close()


def systems(page: Page) -> list[str]:
    return [row.get_attribute("data-value") or "" for row in page.locator("#standings tbody th").all()]


def scroll_through(page: Page) -> None:
    """Bring every chart into view, because a chart is drawn only when it comes near the viewport."""
    for canvas in page.locator("[data-chart]").all():
        canvas.scroll_into_view_if_needed()
    for canvas in page.locator("[data-chart]").all():
        canvas.locator(".vega-embed svg").wait_for()
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("site", ["small", "hostile"])
def test_a_page_asks_no_other_host_and_complains_of_nothing(
    path: str, site: str, open_page: Any, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue(f"{site}_address")
    slug = {"small": "system-0001", "hostile": "attack-05"}[site]
    watched = open_page(address + path.format(slug=slug))
    scroll_through(watched.page)
    assert watched.requests
    assert not [url for url in watched.requests if not url.startswith((address, "data:", "blob:"))]
    assert not watched.complaints


def test_clicking_a_header_sorts_and_a_third_click_restores_the_board(small_address: str, open_page: Any) -> None:
    page = open_page(small_address).page
    before = systems(page)
    button = page.locator("#standings th[data-key=tokens] button")
    place = page.locator("#standings thead th").evaluate_all(
        "heads => heads.findIndex(h => h.dataset.key === 'tokens')"
    )
    for order in (-1, 1):
        button.click()
        page.locator("#standings th[data-key=tokens][aria-sort]").wait_for()
        expect(page.locator("#standings[data-sorted]")).to_have_count(1)
        cells = page.locator(f"#standings tbody tr > :nth-child({place + 1})[data-value]").all()
        scores = [order * float(cell.get_attribute("data-value") or "nan") for cell in cells]
        assert scores == sorted(scores)
        assert systems(page) != before
    button.click()
    expect(page.locator("#standings[data-sorted]")).to_have_count(0)
    assert systems(page) == before


def test_a_header_sorts_by_keyboard_and_says_so(small_address: str, open_page: Any) -> None:
    page = open_page(small_address).page
    head = page.locator("#standings th[data-key=system]")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    page.locator("#standings th[data-key=system][aria-sort=ascending]").wait_for()
    assert systems(page) == sorted(systems(page))
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    page.locator("#standings th[data-key=system][aria-sort=descending]").wait_for()


def test_the_view_is_in_the_address_and_survives_a_reload(small_address: str, open_page: Any) -> None:
    page = open_page(small_address).page
    page.locator("#standings th[data-key=accuracy] button").click()
    page.get_by_role("searchbox", name="Find systems").fill("1")
    page.get_by_role("combobox", name="Method").select_option("agent")
    expect(page.locator("#standings tbody tr")).to_have_count(1)
    chosen = systems(page)
    assert "standings.sort=accuracy" in page.url
    page.reload()
    expect(page.locator("#standings tbody tr")).to_have_count(1)
    assert systems(page) == chosen
    assert len(chosen) == 1
    assert page.get_by_role("combobox", name="Method").input_value() == "agent"


def test_an_address_with_nonsense_shows_the_board(small_address: str, open_page: Any) -> None:
    watched = open_page(f"{small_address}?standings.sort=__proto__&standings.method=nobody&x=<script>")
    assert len(systems(watched.page)) == 6
    assert not watched.complaints


def test_choosing_rows_is_announced(small_address: str, open_page: Any) -> None:
    page = open_page(f"{small_address}board/core/submissions/system-0004/").page
    page.get_by_role("combobox", name="Verdict").select_option("pass")
    shown = page.locator("#tasks tbody tr").count()
    assert 0 < shown < 16
    assert f"{shown} of 16 rows" in page.get_by_role("status").all_inner_texts()


def test_charts_are_drawn_anew_and_answer_the_pointer(small_address: str, open_page: Any) -> None:
    page = open_page(small_address).page
    scroll_through(page)
    assert page.locator(".chart-canvas .vega-embed svg").count() == 5
    page.locator("[data-chart$='agreement.themed.json'] path[aria-roledescription=point]").first.hover()
    assert page.locator("#vg-tooltip-element td.key").first.is_visible()


def test_dark_and_light_differ_and_both_can_be_read(small_address: str, open_page: Any) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        page = open_page(small_address, color_scheme=scheme).page
        shades[scheme] = page.evaluate(CONTRAST, [".lead", "td.accuracy .figure", ".md-tabs__link", ".note", "caption"])
    assert shades["light"]["paper"] > 0.8 > 0.2 > shades["dark"]["paper"]
    assert min(*shades["light"]["ratios"], *shades["dark"]["ratios"]) >= 4.5


def test_verdicts_can_be_read_in_both_schemes(small_address: str, open_page: Any) -> None:
    for scheme in ("light", "dark"):
        page = open_page(f"{small_address}board/core/submissions/system-0004/", color_scheme=scheme).page
        assert min(page.evaluate(CONTRAST, [".verdict", ".step", "code.command", ".slug"])["ratios"]) >= 4.5


CONTRAST = """selectors => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const light = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255)
      .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$|^transparent$/.test(colour)) return light(colour);
    }
    return 1;
  };
  const ratio = node => {
    const [a, b] = [light(getComputedStyle(node).color), ground(node)];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  };
  const nodes = selectors.flatMap(selector => [...document.querySelectorAll(selector)]);
  return { paper: ground(document.body), ratios: nodes.map(ratio) };
}"""


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("site", ["small", "hostile"])
def test_no_page_scrolls_sideways_on_a_phone(
    path: str, site: str, open_page: Any, request: pytest.FixtureRequest
) -> None:
    slug = {"small": "system-0001", "hostile": "attack-18"}[site]
    page = open_page(request.getfixturevalue(f"{site}_address") + path.format(slug=slug), **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_row_keeps_its_name_in_sight_on_a_phone(small_address: str, open_page: Any) -> None:
    page = open_page(small_address, **PHONE).page
    page.locator("#standings").evaluate("table => table.parentElement.scrollTo(600, 0)")
    box = page.locator("#standings tbody th").first.bounding_box()
    assert 0 <= box["x"] < 100


def test_without_scripts_the_board_is_whole(small_address: str, open_page: Any) -> None:
    page = open_page(small_address, java_script_enabled=False).page
    assert page.locator("#standings tbody tr").count() == 6
    assert page.locator(".chart-canvas > svg").count() == 5
    assert page.locator(".chart-canvas > svg").first.is_visible()
    assert page.locator(".board-filter, #standings button").count() == 0


def test_without_scripts_the_readers_preference_is_kept(small_address: str, open_page: Any) -> None:
    page = open_page(small_address, java_script_enabled=False, color_scheme="dark").page
    image = page.locator("body").evaluate("body => getComputedStyle(body).colorScheme")
    assert image == "light dark"


def test_on_paper_the_board_stands_alone(small_address: str, open_page: Any) -> None:
    page = open_page(small_address).page
    page.emulate_media(media="print")
    assert page.locator("#standings").is_visible()
    assert not page.locator(".md-header").is_visible()
    assert not page.locator(".board-filter").first.is_visible()


def test_what_needs_a_name_has_one(small_address: str, open_page: Any) -> None:
    page = open_page(small_address).page
    nameless = page.evaluate(
        "[...document.querySelectorAll('[role=dialog], [role=region], [role=search], button')].filter(node =>"
        " !(node.getAttribute('aria-label') || node.getAttribute('aria-labelledby') || node.textContent.trim()))"
        ".map(node => node.outerHTML.slice(0, 120)).filter(text => !text.includes('md-search__icon'))"
    )
    assert nameless == []
