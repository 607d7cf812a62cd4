"""The comparison of two systems in the browser shows the figures of `bashboard compare` and obeys no hostile text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.escaping import classify
from evaluator.leaderboard.build import site_server
from evaluator.metrics.paired import mcnemar_p
from evaluator.pipeline.boards.compare import compare_on
from evaluator.records import ErrorClass, ErrorPair, SubmissionComparison
from evaluator.testing.boards import drawn_board

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

A, B = "system-0001", "system-0004"
PAGE = "board/core/compare/"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def found() -> SubmissionComparison:
    return compare_on(drawn_board(6, 16, candidates=3, seed=7), A, B)


def figures(page: Page) -> list[str]:
    page.locator(".compared dl.figures").wait_for()
    return [each.split()[0] for each in page.locator(".compared dl.figures dd").all_inner_texts()]


def counts_of(page: Page, table: str) -> dict[str, list[int]]:
    rows = page.locator(f"#{table} tbody tr").all()
    return {
        row.locator("th").inner_text(): [int(cell) for cell in row.locator("td").all_inner_texts()[:4]] for row in rows
    }


def test_the_browser_counts_what_the_command_counts(
    page: Page, small_address: str, found: SubmissionComparison
) -> None:
    """The browser shows the same four counts as the command: in total, by topic and by utility."""
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    assert [int(each) for each in figures(page)[:4]] == list(found.counts.model_dump().values())
    for name in ("topics", "utilities"):
        expected = {key: list(each.model_dump().values()) for key, each in getattr(found, name).items()}
        assert counts_of(page, name) == expected


def test_the_browser_counts_the_errors_of_the_command(
    page: Page, small_address: str, found: SubmissionComparison
) -> None:
    """The table of the browser has all classes, those without an error too."""
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    figures(page)
    rows = page.locator("#errors-table tbody tr").all()
    counts = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}
    pairs = {kind: found.errors.get(kind, ErrorPair()) for kind in ErrorClass}
    assert counts == {kind.value: [str(pair.first), str(pair.second)] for kind, pair in pairs.items()}


def test_the_browsers_test_and_interval_are_the_commands(
    page: Page, small_address: str, found: SubmissionComparison
) -> None:
    """Both agree to nine decimals, although one computes with integers and the other with logarithms."""
    page.goto(small_address + PAGE)
    counts = found.counts
    script = f"""async () => {{
      const made = await import(new URL("../../../assets/compare.js", location.href).href);
      const [both, a, b, neither] = {list(counts.model_dump().values())};
      const counts = {{ both, a, b, neither }};
      return [made.mcnemar(counts.a, counts.b), made.mcnemar(40, 75), ...made.interval(counts)];
    }}"""
    p_value, other, low, high = page.evaluate(script)
    assert (p_value, low, high) == pytest.approx((found.p_value, found.difference_low, found.difference_high), abs=1e-9)
    assert other == pytest.approx(mcnemar_p(40, 75), abs=1e-12)


def test_the_tasks_that_tell_the_two_apart_come_first(
    page: Page, small_address: str, found: SubmissionComparison
) -> None:
    """The tasks that differ come first, and the command names the same tasks."""
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    figures(page)
    names = [row.get_attribute("id") for row in page.locator("#tasks tbody tr").all()]
    assert names[: len(found.tasks)] == [pair.task for pair in found.tasks]
    assert len(names) == 16


def choose(page: Page, side: str, text: str) -> None:
    field = page.locator(f"form.compare input[name={side}]")
    field.fill(text)
    field.press("Enter")
    field.blur()


def test_what_is_chosen_stands_in_the_address(page: Page, small_address: str) -> None:
    """The address contains both systems, so that a comparison can be shared. An unknown system is reported."""
    page.goto(small_address + PAGE)
    figures(page)
    choose(page, "a", B)
    choose(page, "b", A)
    assert re.search(rf"\?a={B}&b={A}$", page.url)
    choose(page, "b", B)
    assert page.locator("form.compare [role=status]").inner_text() == "Choose two different systems."
    page.goto(f"{small_address}{PAGE}?a=moon&b={A}")
    assert "no system moon" in page.locator("form.compare [role=status]").inner_text()


def test_a_system_is_chosen_by_a_part_of_its_name(page: Page, small_address: str) -> None:
    """The list offers every system by name and slug. A part that fits several systems is refused."""
    page.goto(small_address + PAGE)
    figures(page)
    offered = page.locator("#compare-systems option").evaluate_all("options => options.map(({ value }) => value)")
    assert len(offered) == 6
    wanted = next(each for each in offered if each.endswith(f"({B})"))
    choose(page, "a", wanted.partition(" (")[0].upper())
    page.locator("p.versus a[href$='system-0004/']").wait_for()
    assert page.locator("form.compare input[name=a]").input_value() == wanted
    choose(page, "a", "system-000")
    assert "or more than one" in page.locator("form.compare [role=status]").inner_text()


def test_the_systems_can_be_swapped(page: Page, small_address: str) -> None:
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    figures(page)
    page.get_by_role("button", name="Swap A and B").click()
    assert re.search(rf"\?a={B}&b={A}$", page.url)


SHIFTS = """() => {
  window.shifts = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shifts += entry.value; }))
    .observe({ type: "layout-shift", buffered: true });
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_the_result_is_drawn(chromium: Browser, small_address: str, width: int) -> None:
    """The sum of all layout shifts is below 0.05. A page above 0.1 is called unstable."""
    context = chromium.new_context(viewport={"width": width, "height": 900})
    context.add_init_script(f"({SHIFTS})()")
    page = context.new_page()
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    figures(page)
    page.wait_for_load_state("networkidle")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.shifts") < 0.05
    context.close()


