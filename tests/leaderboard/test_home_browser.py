"""A reader chooses a system on the home page in a real browser: what the first screen answers, filters, and charts."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from evaluator.leaderboard.build import site_server
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.records import Method, Unranked
from evaluator.testing.boards import drawn_board

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SYSTEMS = 110
BOARD = drawn_board(SYSTEMS, 40, candidates=1)
SIZES = {"wide": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def site(build: Any) -> Path:
    folder: Path = build("home", BOARD, read_validation(ROOT / JUDGE_METRICS))
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with site_server(site) as address:
        yield address


@pytest.fixture
def open_home(chromium: Browser, address: str) -> Iterator[Any]:
    contexts = []

    def opened(query: str = "", **options: Any) -> Page:
        context = chromium.new_context(**{"viewport": SIZES["wide"], **options})
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{address}{query}")
        return page

    yield opened
    for context in contexts:
        context.close()


def slugs(page: Page) -> list[str]:
    found: list[str] = page.locator("#standings tbody th").evaluate_all("cells => cells.map(c => c.dataset.value)")
    return found


def wait_for_rows(page: Page, number: int) -> None:
    expect(page.locator("#standings tbody tr")).to_have_count(number)


FIRST_SCREEN = """() => {
  const seen = node => [...node.getClientRects()].some(box =>
    box.width && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.left < innerWidth);
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const words = [], links = new Set();
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!seen(parent) || getComputedStyle(parent).visibility === 'hidden') continue;
    words.push(walker.currentNode.textContent);
    const link = parent.closest('a');
    if (link) links.add(link.getAttribute('href'));
  }
  return { text: words.join(' ').replace(/\\s+/g, ' '), links: [...links] };
}"""


@pytest.fixture(params=SIZES)
def first_screen(request: pytest.FixtureRequest, open_home: Any) -> dict[str, Any]:
    page = open_home(viewport=SIZES[request.param])
    screen: dict[str, Any] = page.evaluate(FIRST_SCREEN)
    return screen


def test_the_first_screen_answers_what_a_reader_asks(first_screen: dict[str, Any]) -> None:
    """Eleven questions are answered on the first screen, or by one click on a link in it."""
    text, links = first_screen["text"], first_screen["links"]
    leader = next(row for row in BOARD.standings if row.ranked)
    answers = {
        "who leads": f"{leader.system} leads with" in text,
        "by how much": ("points ahead of" in text or ", like" in text) and "%, 95 % interval" in text,
        "is it significant": "tied with the leader" in text,
        "what does it cost": "The leader costs $" in text,
        "how fast is it": "and answers in" in text,
        "is it open, how big is it": "open" in text and f"board/core/submissions/{leader.submission}/" in links,
        "what is it bad at": "The leader is weakest in" in text and "#topics" in links,
        "what changed since last month": "Newest:" in text and "in the month up to this day" in text,
        "best open system under 10 B": "under 10 B" in text,
        "can I trust the judge": "wrong commands" in text and "judges/" in links,
        "how do I get on it": "submit/" in links,
    }
    assert [question for question, answered in answers.items() if not answered] == []
    assert len(answers) == 11


@pytest.mark.parametrize(("size", "rows", "highest"), [("wide", 10, 56), ("phone", 4, 80)])
def test_enough_rows_are_on_the_first_screen(size: str, rows: int, highest: int, open_home: Any) -> None:
    page = open_home(viewport=SIZES[size])
    boxes = page.locator("#standings tbody tr").evaluate_all(
        "rows => rows.slice(0, 12).map(r => r.getBoundingClientRect()).map(b => [b.bottom, b.height])"
    )
    assert sum(bottom <= SIZES[size]["height"] for bottom, _ in boxes) >= rows
    assert max(height for _, height in boxes) <= highest


def test_the_table_fits_a_wide_page_and_keeps_heads_and_names_in_sight(open_home: Any) -> None:
    assert open_home().locator("#standings").evaluate("t => t.scrollWidth") <= 1440
    for options in ({}, {"viewport": SIZES["phone"]}):
        page = open_home(**options)
        place = """() => { const head = standings.tHead.rows[0].cells[1].getBoundingClientRect();
          const name = standings.querySelector('tbody tr:nth-child(60) th').getBoundingClientRect();
          return [head.top, head.left, name.left]; }"""
        page.locator("#standings tbody tr").nth(60).scroll_into_view_if_needed()
        page.locator("#standings").evaluate("t => { t.closest('.board-scroll').scrollLeft = 300; }")
        top, left, name = page.evaluate(place)
        assert 0 <= top < 800
        assert 0 <= left < 150
        assert 0 <= name < 150


def test_the_rows_are_fetched_only_when_they_are_needed(open_home: Any) -> None:
    page = open_home("tasks/")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page.url.removesuffix("tasks/"))
    page.wait_for_load_state("networkidle")
    wait_for_rows(page, 100)
    assert not [url for url in requests if url.endswith("rows.json")]
    page.get_by_role("button", name="Show 10 more").click()
    wait_for_rows(page, SYSTEMS)
    assert [url for url in requests if url.endswith("rows.json")]
    assert slugs(page) == [row.submission for row in BOARD.standings if row.ranked]
    assert "standings.rows=200" in page.url
    page.reload()
    wait_for_rows(page, SYSTEMS)


def test_the_rows_are_fetched_at_the_first_movement(open_home: Any) -> None:
    """A reader who is about to sort or to filter does not wait for the file."""
    page = open_home()
    page.wait_for_load_state("networkidle")
    with page.expect_response(lambda reply: reply.url.endswith("rows.json")):
        page.mouse.move(300, 300)


def test_the_rows_of_the_first_screen_are_drawn_first(open_home: Any) -> None:
    """The frame after a sort has 40 rows in their new order, and the others follow."""
    page = open_home()
    wait_for_rows(page, 100)
    page.mouse.move(300, 300)
    page.wait_for_load_state("networkidle")
    counts = page.evaluate(
        """() => new Promise(resolve => {
          const counts = [], body = standings.tBodies[0];
          new MutationObserver(() => { if (counts.push(body.rows.length) === 2) resolve(counts); })
            .observe(body, {childList: true});
          standings.querySelector('[data-key=cost] button').click();
        })"""
    )
    assert counts == [40, 100]


def test_without_its_own_scripts_the_page_shows_all_of_its_rows(open_home: Any, address: str) -> None:
    """A blocker may stop the board's scripts and not those of the page."""
    page = open_home("tasks/")
    page.route("**/assets/board*.js", lambda route: route.abort())
    page.goto(address)
    rows = page.locator("#standings tbody tr")
    assert rows.count() == 100
    assert rows.last.is_visible()


