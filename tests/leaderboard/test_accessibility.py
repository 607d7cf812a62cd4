"""Every kind of page is accessible: axe-core finds no violation, and the keyboard reaches only what is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.doubles.axe import KEPT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGES = (
    "",
    "board/core/",
    "board/core/submissions/system-0001/",
    "board/core/tasks/text-000/",
    "board/core/compare/",
    "tasks/",
    "judges/",
    "scoring/",
    "submit/",
    "generate/",
    "maintain/",
    "cli/",
    "404.html",
)
WIDTHS = {1440: 900, 390: 844}
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules whose result depends on the colour scheme. In the dark scheme, only these are checked."""

CHECK = """async ([tags, rules]) => {
  const only = rules.length ? { type: 'rule', values: rules } : { type: 'tag', values: tags };
  const { violations } = await axe.run(document, { runOnly: only, resultTypes: ['violations'] });
  const shown = (nodes) => nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ');
  return violations.map(({ id, nodes }) => `${id}: ${shown(nodes)}`);
}"""


SETTLE = """async () => {
  const settled = () => [...document.querySelectorAll('pre > code')]
    .every((code) => code.scrollWidth <= code.clientWidth || code.tabIndex >= 0);
  for (let turn = 0; turn < 50 && !settled(); turn += 1) await new Promise((wake) => setTimeout(wake, 20));
}"""
"""Waits, a second at most, until the theme has noticed which code is wider than a page that has another width now."""


@pytest.fixture(scope="module")
def axe() -> str:
    path = ROOT / KEPT
    if not path.is_file():
        pytest.skip("no axe-core; fetch it with: python -m tests.doubles.axe")
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.mark.npm
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_no_violation_at_any_width_and_in_any_scheme(
    path: str, page: Page, axe: str, small_address: str
) -> None:
    """The page is loaded once. The dark scheme changes only colours, so only rules about colours are checked in it."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(small_address + path)
    page.wait_for_load_state("networkidle")
    page.evaluate(axe)
    found = {}
    for scheme, rules in (("default", ()), ("slate", COLOURS)):
        page.evaluate("name => document.body.setAttribute('data-md-color-scheme', name)", scheme)
        for width, height in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(SETTLE)
            found[width, scheme] = page.evaluate(CHECK, [TAGS, rules])
    assert {key: violations for key, violations in found.items() if violations} == {}


# What has the focus: whether it is seen, and its text. The theme shows the focus of the colour switch on the
# label that follows it.
FOCUSED = """() => {
  const focused = document.activeElement;
  if (focused === document.body) return null;
  const node = focused.matches('.md-option') ? focused.nextElementSibling : focused;
  const box = node.getBoundingClientRect();
  const style = getComputedStyle(node);
  const seen = box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth
    && box.top < innerHeight && style.visibility === 'visible' && style.opacity !== '0';
  return { seen, name: (node.getAttribute('aria-label') || node.innerText || node.outerHTML).slice(0, 80) };
}"""


def tab_stops(page: Page, most: int) -> list[dict[str, Any]]:
    """Press Tab up to `most` times and return what had the focus after each press."""
    stops = []
    for _ in range(most):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        stops.append(focused)
    return stops


@pytest.mark.parametrize("path", PAGES)
def test_tab_stops_only_on_what_is_seen_on_a_phone(path: str, page: Page, small_address: str) -> None:
    """The first stop is the skip link, and no stop is in the closed drawer or the closed search."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(small_address + path)
    page.wait_for_load_state("networkidle")
    stops = tab_stops(page, 40)
    assert stops[0]["name"].strip() == "Skip to content"
    assert [stop["name"] for stop in stops if not stop["seen"]] == []
    assert {"Menu", "Search"} <= {stop["name"] for stop in stops}


def test_the_skip_link_leads_to_the_content(page: Page, small_address: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{small_address}board/core/submissions/system-0001/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#content') !== null")


def test_the_keyboard_opens_and_closes_the_menu_on_a_phone(page: Page, small_address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{small_address}tasks/")
    page.get_by_role("button", name="Menu").focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("link", name="Scoring").first.is_visible()
    assert page.get_by_role("button", name="Menu").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert not page.get_by_role("link", name="Scoring").first.is_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Menu"


def test_the_keyboard_opens_the_search_on_a_phone(page: Page, small_address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{small_address}tasks/")
    page.get_by_role("button", name="Search").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".md-search__input")).to_be_focused()
