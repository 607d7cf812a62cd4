"""This module makes the documents of submissions and tasks, the parts of a board whose number grows with it.

Each submission and each task is a unit: its page and its downloads. A unit depends on the board's facts (everything but
results) and on its own results. So units are made by several processes, and a unit with the same key as in the last
build is not made again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from evaluator.leaderboard.board import BoardIndex, SuiteBoard, index_board
from evaluator.leaderboard.board_answers import compressed
from evaluator.leaderboard.documents import Document, page, renamed_file, write_document
from evaluator.leaderboard.page_head import submission_head, task_head
from evaluator.leaderboard.quote_part import render_badge
from evaluator.leaderboard.result_text import ResultText
from evaluator.leaderboard.site_documents import quoting_documents
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.leaderboard.submission_page import render_submission
from evaluator.leaderboard.task_page import render_task
from evaluator.records import Record

Kind = Literal["submissions", "tasks"]
KINDS: Final[tuple[Kind, ...]] = ("submissions", "tasks")


class Unit(NamedTuple):
    """One submission or task of a suite. `key` is the digest of everything that its documents depend on."""

    suite: str
    kind: Kind
    name: str
    key: str

    @property
    def path(self) -> str:
        """Return the path of the unit's page, which is unique on the site."""
        return f"{self.suite}/{self.kind}/{self.name}"


def units_of(index: BoardIndex, facts: SiteFacts, code: str) -> Iterator[Unit]:
    """Yield the units of a board. `code` is the digest of the programs that make them.

    Of `facts`, units depend on the address alone.
    """
    board = index.board
    shared = _digest(code, facts.address, board_digest(board))
    digests = {row.submission: index.source.digest(row.submission) for row in board.standings}
    everything = _digest(shared, *digests.values())
    for slug, digest in digests.items():
        yield Unit(board.name, "submissions", slug, _digest(shared, digest))
    for task in board.tasks:
        yield Unit(board.name, "tasks", task.id, everything)


def board_digest(board: SuiteBoard) -> str:
    """Return the digest of everything on a board but its results."""
    state = hashlib.sha256()
    for piece in _canonical(replace(board, results=(), stored=None)):
        state.update(piece)
    return state.hexdigest()


def _canonical(value: object) -> Iterator[bytes]:
    """Yield bytes that are equal for equal values and differ for different ones."""
    if isinstance(value, Record):
        yield value.model_dump_json().encode()
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (b"{", *_canonical(key), b":", *_canonical(item))
        yield b"}"
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from (b"[", *_canonical(item))
        yield b"]"
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__.encode()
        for field in fields(value):
            yield from (b"<", *_canonical(getattr(value, field.name)))
    else:
        yield repr(value).encode()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def write_units(
    index: BoardIndex, facts: SiteFacts, units: Sequence[Unit], folder: Path
) -> list[tuple[Unit, list[str]]]:
    """Write the documents of units of one board to `folder`, and return the paths of each unit's files."""
    slugs = {row.submission: row for row in index.board.standings}
    written = []
    for unit in (unit for unit in units if unit.kind == "submissions"):
        documents = [*submission_documents(index, facts, unit.name)] if unit.name in slugs else []
        written.append((unit, [write_document(folder, document) for document in documents]))
    tasks = [unit for unit in units if unit.kind == "tasks"]
    texts = index.attempts([unit.name for unit in tasks])
    for unit in tasks:
        documents = [*task_documents(index, unit.name, texts.pop(unit.name))]
        written.append((unit, [write_document(folder, document) for document in documents]))
    return written


def submission_documents(index: BoardIndex, facts: SiteFacts, slug: str) -> Iterator[Document]:
    """Yield the page of a submission, the file with all its candidates, its badge, and its card."""
    standing = next(row for row in index.board.standings if row.submission == slug)
    path = f"{index.board.name}/submissions/{slug}"
    part = render_submission(index, standing) + render_badge(index, standing, facts)
    yield from page(path, submission_head(index, standing), part)
    yield from quoting_documents(index, standing, facts)
    yield Document(f"{path}.jsonl.gz", index.source.download(slug))
    yield renamed_file(f"{path}.jsonl", f"{slug}.jsonl.gz")


def task_documents(index: BoardIndex, name: str, attempts: Mapping[str, ResultText]) -> Iterator[Document]:
    """Yield the page of a task and the file with the first candidate of every system, which `attempts` has by slug."""
    suite = index.board.name
    task = next(task for task in index.board.tasks if task.id == name)
    path = f"{suite}/tasks/{name}"
    yield from page(path, task_head(index.board, task), render_task(index.board, task, attempts))
    lines = "".join(f"{text.line(slug, suite)}\n" for slug, text in attempts.items())
    yield Document(f"{path}.jsonl.gz", compressed(lines))
    yield renamed_file(f"{path}.jsonl", f"{name}.jsonl.gz")


def save_boards(boards: Iterable[SuiteBoard], facts: SiteFacts, path: Path) -> None:
    """Write boards without results to a file of this build, for `write_saved_units` in other processes."""
    kept = {board.name: replace(board, results=()) for board in boards}
    path.write_bytes(pickle.dumps((kept, replace(facts, changes=()))))


@lru_cache(maxsize=1)
def _saved_boards(path: Path) -> tuple[Mapping[str, BoardIndex], SiteFacts]:
    boards, facts = pickle.loads(path.read_bytes())  # noqa: S301 - this build wrote the file into its own new folder
    return {name: index_board(board) for name, board in boards.items()}, facts


def write_saved_units(boards: Path, units: Sequence[Unit], folder: Path) -> list[tuple[Unit, list[str]]]:
    """Write the documents of units like `write_units`. `save_boards` wrote the file `boards`."""
    indexes, facts = _saved_boards(boards)
    return write_units(indexes[units[0].suite], facts, units, folder)