def test_facets_make_chips_and_survive_reload_and_back(open_home: Any) -> None:
    page = open_home()
    page.get_by_role("combobox", name="Weights").select_option("open")
    page.get_by_role("combobox", name="Size").select_option("3–10 B")
    page.get_by_role("searchbox", name="Find systems").fill("kestrel, basalt")
    wanted = [
        row.submission
        for row in BOARD.standings
        if row.ranked
        and row.open_weights
        and 3e9 < (row.parameters or 0) <= 10e9
        and row.system.split()[0] in ("Kestrel", "Basalt")
    ]
    wait_for_rows(page, len(wanted))
    assert slugs(page) == wanted
    page.reload()
    wait_for_rows(page, len(wanted))
    page.locator("#standings tbody th a").first.click()
    page.go_back()
    wait_for_rows(page, len(wanted))
    chips = page.locator(".chips li")
    assert chips.count() == 4
    page.get_by_role("button", name="Remove the filter Size: 3–10 B").click()
    expect(page.locator("#standings tbody tr")).not_to_have_count(len(wanted))
    page.get_by_role("button", name="Clear all filters").click()
    wait_for_rows(page, 100)
    assert "?" not in page.url


def test_a_filter_without_rows_offers_to_clear_it(open_home: Any) -> None:
    page = open_home("?standings.q=nothing-has-this-name")
    wait_for_rows(page, 0)
    page.get_by_role("button", name="Clear all filters").click()
    wait_for_rows(page, 100)


def test_columns_are_chosen_and_kept_in_the_address(open_home: Any) -> None:
    page = open_home()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="NLC2CMD").check()
    page.get_by_role("checkbox", name="Tokens").uncheck()
    page.locator("#standings th[data-key=nlc2cmd]").wait_for()
    page.reload()
    heads = page.locator("#standings thead th")
    page.locator("#standings th[data-key=nlc2cmd]").wait_for()
    keys = heads.evaluate_all("heads => heads.map(h => h.dataset.key)")
    assert "tokens" not in keys
    cells = page.locator("#standings tbody tr").first.locator("td, th").count()
    assert cells == len(keys)
    page.locator("#standings th[data-key=nlc2cmd] button").click()
    page.locator("#standings th[data-key=nlc2cmd][aria-sort=descending]").wait_for()


def test_missing_values_come_last_in_both_directions(open_home: Any) -> None:
    page = open_home()
    for order in ("ascending", "descending"):
        page.goto(f"{page.url.split('?')[0]}?standings.sort={'-' if order == 'descending' else ''}cost")
        page.locator(f"#standings th[data-key=cost][aria-sort={order}]").wait_for()
        expect(page.locator("#standings[data-sorted]")).to_have_count(1)
        place = "[...standings.tHead.rows[0].cells].findIndex(h => h.dataset.key === 'cost')"
        assert "$" in page.evaluate(f"standings.tBodies[0].rows[0].cells[{place}].innerText")


def test_the_default_order_is_marked(open_home: Any) -> None:
    head = open_home().locator("#standings th[data-key=accuracy]")
    assert head.get_attribute("aria-sort") == "descending"


def test_sort_arrows_are_visible_without_a_pointer(open_home: Any) -> None:
    page = open_home(viewport=SIZES["phone"], has_touch=True, is_mobile=True)
    shown = page.locator("#standings th[data-key=system] button").evaluate(
        "b => getComputedStyle(b, '::after').opacity"
    )
    assert float(shown) > 0.4


