"""The local store: one SQLite file that caches evidence, verdicts, scores and text metrics under their cache keys.

A record is stored completely or not at all, even if the process is killed. A cache key covers all inputs of its record,
so the content of a stored record never changes. The file may be deleted at any time. Then the next `bashboard score`
computes the records again. The content of the file is not published.

Evidence is stored with its origin: the container, the start time of the container, and the number of the execution in
this container. If a submission attacked the sandbox, `remove` can thus delete the evidence from the same container.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import TypeAdapter

from evaluator.errors import InfraError, UsageError
from evaluator.records import Evidence, Verdict

if TYPE_CHECKING:
    from evaluator.sandbox.worker import ExecutionOrigin

LAYOUT: Final = 3
"""Version of the table layout. A store with another version is emptied and created again."""

_TABLES: Final = {
    "evidence": "(key TEXT, run INTEGER, record BLOB, container TEXT, started REAL, position INTEGER, stored REAL, "
    "PRIMARY KEY (key, run)) WITHOUT ROWID",
    "removed": "(key TEXT PRIMARY KEY) WITHOUT ROWID",
    "verdicts": "(key TEXT PRIMARY KEY, suite TEXT, task TEXT, command TEXT, parts TEXT, record TEXT) WITHOUT ROWID",
    "scores": "(key TEXT PRIMARY KEY, score REAL) WITHOUT ROWID",
    "figures": "(key TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID",
    "images": "(reference TEXT PRIMARY KEY, fingerprint TEXT) WITHOUT ROWID",
}
_FAILURES: Final = "CREATE TABLE IF NOT EXISTS failures (key TEXT, run INTEGER, reason TEXT, PRIMARY KEY (key, run))"
"""Stores of this layout existed before this table, so it is created separately."""

_INDEX: Final = "CREATE INDEX verdicts_by_command ON verdicts (suite, task, command)"
_BATCH: Final = 500
_WAIT_S: Final = 60
"""Seconds that a process waits for another process's write."""

_EVIDENCE: Final = TypeAdapter(Evidence)
_VERDICT: Final = TypeAdapter(Verdict)
_VERDICTS: Final = TypeAdapter(list[Verdict])

RunKey = tuple[str, int]
"""An evidence key and the number of the run: 0 for the first, 1 for the second, which starts some time later."""


class JudgedVerdict(NamedTuple):
    """A verdict with the parts of its cache key. If two verdicts on a command differ, their parts show the cause."""

    verdict: Verdict
    parts: Mapping[str, str]


class StoredRun(NamedTuple):
    """A stored execution of a command. `position` is its number among the executions in the same container.

    `started` is the start time of the container. Times are in seconds since 1970. `container` is empty if the container
    is not known, for example for imported evidence.
    """

    run: RunKey
    container: str
    started: float
    position: int
    stored: float


@contextlib.contextmanager
def store_in_use(path: Path, *, alone: bool = False) -> Iterator[None]:
    """Hold a lock on the folder of the store at `path`. The lock is shared or, if `alone` is true, exclusive.

    The lock is released at the end of the `with` block. A folder that does not exist and cannot be made needs no lock.
    Raises UsageError if another process holds a conflicting lock.
    """
    with contextlib.ExitStack() as stack:
        if not path.parent.exists() and not is_writable(path):
            yield
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            user = "another command, such as `bashboard score`," if alone else "`bashboard quarantine`"
            raise UsageError(f"{path}: {user} uses this store; run the same command again when it has ended") from None
        except OSError as error:
            raise InfraError(f"{path}: cannot open the folder of the store: {error.strerror}") from error
        yield


def is_writable(path: Path) -> bool:
    """Return whether this process may write a file, or make it in the nearest folder above it that exists."""
    existing = [place for place in (path, *path.parents) if place.exists()][: 2 if path.exists() else 1]
    return all(os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids) for place in existing)


