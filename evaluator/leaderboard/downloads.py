"""This module writes the board's records for download, with the same values as the files on disk. It shortens nothing.

JSON holds the records unchanged. Spreadsheets run the formulas of a CSV and hide control characters. Therefore no text
in the CSV begins like a formula, and invisible characters are shown as escapes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import polars as pl

from evaluator.leaderboard.board import BoardIndex, SuiteBoard
from evaluator.leaderboard.columns import csv_fields, tiers_of, topics_of
from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.records import AnswersOf, ErrorClass, JudgedBy, LatencySlice, Method, Standing

_Read = Callable[[Mapping[str, Any]], Any]
_Cell = tuple[str, _Read]
"""The name of a column, and the function that reads its value from a record."""


def standings_csv(standings: Sequence[Standing]) -> str:
    """Return a CSV with one row for each submission, in the order of `standings`.

    A value that was not measured is empty. Some fields have several columns: a share for the first K candidates
    (`accuracy_at_K`), counts for each topic (`passed_TOPIC`, `asked_TOPIC`) and difficulty (`passed_difficulty_D`),
    error classes (`error_wrong_flags`), the distribution of the latency (`latency_all_p90_s`), the judge
    (`judged_by_JUDGE`), and the submission that had the answers before (`answers_of_submission`).
    """
    cells = [cell for field in csv_fields() for cell in _cells(field, standings)]
    records = [standing.model_dump(mode="json") for standing in standings]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(name for name, _ in cells)
    writer.writerows([_inert(read(record)) for _, read in cells] for record in records)
    return stream.getvalue()


def standings_parquet(standings: Sequence[Standing]) -> bytes:
    """Return the same columns as the CSV, as a Parquet file with types. Texts are unchanged, and nothing is a null."""
    cells = [cell for field in csv_fields() for cell in _cells(field, standings)]
    records = [standing.model_dump(mode="json") for standing in standings]
    columns = {name: [_typed(read(record)) for record in records] for name, read in cells}
    return _parquet(pl.DataFrame(columns, strict=False, infer_schema_length=None))


def _typed(value: object) -> object:
    """Return a value of the CSV with its type. An empty cell has none."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return None if value == "" else value


PASSES_SCHEMA: Final = pl.Schema({"submission": pl.String(), "task": pl.String(), "passed": pl.Boolean()})
"""The columns of `passes.parquet`."""


def passes_parquet(board: SuiteBoard) -> bytes:
    """Return whether each submission passes each task that it was asked, as a Parquet file with `PASSES_SCHEMA`.

    The rows are in the order of the standings, then of the tasks.
    """
    answers = board.answers
    rows = [
        (row.submission, task.id, task.id in passed)
        for row in board.standings
        for asked, passed in [(answers.asked(row.submission), answers.passed(row.submission))]
        for task in board.tasks
        if task.id in asked
    ]
    return _parquet(pl.DataFrame(rows, PASSES_SCHEMA, orient="row"))


def _parquet(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream, compression="zstd", statistics=False)
    return stream.getvalue()


