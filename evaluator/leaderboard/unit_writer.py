"""Write the pages of submissions and tasks, in several processes, and keep those of the last build that are the same.

The output folder lists the keys of its units (see `page_units`) in `.units.json`. A unit that has the same key in the
next build is not made again: its files are linked from the old folder.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import Final

from evaluator.files import link_file
from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.page_units import KINDS, Kind, Unit, save_boards, units_of, write_saved_units, write_units
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.progress import Progress

UNITS: Final = ".units.json"
"""The list of the units in an output folder, with their keys and files."""

Written = list[tuple[Unit, list[str]]]
"""Units with the paths of the files that were written for them."""

FEW_UNITS: Final = 75
"""Number of units that are made in this process, because the start of another one takes longer."""

_CHUNKS: Final[Mapping[Kind, int]] = {"submissions": 50, "tasks": 150}
"""Number of units that another process makes at a time. For tasks, it reads the first answers of all submissions."""


class UnitWriter:
    """Writes the units of all boards into the folder `fresh`, and keeps those of the folder `old` that are the same."""

    def __init__(
        self,
        old: Path,
        fresh: Path,
        facts: SiteFacts,
        code: str | None,
        workers: Executor | None,
        progress: Progress,
    ) -> None:
        self._old = old
        self._fresh = fresh
        self._facts = facts
        self._code = code
        self._workers = workers
        self._progress = progress
        self._files: dict[str, tuple[str, list[str]]] = {}

    @contextlib.contextmanager
    def making(self, indexes: Sequence[BoardIndex], saved: Path) -> Iterator[None]:
        """Make the units, in other processes while the `with` block runs. At its end, all are written."""
        known = self._known() if self._code else {}
        tasks = []
        for index in indexes:
            units = list(units_of(index, self._facts, self._code or ""))
            kept = {unit for unit in units if known.get(unit.path, ("", []))[0] == unit.key and self._keep(unit, known)}
            tasks.append((index, [unit for unit in units if unit not in kept]))
        self._progress.stage("write the pages", sum(len(units) for _, units in tasks))
        futures: list[Future[Written]] = []
        workers = self._workers
        if workers is not None:
            shared = [entry for entry in tasks if entry[0].board.stored is not None and len(entry[1]) > FEW_UNITS]
            save_boards((index.board for index, _ in shared), self._facts, saved)
            for entry in shared:
                tasks.remove(entry)
                for kind in KINDS:
                    own = [unit for unit in entry[1] if unit.kind == kind]
                    size = _CHUNKS[kind]
                    chunks = (own[start : start + size] for start in range(0, len(own), size))
                    futures += [workers.submit(write_saved_units, saved, chunk, self._fresh) for chunk in chunks]
        yield
        for index, units in tasks:
            self._note(write_units(index, self._facts, units, self._fresh))
        for future in as_completed(futures):
            self._note(future.result())
        if self._code:
            text = json.dumps(dict(sorted(self._files.items())), indent=0)
            (self._fresh / UNITS).write_text(text, "utf-8")

    def _note(self, written: Written) -> None:
        for unit, files in written:
            self._files[unit.path] = (unit.key, files)
            self._progress.advance()

    def _known(self) -> dict[str, tuple[str, list[str]]]:
        try:
            found = json.loads((self._old / UNITS).read_text("utf-8"))
            return {path: (key, files) for path, (key, files) in found.items()}
        except (OSError, ValueError):
            return {}

    def _keep(self, unit: Unit, known: Mapping[str, tuple[str, list[str]]]) -> bool:
        """Link the files of a unit from the old folder, and return whether all were there."""
        _, files = known[unit.path]
        try:
            for name in files:
                (self._fresh / name).parent.mkdir(parents=True, exist_ok=True)
                link_file(self._old / name, self._fresh / name)
        except FileNotFoundError:
            return False
        self._files[unit.path] = (unit.key, files)
        return True
