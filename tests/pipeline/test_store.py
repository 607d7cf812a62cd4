"""Tests of the store: it keeps every written row even if a process is killed, and reports a failure in one line."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.errors import InfraError
from evaluator.records import Evidence, Finding, Outcome, Verdict, digest_of
from evaluator.store import LAYOUT, JudgedVerdict, RunKey, Store, store_in_use
from evaluator.testing.evidence import added, evidence
from tests.properties import examples

KEY = digest_of(b"key")
SHOWN = evidence(b"a\xff\n", changes=[added("/srv/x", b"\xfe")], cpu_ms=1.5, wall_ms=2.5)
VERDICT = Verdict(
    key=KEY,
    suite="core",
    task="files-1",
    command=digest_of(b"command"),
    judge="exact",
    judge_version=1,
    finding=Finding(outcome=Outcome.FAIL, place=b"\xff"),
)

WRITER = """
import sys
import textwrap
from pathlib import Path
from evaluator.store import Store
from evaluator.testing.evidence import evidence

store = Store(Path(sys.argv[1]))
name, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    store.add_evidence((f"{name}-{number}", 0), evidence(f"{name} {number}"))
    print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    yield opened
    opened.close()


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(count)], stdout=subprocess.PIPE)


def test_what_was_written_is_there_when_the_store_is_opened_again(path: Path) -> None:
    first = Store(path)
    first.add_evidence((KEY, 0), SHOWN)
    first.add_verdicts([JudgedVerdict(VERDICT, {"judge": "exact 1"})])
    first.set_fingerprint("image:tag", "f" * 64)
    first.close()
    again = Store(path)
    assert again.evidence([(KEY, 0)]) == {(KEY, 0): SHOWN}
    assert again.verdicts([KEY]) == {KEY: VERDICT}
    assert again.earlier("core", "files-1", VERDICT.command) == [(VERDICT, {"judge": "exact 1"})]
    assert again.fingerprint("image:tag") == "f" * 64
    again.close()


@settings(max_examples=examples(40))
@given(st.binary(), st.binary(min_size=1), st.floats(0, 1e9))
def test_evidence_comes_back_as_it_went(printed: bytes, name: bytes, milliseconds: float) -> None:
    shown = evidence(printed, changes=[added(name, printed)], stderr=printed, cpu_ms=milliseconds)
    store = Store(Path(":memory:"))
    store.add_evidence((KEY, 1), shown)
    assert store.evidence([(KEY, 1)]) == {(KEY, 1): shown}
    store.close()


def test_a_key_that_is_not_there_is_left_out(store: Store) -> None:
    store.add_evidence((KEY, 0), SHOWN)
    assert store.evidence([(KEY, 1), ("other", 0)]) == {}
    assert store.verdicts([KEY]) == {}
    assert store.fingerprint("image:tag") is None


def test_the_runs_that_are_known_are_told_apart(store: Store) -> None:
    store.add_evidence((KEY, 1), SHOWN)
    assert store.known_runs([KEY, "other"]) == {(KEY, 1)}


def test_evidence_that_is_there_stays(store: Store) -> None:
    store.add_evidence((KEY, 0), SHOWN)
    store.add_evidence((KEY, 0), evidence("later"))
    assert store.evidence([(KEY, 0)])[KEY, 0] == SHOWN


def test_more_keys_are_asked_for_than_a_query_may_have(store: Store) -> None:
    runs = [(f"key-{number}", 0) for number in range(1201)]
    for run in runs:
        store.add_evidence(run, SHOWN)
    assert store.evidence(runs).keys() == store.known_runs(key for key, _ in runs) == set(runs)


@pytest.mark.slow
def test_two_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    """A store that three processes write at once loses no row, even if they also create the store at once."""
    writers = [start_writer(path, name, 150) for name in ("one", "two", "three")]
    assert [writer.communicate() and writer.returncode for writer in writers] == [0, 0, 0]
    store = Store(path)
    runs = [(f"{name}-{number}", 0) for name in ("one", "two", "three") for number in range(150)]
    assert {run: shown.stdout.data.decode() for run, shown in store.evidence(runs).items()} == {
        (key, 0): key.replace("-", " ") for key, _ in runs
    }
    store.close()


def test_a_new_store_is_opened_by_many_at_once(tmp_path: Path) -> None:
    """Eight threads can open a new store at the same time.

    Without our own wait, SQLite refuses about 1 in 50 of these attempts with the error "database is locked".
    """

    def open_when_all_are_ready(path: Path, barrier: Barrier) -> Mapping[RunKey, Evidence]:
        barrier.wait()
        store = Store(path)
        evidence = store.evidence([(KEY, 0)])
        store.close()
        return evidence

    with ThreadPoolExecutor(8) as pool:
        for number in range(40):
            barrier = Barrier(8)
            opened = [pool.submit(open_when_all_are_ready, tmp_path / f"{number}.db", barrier) for _ in range(8)]
            assert [future.result() for future in opened] == [{}] * 8