def test_on_a_phone_a_row_has_a_above_b_and_the_instruction_first(chromium: Browser, small_address: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    figures(page)
    row = page.locator("#tasks tbody tr").first
    boxes = [row.locator(part).bounding_box() for part in ("th", "td[data-label=A]", "td[data-label=B]")]
    tops = [box["y"] for box in boxes if box]
    assert tops == sorted(tops)
    assert all(box and box["x"] >= 0 and box["width"] > 300 for box in boxes)
    assert row.locator("th .instruction").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_a_script_keeps_its_lines(page: Page, small_address: str) -> None:
    page.goto(f"{small_address}{PAGE}?a={A}&b={B}")
    figures(page)
    script = page.locator("#tasks code.command", has_text="while IFS=").first
    assert script.locator("br").count() == 2
    assert script.inner_text().count("\n") == 2


def test_hostile_answers_are_shown_and_not_obeyed(page: Page, hostile_site: Path) -> None:
    """Hostile text adds no element, opens no dialog, and puts no hidden or direction character into the page."""
    complaints: list[str] = []
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    with site_server(hostile_site) as address:
        for number in range(0, 18, 4):
            page.goto(f"{address}{PAGE}?a=attack-{number:02}&b=attack-{number + 1:02}")
            figures(page)
            names = page.locator(".compared").evaluate(
                "place => [...new Set([...place.querySelectorAll('*')].map(node => node.localName))]"
            )
            assert set(names) <= OURS
            text = page.locator("#tasks").evaluate("table => table.textContent")
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]", text)
    assert complaints == []


OURS = set(
    re.findall(
        r"\w+",
        "a abbr b bdi br button caption code dd div dl dt form h2 input label option output p select small span "
        "table tbody td th thead tr ul",
    )
)


def test_without_scripts_every_system_stands_beside_the_best_of_its_group(
    chromium: Browser, small_address: str
) -> None:
    """Without scripts the form is hidden, because it could not be used."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(small_address + PAGE)
    assert page.locator("#pairs tbody tr").count() == 5
    assert not page.locator("form.compare").is_visible()
    assert page.locator("noscript pre").first.is_visible()
    context.close()


def test_the_browser_hides_what_the_pages_hide(page: Page, small_address: str) -> None:
    """The pages and the script classify the same characters as hidden."""
    letters = [chr(code) for code in range(0x20, 0xFFFE) if not 0xD800 <= code <= 0xDFFF]
    assigned = [letter for letter in letters if unicodedata.category(letter) != "Cn"]
    texts = ["".join(assigned[start : start + 64]) for start in range(0, len(assigned), 64)]
    texts += ["\u0301a", "\u0301\u0302\u0303", "a\u0301\u0302\u0303", "\U000e0100", "a\u0301 \u0302"]
    page.goto(small_address + PAGE)
    script = """async (texts) => {
      const { HIDDEN } = await import(new URL("../../../assets/compare.js", location.href).href);
      return texts.map((text) => [...text.matchAll(HIDDEN)].map((match) => match.index));
    }"""
    expected = [[at for at, (_, hidden) in enumerate(classify(text)) if hidden] for text in texts]
    assert page.evaluate(script, texts) == expected