def test_links_of_fetched_rows_lead_to_the_submissions(open_home: Any) -> None:
    page = open_home("?standings.sort=accuracy")
    expect(page.locator("#standings[data-sorted]")).to_have_count(1)
    slug = slugs(page)[0]
    page.locator("#standings tbody th a").first.click()
    page.wait_for_load_state()
    assert page.url.endswith(f"board/core/submissions/{slug}/")


def test_without_scripts_all_systems_are_one_click_away(open_home: Any) -> None:
    page = open_home(java_script_enabled=False)
    page.get_by_role("link", name="All systems on one plain page").click()
    expect(page.locator("#all tbody tr")).to_have_count(SYSTEMS)


DARK_PIXELS = """async source => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
  const context = canvas.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0);
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
  let dark = 0;
  for (let at = 0; at < data.length; at += 4) dark += data[at] + data[at + 1] + data[at + 2] < 300;
  return dark;
}"""


def test_every_downloaded_drawing_is_painted_outside_of_the_site(site: Path, open_home: Any, address: str) -> None:
    page = open_home()
    drawings = sorted(site.glob("board/core/charts/*.svg"))
    assert len(drawings) >= 7
    for drawing in drawings:
        assert page.evaluate(DARK_PIXELS, f"{address}board/core/charts/{drawing.name}") > 500, drawing.name


def test_a_select_changes_the_axis_of_a_chart(open_home: Any) -> None:
    page = open_home()
    section = page.locator("#chart-trade-off")
    section.scroll_into_view_if_needed()
    section.locator(".vega-embed svg").wait_for()
    section.get_by_role("combobox").select_option("size")
    section.get_by_text("parameters in billions").wait_for()
    assert section.locator(".vega-embed").count() == 1
    assert section.get_by_role("link", name="SVG").get_attribute("href").endswith("/size.svg")
    page.reload()
    section.scroll_into_view_if_needed()
    section.get_by_text("parameters in billions").wait_for()


def test_a_phone_has_the_names_above_the_bars(open_home: Any) -> None:
    page = open_home(viewport=SIZES["phone"])
    section = page.locator("#chart-accuracy")
    section.scroll_into_view_if_needed()
    section.locator(".vega-embed svg").wait_for()
    plot = section.locator(".vega-embed svg .mark-rect path").first.bounding_box()
    assert plot["width"] > 250
    assert "Shown: 30 of 110 systems" in section.inner_text()


def test_forced_colours_keep_the_bars(open_home: Any) -> None:
    page = open_home(forced_colors="active")
    fill = page.locator("#standings .interval i").first.evaluate("i => getComputedStyle(i).backgroundColor")
    assert fill not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)", "rgb(0, 0, 0)")


def test_paper_has_all_columns_and_no_details(open_home: Any) -> None:
    page = open_home(viewport={"width": 1040, "height": 720})
    page.emulate_media(media="print")
    found = page.evaluate(
        """() => { const last = standings.tHead.rows[0].lastElementChild;
          return { right: last.getBoundingClientRect().right, position: getComputedStyle(last).position,
            overflow: getComputedStyle(standings.closest('.board-scroll')).overflow,
            tools: document.querySelector('.board-tools').getClientRects().length,
            details: [...standings.querySelectorAll('details > p')].filter(p => p.offsetParent).length }; }"""
    )
    assert found["right"] <= 1040
    assert (found["position"], found["overflow"], found["tools"], found["details"]) == ("static", "visible", 0, 0)


def test_no_page_scrolls_sideways_at_320_pixels(open_home: Any) -> None:
    page = open_home(viewport={"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_controls_are_in_no_count_and_come_last(build: Any, chromium: Browser) -> None:
    """A control is listed in a table of its own, after the ranked systems."""
    board = drawn_board(3, 8, candidates=1)
    control = board.standings[-1].model_copy(
        update={
            "ranked": False,
            "unranked": Unranked.CONTROL,
            "method": Method.CONTROL,
            "rank_low": None,
            "rank_high": None,
        }
    )
    changed = dataclasses.replace(board, standings=(*board.standings[:-1], control))
    with site_server(build("controls", changed)) as address:
        page = chromium.new_page()
        page.goto(address)
        assert "2 systems" in page.locator("#standings caption").inner_text()
        tables = page.locator("table.board-table").evaluate_all("tables => tables.map(t => t.id)")
        assert tables[-1] == "controls"
        facts = json.loads(page.locator("#standings-facts").text_content() or "")
        assert facts["total"] == 2
        page.close()


def test_an_empty_board_invites_a_submission(build: Any, chromium: Browser) -> None:
    board = drawn_board(1, 4, candidates=1)
    empty = dataclasses.replace(board, standings=(), results=(), submissions={}, awaiting=("first-one",))
    with site_server(build("empty", empty)) as address:
        page = chromium.new_page()
        page.goto(address)
        assert "built again every day" in page.locator(".empty-board").inner_text()
        page.locator(".empty-board").get_by_role("link").click()
        assert page.url.endswith("submit/")
        page.close()
