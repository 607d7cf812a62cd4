"""A whole study: the command, real containers, and a browser that is controlled only by its keyboard."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from evaluator.records import Task
from evaluator.sandbox.image import SuiteImage
from evaluator.sandbox.leftovers import clear_up
from evaluator.study.ledger import read_measurements
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import copy_checkout

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.engine, pytest.mark.browser]

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("bashboard")
NAMES = ("files-002", "files-003", "files-010")
"""Tasks of the world `workshop`, which the tests build in one variant."""
HOSTILE = "printf '\\033[2J<img src=x onerror=alert(1)>\\u202eabc\\n'; exit 3"


class Held(NamedTuple):
    """A study that runs in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    out: Path


@pytest.fixture(scope="module")
def held(image: SuiteImage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    """A running study of three tasks, for which the image exists already.

    A test kills the study's process, so the fixture removes the workers afterwards.
    """
    root = tmp_path_factory.mktemp("study")
    project = copy_checkout(ROOT, root, lambda task: task["id"] in NAMES)
    world = root / "fixtures" / "core" / "worlds" / "workshop" / "world.toml"
    head, first, *_ = world.read_text().split("[[variants]]")
    lines = (head + "[[variants]]" + first).splitlines(keepends=True)
    world.write_text("".join(line for line in lines if not line.startswith(("fresh", "order"))))
    out = root / "measurements.jsonl"
    chosen = [word for name in NAMES for word in ("--task", name)]
    with (
        (root / "complaints").open("w+") as complaints,
        subprocess.Popen(
            [COMMAND, "study", *chosen, "--tasks", "2", "--port", "0", "--out", str(out)],
            cwd=root,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        try:
            address = process.stdout.readline().strip() if process.stdout else ""
            assert address, (root / "complaints").read_text()
            yield Held(process, address, out)
        finally:
            process.kill()
    clear_up(project.store_path.parent / "workers")


class Watched(NamedTuple):
    """A page, the URLs of its requests, and its errors, dialogs and console messages."""

    page: Page
    requests: list[str]
    complaints: list[str]


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    found = Watched(context.new_page(), [], [])
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on("dialog", lambda dialog: found.complaints.append(dialog.message))
    found.page.on("console", lambda message: found.complaints.append(message.text))
    yield found
    context.close()


def type_line(page: Page, text: str) -> None:
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")


def task_shown(page: Page, suite: Suite) -> Task:
    instruction = page.locator("#instruction").inner_text()
    return next(task for task in suite.tasks if task.nl == instruction)


def solve(page: Page, suite: Suite) -> str:
    """Enter the first reference of the shown task, go on to the next task, and return the id of the solved one."""
    task = task_shown(page, suite)
    type_line(page, task.references[0].decode())
    page.locator("#next").wait_for()
    heading = page.locator("#progress").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("before => document.getElementById('progress').innerText != before", arg=heading)
    return task.id


def test_two_tasks_are_answered_by_keyboard_and_outlive_a_kill(held: Held, watched: Watched, core: Suite) -> None:
    """A warm-up and two tasks are solved by keyboard, and their two measurements are kept when the server is killed.

    The page sends no request to another host.
    """
    page: Any = watched.page
    page.goto(held.address)
    page.keyboard.press("Enter")
    page.locator("#command").wait_for()
    type_line(page, HOSTILE)
    page.locator("#log .bad").wait_for()
    printed = page.locator("#log .printed").inner_text()
    assert printed == "\\x1b[2J<img src=x onerror=alert(1)>\\u202eabc\n(exit status 3)"
    page.keyboard.press("ArrowUp")
    assert page.locator("#command").input_value() == HOSTILE
    page.keyboard.press("Control+A")
    solve(page, core)
    first = solve(page, core)
    second = task_shown(page, core)
    type_line(page, second.references[-1].decode())
    page.locator("#log .good").wait_for()
    held.process.kill()
    held.process.wait()
    lines = read_measurements([held.out])
    assert [(line.task, line.passed) for line in lines] == [(first, True), (second.id, True)]
    assert len({line.participant for line in lines}) == 1
    assert all(0 < line.seconds < 60 for line in lines)
    page.keyboard.press("Enter")
    page.locator("#trouble").wait_for()
    assert "Your results so far are saved." in page.locator("#trouble").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [url for url in watched.requests if not url.startswith((held.address, "data:"))] == []
    assert [text for text in watched.complaints if "ERR_CONNECTION_REFUSED" not in text] == []