def test_a_process_killed_while_writing_loses_nothing_it_had_written(path: Path) -> None:
    writer = start_writer(path, "one", 100_000)
    assert writer.stdout is not None
    told = [int(writer.stdout.readline()) for _ in range(100)]
    os.kill(writer.pid, signal.SIGKILL)
    told += [int(line) for line in writer.communicate()[0].split(b"\n")[:-1]]
    assert writer.returncode == -signal.SIGKILL
    store = Store(path)
    runs = [(f"one-{number}", 0) for number in told]
    assert store.evidence(runs).keys() == set(runs)
    store.add_evidence((KEY, 0), SHOWN)
    store.close()


def test_a_store_is_read_while_another_process_writes(path: Path) -> None:
    store = Store(path)
    store.add_evidence((KEY, 0), SHOWN)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM evidence")
    assert store.evidence([(KEY, 0)]) == {(KEY, 0): SHOWN}
    other.close()
    store.close()


def no_database(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("this is no database, however long it is\n" * 100)


def a_folder(path: Path) -> None:
    path.mkdir(parents=True)


def a_file_above(path: Path) -> None:
    path.parent.write_text("")


def damaged(path: Path) -> None:
    store = Store(path)
    store.close()
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))


Spoil = Callable[[Path], None]


@pytest.mark.parametrize("spoil", [no_database, a_folder, a_file_above, damaged])
def test_a_file_that_is_no_store_is_told_in_one_line_that_says_what_to_do(path: Path, spoil: Spoil) -> None:
    spoil(path)
    with pytest.raises(InfraError) as caught:
        Store(path)
    assert str(path) in str(caught.value)
    assert "delete it" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_store_of_another_layout_is_started_afresh(path: Path) -> None:
    store = Store(path)
    store.add_evidence((KEY, 0), SHOWN)
    store.add_verdicts([JudgedVerdict(VERDICT, {})])
    store.close()
    database = sqlite3.connect(path)
    database.execute("DROP TABLE images")
    database.execute("CREATE TABLE images (otherwise INTEGER)")
    database.execute(f"PRAGMA user_version={LAYOUT + 1}")
    database.close()
    afresh = Store(path)
    assert afresh.evidence([(KEY, 0)]) == {}
    assert afresh.verdicts([KEY]) == {}
    assert afresh.fingerprint("image:tag") is None
    afresh.close()


WRITES = {
    "evidence": """
for number in range(100_000):
    store.add_evidence((f"{number}", 0), evidence(f"{number}"))
""",
    "verdicts": """
store.add_verdicts([JudgedVerdict(verdict.model_copy(update={"key": digest_of(b"%d" % n)}), {}) for n in range(5_000)])
""",
    "fingerprints": """
for number in range(100_000):
    store.set_fingerprint(f"image:{number}", "f" * 64)
""",
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_disk_that_is_full_is_told_in_one_line(path: Path, write: str) -> None:
    """A write to a full disk is reported in one line. A limit of 200 kB for each file simulates the full disk."""
    Store(path).close()
    program = f"""
import resource, sys
from pathlib import Path
from evaluator.errors import InfraError
from evaluator.records import Verdict, digest_of
from evaluator.store import JudgedVerdict, Store
from evaluator.testing.evidence import evidence

resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
store, verdict = Store(Path({str(path)!r})), Verdict.model_validate_json({VERDICT.to_json()!r})
try:
{textwrap.indent(write, "    ")}
except InfraError as error:
    sys.exit(str(error))
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 1
    assert child.stderr.count("\n") == 1
    assert child.stderr.startswith(f"{path}: cannot write to the store")


def test_verdicts_are_kept_all_or_none(path: Path) -> None:
    test_a_disk_that_is_full_is_told_in_one_line(path, WRITES["verdicts"])
    store = Store(path)
    assert store.verdicts(digest_of(b"%d" % number) for number in range(5_000)) == {}
    store.close()


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write from a folder and its files. Root writes anyway, so it becomes another user meanwhile."""
    for place in (folder, *folder.iterdir()):
        place.chmod(0o555 if place.is_dir() else 0o444)
    for above in folder.parents[:-2]:
        above.chmod(above.stat().st_mode | 0o011)
    user = os.geteuid()
    try:
        os.seteuid(user or 65534)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


def test_a_store_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    """What can be computed again is dropped. An execution that could not be kept is refused."""
    path = tmp_path / "state" / "store.sqlite"
    with contextlib.closing(Store(path)) as store:
        store.add_scores({"a": 0.5})
    with read_only(path.parent), store_in_use(path), contextlib.closing(Store(path)) as store:
        assert store.scores(["a"]) == {"a": 0.5}
        store.add_scores({"b": 0.5})
        assert store.scores(["b"]) == {}
        with pytest.raises(InfraError, match="the store is read-only"):
            store.require_writable()
        with pytest.raises(InfraError, match="the store is read-only"):
            store.set_failure(("a", 0), "none")


def test_a_missing_store_that_cannot_be_made_is_empty(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    path = folder / "deep" / "store.sqlite"
    with read_only(folder), store_in_use(path), contextlib.closing(Store(path)) as store:
        assert (store.scores(["a"]), store.failures([("a", 0)]), store.runs()) == ({}, {}, [])
    assert list(folder.iterdir()) == []
