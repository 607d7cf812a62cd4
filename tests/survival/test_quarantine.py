"""The quarantine of a submission: only the evidence that this submission may have changed is made again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evaluator.sandbox.image import SuiteImage
from evaluator.testing.checkouts import write_submission
from tests.survival.small_runs import Checkout, finish, small_checkout_of_core

pytestmark = pytest.mark.engine

HONEST = "tfidf-retrieval"
EVIL = {"files-001": ["touch /tmp/evil", "rm -r photos"], "permissions-001": ["echo evil"]}
"""The worlds of these tasks are neither the first nor the last that a run executes."""

TIMES = {"cpu_ms", "wall_ms"}
SEED = 12


class StoredRow(NamedTuple):
    """A row of evidence without its key."""

    evidence: dict[str, Any]
    container: str
    started: float
    position: int


Rows = dict[tuple[str, int], StoredRow]


@contextlib.contextmanager
def database(checkout: Checkout) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(checkout.store, isolation_level=None, timeout=60)) as opened:
        yield opened


def rows(checkout: Checkout) -> Rows:
    """Return the evidence in the store, without its measured times."""
    with database(checkout) as store:
        found = store.execute("SELECT key, run, record, container, started, position FROM evidence").fetchall()
    return {
        (key, run): StoredRow(
            {name: value for name, value in json.loads(zlib.decompress(record)).items() if name not in TIMES}, *origin
        )
        for key, run, record, *origin in found
    }


def removed(checkout: Checkout) -> int:
    """Return the number of evidence keys that were removed and not made again yet."""
    with database(checkout) as store:
        (count,) = store.execute("SELECT count(*) FROM removed").fetchone()
    return int(count)


class Attacked(NamedTuple):
    """A board on which the submission `evil` shared a worker with another one, and the same board without `evil`."""

    checkout: Checkout
    alone: Checkout
    standings: str


def answer_of_honest(root: Path, task: str) -> str:
    lines = map(json.loads, (root / "submissions" / HONEST / "core.jsonl").read_text().splitlines())
    answers = {line["task"]: line["candidates"] for line in lines}
    return str(answers[task][0]["command"])


@pytest.fixture(scope="module")
def scored(image: SuiteImage, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    root = tmp_path_factory.mktemp("attacked")
    project = small_checkout_of_core(root)
    for folder in project.submission_folders():
        if folder.name != HONEST:
            shutil.rmtree(folder)
    alone = Checkout(root).copied(tmp_path_factory.mktemp("alone") / "board")
    answers = EVIL | {"files-001": [*EVIL["files-001"], answer_of_honest(root, "files-001")]}
    write_submission(root, "evil", answers, suite="core", version=project.suite("core").manifest.version)
    attacked = Checkout(root)
    assert attacked.run("score", "--workers", "1").code == 0
    ended = alone.run("score", "--json", "--workers", "1")
    assert ended.code == 0, ended.stderr
    return Attacked(attacked, alone, ended.stdout)


@pytest.fixture
def attacked(scored: Attacked, tmp_path: Path) -> Attacked:
    """A copy of the attacked board with its store, which the test may change."""
    shutil.copytree(scored.checkout.root, tmp_path / "copy")
    return scored._replace(checkout=Checkout(tmp_path / "copy"))


def assert_taken_out(attacked: Attacked) -> None:
    """Assert that the board is equal to the board without the submission.

    The evidence itself may differ in device numbers or processor times, which judges ignore.
    """
    checkout = attacked.checkout
    assert removed(checkout) == 0
    assert rows(checkout).keys() == rows(attacked.alone).keys()
    assert checkout.verdicts() == attacked.alone.verdicts()
    assert checkout.run("standings", "--json") == (0, attacked.standings, "")


def test_what_ran_later_on_its_worker_is_made_again_and_nothing_else(attacked: Attacked) -> None:
    checkout, before, honest = attacked.checkout, rows(attacked.checkout), rows(attacked.alone).keys()
    planned = json.loads(checkout.run("quarantine", "evil", "--dry-run", "--json").stdout)
    shared = {(each["key"], each["run"]) for each in planned["touched"] if each["reason"] == "shared"}
    own = before.keys() - honest
    containers = {before[run].container for run in own | shared}
    first = min(before[run].position for run in own | shared)
    # while a job sleeps, another container of the core executes jobs, and all its runs are touched
    is_alone = len(containers) == 1
    later = {
        run
        for run, row in before.items()
        if run in honest and not (is_alone and row.container in containers and row.position <= first)
    }
    assert own
    assert shared
    assert later - shared
    assert before.keys() - own - later - shared or not is_alone
    assert planned["own_runs"] == len(own)
    assert {(each["key"], each["run"]) for each in planned["touched"]} == later | shared
    ended = checkout.run("quarantine", "evil", "--yes", "--json", "--workers", "1")
    assert ended.code == 0, ended.stderr
    assert json.loads(ended.stdout)["made_again"] == len(later | shared)
    after = rows(checkout)
    assert {run for run in after if after[run] != before[run]} == later | shared
    newest = max(row.started for row in before.values())
    assert all(after[run].started > newest for run in later | shared)
    assert_taken_out(attacked)


def test_false_evidence_is_replaced(attacked: Attacked) -> None:
    """The quarantine replaces falsified evidence.

    The test falsifies the later half of the evidence, as a leak from the submission's commands could do.
    """
    checkout, honest = attacked.checkout, rows(attacked.checkout)
    with database(checkout) as store:
        store.execute(
            "UPDATE evidence SET record = (SELECT record FROM evidence ORDER BY position LIMIT 1) "
            "WHERE position > (SELECT max(position) / 2 FROM evidence)"
        )
        store.execute("DELETE FROM verdicts")
    false = {run: row.evidence for run, row in rows(checkout).items() if row.evidence != honest[run].evidence}
    assert false
    assert checkout.run("score", HONEST, "--json").stdout != attacked.standings
    assert checkout.run("quarantine", "evil", "--yes").code == 0
    after = rows(checkout)
    assert [run for run in false.keys() & after.keys() if after[run].evidence == false[run]] == []
    assert_taken_out(attacked)


def digest(checkout: Checkout) -> dict[str, str]:
    """Return the SHA-256 of every file in the store's folder and in the submissions."""
    files = [*checkout.store.parent.rglob("*"), *(checkout.root / "submissions").rglob("*")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()}


