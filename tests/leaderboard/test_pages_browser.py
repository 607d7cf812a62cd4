"""The pages behind the board in a real browser: filters in links, rows with addresses, copied commands, paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from evaluator.leaderboard.build import site_server
from evaluator.pipeline.benchmarks.synthetic_boards import drawn_board

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

SUBMISSION = "board/core/submissions/system-0004/"
TASK = "board/core/tasks/text-000/"


LONG = drawn_board(2, 240, candidates=2)


@pytest.fixture(scope="module")
def long_address(build: Any) -> Iterator[str]:
    with site_server(build("long", LONG)) as address:
        yield address


@pytest.fixture
def page(chromium: Browser, small_address: str) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=small_address.rstrip("/"))
    yield context.new_page()
    context.close()


def test_a_failure_leads_to_its_verdicts(page: Page, small_address: str) -> None:
    """The link filters the table by verdict and step, and the numbers agree."""
    page.goto(small_address + SUBMISSION)
    link = page.locator(".fails a").first
    step, count = re.fullmatch(r"(\w+) (\d+)", link.inner_text()).groups()  # type: ignore[union-attr]
    link.click()
    page.locator("#tasks-caption").wait_for()
    rows = page.locator("#tasks tbody tr")
    expect(rows).to_have_count(int(count))
    assert set(rows.locator(".step").all_inner_texts()) == {step}
    assert page.get_by_role("combobox", name="What decided").input_value() == step


def test_a_topic_leads_to_its_verdicts(page: Page, small_address: str) -> None:
    page.goto(small_address + SUBMISSION)
    page.locator(".strip a", has_text="archives").click()
    rows = page.locator("#tasks tbody tr")
    expect(rows).to_have_count(2)
    assert set(rows.locator("td.topic").all_inner_texts()) == {"archives"}


def test_a_row_has_an_address(page: Page, small_address: str) -> None:
    page.goto(f"{small_address}{SUBMISSION}#scripts-007")
    row = page.locator("tr:target")
    assert row.get_attribute("id") == "scripts-007"
    assert row.locator(".instruction").is_visible()
    header = page.locator(".md-header").bounding_box()
    box = row.bounding_box()
    assert box
    assert header
    assert header["height"] <= box["y"] < 900


def test_other_candidates_are_fetched_when_their_list_is_opened(page: Page, small_address: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(small_address + SUBMISSION)
    row = page.locator("#tasks tbody tr").first
    summary = row.get_by_text("2 other candidates")
    assert not [url for url in requests if url.endswith(".jsonl.gz")]
    summary.click()
    expect(row.locator("details.others li")).to_have_count(2)
    assert [item.get_attribute("value") for item in row.locator("details.others li").all()] == ["2", "3"]
    assert [url for url in requests if url.endswith("system-0004.jsonl.gz")]


def test_other_candidates_that_cannot_be_fetched_leave_a_link_and_another_try(page: Page, small_address: str) -> None:
    page.goto(small_address + SUBMISSION)
    page.route("**/*.jsonl.gz", lambda route: route.abort())
    others = page.locator("#tasks tbody tr").first.locator("details.others")
    others.locator("summary").click()
    link = others.get_by_role("link", name="All candidates (they could not be fetched")
    assert (link.get_attribute("href") or "").endswith("board/core/submissions/system-0004.jsonl.gz")
    page.unroute("**/*.jsonl.gz")
    others.locator("summary").click()
    others.locator("summary").click()
    expect(others.locator("li")).to_have_count(2)
    assert others.get_by_role("link").count() == 0


def test_the_address_of_a_late_row_shows_it(page: Page, long_address: str) -> None:
    """A table of 240 tasks shows 100 rows. The address of row 230 shows all rows that it needs, and scrolls to it."""
    page.goto(f"{long_address}board/core/submissions/system-0001/")
    rows = page.locator("#tasks tbody tr")
    expect(rows).to_have_count(100)
    last = LONG.tasks[229].id
    page.goto(f"{long_address}board/core/submissions/system-0001/?again#{last}")
    expect(rows).to_have_count(240)
    heads = page.locator("#tasks thead th").first.bounding_box()
    box = page.locator(f"#{last}").bounding_box()
    assert heads
    assert box
    assert heads["y"] + heads["height"] <= box["y"] < 200
    assert page.locator(f"#{last} button.copy").count() == 1


def test_a_command_is_copied_as_it_was_given(page: Page, small_address: str) -> None:
    """The marks of line ends are not copied."""
    page.goto(small_address + TASK.replace("text-000", "scripts-007"))
    reference = page.locator("#reference-1")
    reference.hover()
    reference.get_by_role("button", name="copy the command").click()
    reference.get_by_text("copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("ls -1t backups/ | tail -n +4 | while IFS= read -r name; do\n  rm --")
    assert "↵" not in text


def test_a_command_that_the_page_cuts_or_rewrites_has_no_button(page: Page, hostile_address: str) -> None:
    """A button must not copy other text than the command. A cut or rewritten command is in the downloads."""
    page.goto(f"{hostile_address}board/core/tasks/text-000/")
    codes = page.locator("#attempts code.command")
    assert codes.count()
    for code in codes.all():
        marks = set(code.locator(".mark").all_inner_texts()) - {"↵"}
        if code.locator(".cut").count() or marks:
            assert code.locator("xpath=following-sibling::button").count() == 0


def test_the_system_column_of_a_task_is_narrow_and_the_candidate_wide(page: Page, small_address: str) -> None:
    page.goto(small_address + TASK)
    names = page.locator("#attempts tbody th").first.bounding_box()
    given = page.locator("#attempts tbody td.given").first.bounding_box()
    assert names
    assert given
    assert names["width"] <= 18 * 20 < given["width"]


def test_the_instruction_is_the_first_and_largest_text_of_a_task(page: Page, small_address: str) -> None:
    page.goto(small_address + TASK)
    heading = page.locator("h1 .instruction")
    assert heading.inner_text().startswith("Print the number of lines")
    assert float(heading.evaluate("node => parseFloat(getComputedStyle(node).fontSize)")) > 24


def test_without_scripts_every_verdict_is_there_and_no_button(chromium: Browser, small_address: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(small_address + SUBMISSION)
    assert page.locator("#tasks tbody tr").count() == 16
    assert page.locator("button.copy").count() == 0
    page.locator("details.fold summary").first.click()
    assert page.locator("details.fold dl").first.is_visible()
    context.close()


def test_a_sign_is_drawn_and_not_a_letter_of_a_font(page: Page, small_address: str) -> None:
    page.goto(small_address + SUBMISSION)
    drawn = page.locator(".verdict").evaluate_all(
        "nodes => nodes.map((node) => getComputedStyle(node, '::before'))"
        ".map(({ content, maskImage }) => [content, maskImage.startsWith('url(')])"
    )
    assert drawn
    assert all(has_mask for _, has_mask in drawn)
    assert {content for content, _ in drawn} == {'""'}


def test_in_forced_colours_shares_keep_their_fill(chromium: Browser, small_address: str) -> None:
    context = chromium.new_context(forced_colors="active")
    page = context.new_page()
    page.goto(small_address + SUBMISSION)
    adjust = "nodes => nodes.map((node) => getComputedStyle(node).forcedColorAdjust)"
    assert set(page.locator(".strip-bar, .interval i, .interval b").evaluate_all(adjust)) == {"none"}
    context.close()


def test_on_paper_a_submission_has_no_controls_and_stays_in_its_width(page: Page, small_address: str) -> None:
    page.goto(small_address + SUBMISSION)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 1000, "height": 1400})
    for name in (".md-header", ".board-filter", "button.copy", "a.anchor"):
        assert not page.locator(name).first.is_visible()
    assert page.locator("#tasks").evaluate("table => table.getBoundingClientRect().right <= innerWidth")


def test_back_to_top_covers_no_head_of_a_column(page: Page, small_address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(small_address + SUBMISSION)
    page.evaluate("scrollTo(0, 3000)")
    page.wait_for_timeout(50)
    page.evaluate("scrollTo(0, 2500)")
    button = page.locator(".md-top")
    button.wait_for()
    box = button.bounding_box()
    assert box
    assert box["y"] > 700


def test_a_missing_page_leads_on(page: Page, small_address: str) -> None:
    page.goto(f"{small_address}404.html")
    links = page.locator("#content ul a").evaluate_all("links => links.map(({ href }) => new URL(href).pathname)")
    assert links == ["/", "/tasks/", "/scoring/", "/submit/"]
    box = page.locator("h1").bounding_box()
    assert box
    assert box["x"] < 100