class Store:
    """The cache of evidence, verdicts, scores and text metrics on this machine.

    Only one process writes at a time. Other processes wait for at most a minute. A store that cannot be written is
    opened for reading, or is empty if there is none. It drops what can be computed again, and refuses evidence.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_only = not is_writable(path)
        with self._map_errors("open the store"):
            if self._read_only:
                self._database = self._open_to_read()
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
            self._enable_write_ahead_log()
            self._database.execute("PRAGMA synchronous=NORMAL")
            if self._layout() != LAYOUT:
                self._create_tables()
            self._database.execute(_FAILURES)

    def _open_to_read(self) -> sqlite3.Connection:
        """Open the database without its write-ahead log, which needs a writable folder, or an empty one in memory."""
        if self.path.exists():
            database = sqlite3.connect(f"{self.path.absolute().as_uri()}?immutable=1", uri=True)
            if database.execute("PRAGMA user_version").fetchone() == (LAYOUT,):
                return database
        database = sqlite3.connect(":memory:")
        for table, columns in _TABLES.items():
            database.execute(f"CREATE TABLE {table} {columns}")
        database.execute(_FAILURES)
        return database

    def require_writable(self) -> None:
        """Raise InfraError if this store cannot be written."""
        if self._read_only:
            raise InfraError(
                f"{self.path}: the store is read-only, so no execution can be kept; work in a folder that you can write"
            )

    def _enable_write_ahead_log(self) -> None:
        """Switch the database to write-ahead logging. Try again while another process switches at the same time."""
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    @contextlib.contextmanager
    def _map_errors(self, action: str) -> Iterator[None]:
        """Convert an error of the database or file system in the `with` block to an InfraError with advice."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise InfraError(
                f"{self.path}: cannot {action}: {error}; it is only a cache: make room on the disk or delete it"
            ) from error

    def _layout(self) -> int:
        (layout,) = self._database.execute("PRAGMA user_version").fetchone()
        return int(layout)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._map_errors("write to the store"), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            yield

    def _create_tables(self) -> None:
        with self._transaction():
            if self._layout() == LAYOUT:  # another process has created the tables
                return
            for table, columns in _TABLES.items():
                self._database.execute(f"DROP TABLE IF EXISTS {table}")
                self._database.execute(f"CREATE TABLE {table} {columns}")
            self._database.execute(_INDEX)
            self._database.execute(f"PRAGMA user_version={LAYOUT}")

    def close(self) -> None:
        """Close the database file."""
        self._database.close()

    def _rows(self, query: str, values: Sequence[str]) -> list[Any]:
        # even reading needs disk space, since SQLite creates the index of the write-ahead log
        with self._map_errors("read the store"):
            return self._database.execute(query, values).fetchall()

    def _select(self, columns: str, table: str, keys: Iterable[str]) -> Iterator[Any]:
        """Yield a table's rows with these cache keys. Query in batches: SQLite limits the parameters of a query."""
        iterator = iter(keys)
        while batch := list(islice(iterator, _BATCH)):
            marks = ",".join("?" * len(batch))
            yield from self._rows(f"SELECT {columns} FROM {table} WHERE key IN ({marks})", batch)  # noqa: S608

    def known_runs(self, keys: Iterable[str]) -> set[RunKey]:
        """Return the stored executions for these evidence keys, each as its key and number (0 for the first run)."""
        return {(key, run) for key, run in self._select("key, run", "evidence", keys)}

    def evidence(self, runs: Iterable[RunKey]) -> dict[RunKey, Evidence]:
        """Return the stored evidence of these executions."""
        requested = set(runs)
        rows = self._select("key, run, record", "evidence", {key for key, _ in requested})
        return {
            (key, run): _EVIDENCE.validate_json(zlib.decompress(record))
            for key, run, record in rows
            if (key, run) in requested
        }

    def add_evidence(self, run: RunKey, evidence: Evidence, origin: ExecutionOrigin | None = None) -> None:
        """Store the evidence of one execution with its origin. If evidence of this execution exists, do nothing."""
        self.require_writable()
        record = zlib.compress(evidence.to_json().encode(), 1)
        place = (origin.container, origin.started.timestamp(), origin.position) if origin else ("", 0.0, 0)
        with self._map_errors("write to the store"):
            self._database.execute(
                "INSERT OR IGNORE INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?)", (*run, record, *place, time.time())
            )

    def failures(self, runs: Iterable[RunKey]) -> dict[RunKey, str]:
        """Return the reason of the latest failure of each of these executions, if our machinery failed in it."""
        requested = set(runs)
        rows = self._select("key, run, reason", "failures", {key for key, _ in requested})
        return {(key, run): reason for key, run, reason in rows if (key, run) in requested}

    def set_failure(self, run: RunKey, reason: str) -> None:
        """Store the reason why our machinery failed in an execution. The reason counts until evidence is stored."""
        self.require_writable()
        with self._map_errors("write to the store"):
            self._database.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", (*run, reason))

    def digest(self) -> str:
        """Return the digest of everything that a board depends on: evidence, verdicts, failures and fingerprints.

        Scores and text metrics follow from the other inputs of a board, so they are left out.
        """
        queries = (
            "SELECT key, run, stored FROM evidence",
            "SELECT key, record FROM verdicts",
            "SELECT key, run, reason FROM failures ORDER BY key, run",
            "SELECT reference, fingerprint FROM images",
        )
        state = hashlib.sha256()
        with self._map_errors("read the store"):
            for query in queries:
                for row in self._database.execute(query):
                    state.update(f"{row}\n".encode())
        return state.hexdigest()

    def runs(self) -> list[StoredRun]:
        """Return every stored execution, without its evidence."""
        rows = self._rows("SELECT key, run, container, started, position, stored FROM evidence", ())
        return [StoredRun((key, run), *origin) for key, run, *origin in rows]

    def remove(self, runs: Iterable[RunKey], make_again: Iterable[str]) -> None:
        """Remove the evidence of these executions, and all verdicts and text metrics.

        All verdicts are removed, because a verdict does not name the evidence on which it depends. `make_again` holds
        the keys of evidence for which the commands must run again. `removed` returns these keys later. If an error
        occurs, nothing is removed.
        """
        self.require_writable()
        with self._transaction():
            self._database.executemany("INSERT OR IGNORE INTO removed VALUES (?)", ((key,) for key in make_again))
            self._database.executemany("DELETE FROM evidence WHERE key = ? AND run = ?", runs)
            self._database.execute("DELETE FROM verdicts")
            self._database.execute("DELETE FROM figures")

    def removed(self) -> set[str]:
        """Return the keys of evidence that `remove` has deleted and that must be made again."""
        return {key for (key,) in self._rows("SELECT key FROM removed", ())}

    def forget_removed(self) -> None:
        """Delete the list of keys that `removed` returns. Call this when the evidence has been made again."""
        self.require_writable()
        with self._transaction():
            self._database.execute("DELETE FROM removed")

    def verdicts(self, keys: Iterable[str]) -> dict[str, Verdict]:
        """Return the stored verdicts for these cache keys."""
        records = dict(self._select("key, record", "verdicts", keys))
        return dict(zip(records, _VERDICTS.validate_json(f"[{','.join(records.values())}]"), strict=True))

    def earlier(self, suite: str, task: str, command: str) -> list[JudgedVerdict]:
        """Return all stored verdicts on a command for a task. Each verdict has its own cache key."""
        query = "SELECT record, parts FROM verdicts WHERE suite = ? AND task = ? AND command = ? ORDER BY key"
        rows = self._rows(query, (suite, task, command))
        return [JudgedVerdict(_VERDICT.validate_json(record), json.loads(parts)) for record, parts in rows]

    def add_verdicts(self, verdicts: Sequence[JudgedVerdict]) -> None:
        """Store these verdicts. If an error occurs, store none of them."""
        if self._read_only:
            return
        rows = [
            (verdict.key, verdict.suite, verdict.task, verdict.command, json.dumps(parts), verdict.to_json())
            for verdict, parts in verdicts
        ]
        with self._transaction():
            self._database.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?)", rows)

    def scores(self, keys: Iterable[str]) -> dict[str, float]:
        """Return a mapping from cache keys to stored scores. A key without a stored score is missing."""
        return dict(self._select("key, score", "scores", keys))

    def add_scores(self, scores: Mapping[str, float]) -> None:
        """Store these scores. If an error occurs, store none of them."""
        if self._read_only:
            return
        with self._transaction():
            self._database.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", scores.items())

    def figures(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the stored text metrics for these cache keys, each as JSON."""
        return dict(self._select("key, record", "figures", keys))

    def add_figures(self, figures: Mapping[str, str]) -> None:
        """Store these text metrics in JSON form. If an error occurs, store none of them."""
        if self._read_only:
            return
        with self._transaction():
            self._database.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?)", figures.items())

    def fingerprint(self, image: str) -> str | None:
        """Return the last stored fingerprint of a container image, or None if no fingerprint is stored."""
        rows = self._rows("SELECT fingerprint FROM images WHERE reference = ?", (image,))
        return rows[0][0] if rows else None

    def set_fingerprint(self, image: str, fingerprint: str) -> None:
        """Store a container image's fingerprint, so that cache keys can be computed without the engine."""
        if self._read_only:
            return
        with self._map_errors("write to the store"):
            self._database.execute("INSERT OR REPLACE INTO images VALUES (?, ?)", (image, fingerprint))