def test_an_unknown_submission_is_refused(attacked: Attacked) -> None:
    before = digest(attacked.checkout)
    ended = attacked.checkout.run("quarantine", "evill", "--yes")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("bashboard: no submission is named 'evill'; did you mean evil?")
    assert digest(attacked.checkout) == before


def test_a_running_score_is_not_disturbed_and_a_killed_one_is_no_hindrance(attacked: Attacked) -> None:
    checkout = attacked.checkout
    with database(checkout) as store:
        store.execute("DELETE FROM evidence")
        store.execute("DELETE FROM verdicts")
    process = checkout.start("score", "--workers", "1")
    checkout.wait_for_evidence(process, 5)
    process.send_signal(signal.SIGSTOP)
    before = digest(checkout)
    for arguments in (("--yes",), ("--dry-run",)):
        ended = checkout.run("quarantine", "evil", *arguments)
        assert (ended.code, ended.stdout) == (2, "")
        assert (
            "such as `bashboard score`, uses this store; run the same command again when it has ended" in ended.stderr
        )
    assert digest(checkout) == before
    process.kill()
    finish(process)
    assert checkout.run("quarantine", "evil", "--yes", "--workers", "1").code == 0
    assert "evil" not in checkout.run("score", "--workers", "1").stdout
    assert_taken_out(attacked)


def test_killed_while_runs_are_made_again_a_second_call_finishes(attacked: Attacked) -> None:
    checkout = attacked.checkout
    complete = len(rows(checkout))
    process = checkout.start("quarantine", "evil", "--yes", "--workers", "1")
    deadline = time.monotonic() + 120
    while checkout.executed() >= complete:
        assert time.monotonic() < deadline
    checkout.wait_for_evidence(process, checkout.executed() + 5)
    process.kill()
    finish(process)
    assert removed(checkout)
    assert len(rows(checkout)) < len(rows(attacked.alone))
    assert "evil" not in checkout.run("standings", "--json").stdout
    ended = checkout.run("quarantine", "evil", "--yes", "--workers", "1")
    assert ended.code == 0, ended.stderr
    assert_taken_out(attacked)


@pytest.mark.soak
def test_killed_at_any_moment_a_second_call_finishes(scored: Attacked, tmp_path: Path) -> None:
    draw = random.Random(SEED)  # noqa: S311 - random times, no secret
    for number in range(10):
        shutil.copytree(scored.checkout.root, tmp_path / str(number))
        checkout = Checkout(tmp_path / str(number))
        process = checkout.start("quarantine", "evil", "--yes")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.5, 8))
        process.kill()
        finish(process)
        assert checkout.run("quarantine", "evil", "--yes").code == 0
        assert_taken_out(scored._replace(checkout=checkout))