def board_json(index: BoardIndex, facts: SiteFacts, files: Mapping[str, str]) -> str:
    """Return the facts that the other files of a board lack: suite, version, commit, date, judge, counts, file names.

    `files` maps what a file has to its name in the same folder.
    """
    board = index.board
    controls = sum(row.method is Method.CONTROL for row in board.standings)
    values = {
        "format": 1,
        "suite": board.name,
        "version": board.manifest.version,
        "title": board.manifest.title,
        "address": f"{facts.address}board/{board.name}/" if facts.address else None,
        "commit": facts.commit,
        "date": facts.day or None,
        "judge": board.environment.get("Judge"),
        "counts": {
            "tasks": len(board.tasks),
            "ranked": len(index.ranked),
            "unranked": len(index.unranked),
            "controls": controls,
            "awaiting": len(board.awaiting),
        },
        "files": dict(files),
    }
    return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def times_csv(board: SuiteBoard) -> str:
    """Return a CSV file with a person's time for each task, in seconds, and the source of the time."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("id", "seconds", "source"))
    writer.writerows((task, f"{timing.human_s:g}", timing.provenance) for task, timing in board.times.items())
    return stream.getvalue()


def _cells(field: str, standings: Sequence[Standing]) -> Iterator[_Cell]:
    """Yield the CSV columns for one field of a standing.

    Some fields have several columns.
    """

    def value(record: Mapping[str, Any]) -> Any:
        for name in field.split("."):
            record = record[name]
        return record

    name = field.removeprefix("figures.")
    match name:
        case "accuracy_at" | "full_command_at" | "template_at":
            for depth in sorted({depth for standing in standings for depth in standing.accuracy_at}):
                yield f"{name}_{depth}", partial(_entry, value, str(depth))
        case "tiers" | "topics":
            slices = tiers_of(standings) if name == "tiers" else topics_of(standings)
            yield from _tallies(value, {part: part for part in slices})
        case "difficulties":
            levels = {level for standing in standings for level in standing.figures.difficulties}
            yield from _tallies(value, {level: f"difficulty_{level}" for level in sorted(levels)})
        case "errors" | "latency":
            yield from _error_cells(value) if name == "errors" else _latency_cells(value, standings)
        case "judged_by" | "answers_of":
            parts = JudgedBy.model_fields if name == "judged_by" else AnswersOf.model_fields
            for part in parts if any(getattr(standing, name) for standing in standings) else ():
                yield f"{name}_{part}", partial(_entry, value, part)
        case _:
            yield name, value


def _error_cells(value: _Read) -> Iterator[_Cell]:
    """Yield a column of the CSV file for each error class."""
    for kind in ErrorClass:
        yield f"error_{kind.value.replace(' ', '_')}", partial(_entry, value, kind.value)


def _latency_cells(value: _Read, standings: Sequence[Standing]) -> Iterator[_Cell]:
    """Yield the columns of the CSV file for the latency: a column for each number of each slice of tasks."""
    slices = dict.fromkeys(part.slice for standing in standings for part in standing.figures.latency)
    for part in slices:
        for number in (field for field in LatencySlice.model_fields if field != "slice"):
            yield f"latency_{part}_{number}", partial(_part, value, part, number)


def _tallies(value: _Read, titles: Mapping[str, str]) -> Iterator[_Cell]:
    """Yield two columns of the CSV file for each slice of tasks: the numbers of tasks passed and asked.

    `titles` maps each slice to its name in the titles of these columns.
    """
    for key, title in titles.items():
        for count in ("passed", "asked"):
            yield f"{count}_{title}", partial(_count, value, key, count)


def _entry(value: _Read, key: str, record: Mapping[str, Any]) -> object:
    return (value(record) or {}).get(key, "")


def _part(value: _Read, name: str, number: str, record: Mapping[str, Any]) -> object:
    """Return a number of the slice with this name, or nothing if the record has no such slice."""
    return next((part[number] for part in value(record) if part["slice"] == name), "")


def _count(value: _Read, key: str, count: str, record: Mapping[str, Any]) -> object:
    return value(record).get(key, {}).get(count, 0)


def _inert(value: object) -> object:
    """Return a CSV value in a form that a spreadsheet shows and does not run as a formula. A list becomes one text."""
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return value
    text = plain_text(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def standings_json(standings: Sequence[Standing]) -> str:
    """Return the standings as a JSON list in board order, with every field. Each submission has a line."""
    rows = (standing.model_dump(mode="json") for standing in standings)
    lines = ",\n".join(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"


def verdict_files_json(standings: Sequence[Standing]) -> str:
    """Return the list of the files with all verdicts as JSON: one file for each submission, in board order.

    Each file holds JSON lines, compressed with gzip. Its path is relative to the board's folder.
    """
    files = [
        {"submission": row.submission, "file": f"submissions/{row.submission}.jsonl.gz", "system": row.system}
        for row in standings
    ]
    return json.dumps({"format": "JSON lines, gzip", "files": files}, indent=1, ensure_ascii=False) + "\n"
