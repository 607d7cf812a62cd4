"""This module reads the declarations of external suites, and the indexes of their tasks, from `fixtures/external`.

A declaration is `<name>.toml`. The index `<name>.tasks.jsonl` and the list of imported files `<name>.sha256` stand
beside it. They hold ids, digests and names of files, but no text of the suite. So a fresh checkout can check a
submission to a suite that was never fetched there.

`suite add` writes a mark into the folder of an imported suite. The mark says which list of files and which index the
suite was made from. A suite with another mark than the checkout's is outdated and counts as not fetched.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import ExternalSuite, IndexedTask, digest_of, read_format
from evaluator.records.record_lines import read_record_lines
from evaluator.suites.file_lists import list_digest, read_list

FOLDER: Final = "external"
MARK: Final = ".imported-from"
"""The file in the folder of an imported suite that holds the mark."""

_INDEX: Final = ".tasks.jsonl"
_FILES: Final = ".sha256"
_REMEDY: Final = "a maintainer makes the list with: bashboard suite index"


def index_path(fixtures: Path, name: str) -> Path:
    """Return the path of the index of an external suite."""
    return fixtures / FOLDER / f"{name}{_INDEX}"


def declaration_path(fixtures: Path, name: str) -> Path:
    """Return the path of the declaration of an external suite."""
    return fixtures / FOLDER / f"{name}.toml"


def files_path(fixtures: Path, name: str) -> Path:
    """Return the path of the list of files that an external suite is imported from."""
    return fixtures / FOLDER / f"{name}{_FILES}"


def read_external_suites(fixtures: Path) -> dict[str, ExternalSuite]:
    """Return the declared external suites by name. Raises FormatError with every invalid declaration."""
    declared: dict[str, ExternalSuite] = {}
    problems: list[Problem] = []
    for path in sorted((fixtures / FOLDER).glob("*.toml")):
        suite = _read_declaration(path, problems)
        if suite is not None:
            declared[suite.name] = suite
    if problems:
        raise FormatError(problems)
    return declared


def _read_declaration(path: Path, problems: list[Problem]) -> ExternalSuite | None:
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        value = tomllib.loads(text)
        read_format(value, path.name, ExternalSuite.newest_format)
        suite = ExternalSuite.model_validate(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False):
            place = tuple(map(str, detail["loc"]))
            problems.append(Problem(path, _line_of(text, place), f"{'.'.join(place)}: {_expected(detail)}"))
        return None
    except ValueError as error:
        problems.append(Problem(path, 0, f"expected a declaration of an external suite in TOML: {error}"))
        return None
    if suite.name != path.stem:
        problems.append(Problem(path, _line_of(text, ("name",)), f"name: expected {path.stem!r}, found {suite.name!r}"))
        return None
    return suite


def _line_of(text: str, place: tuple[str, ...]) -> int:
    """Return the number of the line that sets a field. For a missing field, return the line of the table around it."""
    for key in reversed(place):
        pattern = re.compile(rf"^\s*(?:\[+\s*)?{re.escape(key)}\s*(?:=|\]|\.)")
        number = next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 0)
        if number:
            return number
    return 1


def _expected(detail: Mapping[str, Any]) -> str:
    if detail["type"] == "missing":
        return "is missing: add the field; `bashboard schema external-suite` describes it"
    return f"{detail['msg']}, found {detail['input']!r:.100}"


def read_index(fixtures: Path, name: str) -> tuple[IndexedTask, ...]:
    """Return the lines of an external suite's index, in the order of the file.

    Raises FormatError with every invalid line, and UsageError if there is no index.
    """
    path = index_path(fixtures, name)
    if not path.is_file():
        raise UsageError(f"{path} is missing: expected the index of {name}; type: bashboard suite index {name}")
    problems: list[Problem] = []
    lines = read_record_lines(path, IndexedTask, problems)
    firsts: dict[str, int] = {}
    for number, line in lines:
        if firsts.setdefault(line.task, number) != number:
            problems.append(Problem(path, number, f"{line.task} stands again, after line {firsts[line.task]}"))
    if problems:
        raise FormatError(problems)
    return tuple(line for _, line in lines)


def read_file_list(fixtures: Path, suite: ExternalSuite) -> dict[str, str]:
    """Return the digests of the files that an external suite is imported from, by name.

    Raises FormatError if the list is missing, invalid, or not the list whose digest the suite declares.
    """
    path = files_path(fixtures, suite.name)
    try:
        digests = read_list(path.read_text("utf-8"))
        if list_digest(digests) != suite.digest:
            raise ValueError(f"expected the list with digest {suite.digest}, found {list_digest(digests)}")
    except OSError as error:
        raise FormatError([Problem(path, 0, f"cannot be read: {error.strerror}; {_REMEDY} {suite.name}")]) from error
    except ValueError as error:
        raise FormatError([Problem(path, 0, f"{error}; {_REMEDY} {suite.name}")]) from error
    return digests


def other_file_lists(fixtures: Path, suites: Iterable[ExternalSuite]) -> dict[str, dict[str, str]]:
    """Return the digests of the files of each suite that has a valid list. They only serve to recognize a suite."""
    lists: dict[str, dict[str, str]] = {}
    for suite in suites:
        with contextlib.suppress(FormatError):
            lists[suite.name] = read_file_list(fixtures, suite)
    return lists


def import_mark(fixtures: Path, declared: ExternalSuite) -> str:
    """Return the mark of a suite that is imported now, by the checkout's declaration and index."""
    index = index_path(fixtures, declared.name)
    data = index.read_bytes() if index.is_file() else b""
    return digest_of(declared.digest.encode(), declared.version.encode(), data)


def is_current(fixtures: Path, declared: ExternalSuite) -> bool:
    """Return whether an external suite was imported by the checkout's present declaration and index."""
    mark = fixtures / declared.name / MARK
    return mark.is_file() and mark.read_text("utf-8", "replace").strip() == import_mark(fixtures, declared)
