"""A full disk for the store: the error is one line, nothing is corrupt, and the run continues after space is freed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.engine import Engine
from tests.progress_reports import reported_executions
from tests.survival.conftest import Undisturbed
from tests.survival.small_runs import Checkout, finish, workers_of

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount the small disk that is to be full"),
]

DISK = 16 << 20
"""The disk has room for a whole run. The store's write-ahead log grows to 4 MB before it restarts."""

PAGE = os.sysconf("SC_PAGE_SIZE")

Fill = Callable[[int], None]


@pytest.fixture
def fill(checkout: Checkout) -> Iterator[Fill]:
    """A function that leaves a number of bytes free on a small disk, which is mounted for the store's folder."""
    folder = checkout.store.parent
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "small", folder], check=True)
    ballast = folder / "ballast"

    def leave(free: int) -> None:
        ballast.unlink(missing_ok=True)
        disk = os.statvfs(folder)
        with ballast.open("wb") as file:
            file.write(bytes(max(0, disk.f_bavail * disk.f_frsize - free)))

    yield leave
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(0, id="from the start", marks=pytest.mark.soak),
        pytest.param(6, id="before the tables are made", marks=pytest.mark.soak),
        pytest.param(24, id="before the first evidence", marks=pytest.mark.soak),
        pytest.param(100, id="in the middle"),
        pytest.param(200, id="later", marks=pytest.mark.soak),
    ],
)
def test_a_full_disk_is_one_line_and_with_room_it_goes_on(
    undisturbed: Undisturbed, checkout: Checkout, engine: Engine, fill: Fill, pages: int
) -> None:
    """A run on a full disk prints one error line. After space is freed, the next run repeats no earlier execution."""
    fill(pages * PAGE)
    process = checkout.start("score", "--json")
    code, stdout, stderr = finish(process)
    errors = [line for line in stderr.splitlines() if not line.startswith(("executing", "judging", "cores idle"))]
    assert (code, stdout, len(errors)) == (3, "", 1), stderr
    assert errors[0].startswith("bashboard: ")
    assert "make room" in errors[0]
    assert workers_of(engine, process.pid) == []
    fill(DISK)
    before = checkout.executed()
    ended = checkout.run("score", "--json")
    assert (ended.code, ended.stdout) == (0, undisturbed.standings), ended.stderr
    assert checkout.verdicts() == undisturbed.verdicts
    done = reported_executions(ended.stderr)
    assert (before > 0, before + done) == (pages > 24, undisturbed.executed)


def test_a_folder_that_cannot_be_made_is_told(checkout: Checkout) -> None:
    """If the store's folder cannot be made, such as on a read-only disk, one error line names the store."""
    path: Path = checkout.store.parent
    path.write_text("in the way")
    ended = checkout.run("score")
    assert (ended.code, ended.stdout, ended.stderr.count("\n")) == (3, "", 1), ended.stderr
    assert str(checkout.store) in ended.stderr
