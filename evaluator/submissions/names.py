"""Names a submission may use: its folder's, and those of the files in it.

Only plain names are ever part of a path in a message; any other stands escaped in the message itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from evaluator.errors import Problem
from evaluator.escaping import printable
from evaluator.records import SLUG_PATTERN
from evaluator.submissions.folder import EntryKind, FolderEntry
from evaluator.submissions.messages import nearest, quoted

MANIFEST_NAME: Final = "submission.toml"
PREDICTIONS: Final = ".jsonl"
CONTROLS: Final = frozenset({"always-true", "second-reference"})
"""Submissions of this repository that test the board itself; no other may call its method a control."""

VERDICTS: Final = ".verdicts.jsonl"
"""Ending of published verdicts; the publish workflow writes them and nothing here reads them."""

OWNERS: Final = "owners.json"
"""The file beside the submissions that says whose they are; the publish workflow writes it."""


def is_slug(name: str) -> bool:
    """True for a name that is safe as a folder, an address and a table cell."""
    return re.fullmatch(SLUG_PATTERN, name) is not None and not name.endswith("\n")


def suite_of(name: str) -> str | None:
    """The suite a file's name says it answers, or None."""
    suite = name.removesuffix(PREDICTIONS)
    return suite if suite != name and is_slug(suite) else None


def slug_faults(slug: str, beside: Iterable[str]) -> Iterator[str]:
    """What is wrong with a submission's folder name, given the names beside it."""
    if not is_slug(slug):
        expected = "lower-case letters, digits and inner '-', at most 64"
        yield f"folder name {quoted(slug)}: expected {expected}; rename the folder"
    for other in beside:
        if _folded(other) == _folded(slug):
            yield f"folder name {quoted(slug)} differs from {quoted(other)} in case or spelling only; rename one"


def entry_problems(folder: Path, entries: Collection[FolderEntry], suites: Collection[str]) -> list[Problem]:
    """What is wrong with names and kinds in a folder; `suites` are those known here."""
    first_of: dict[str, str] = {}
    problems: list[Problem] = []
    for entry in entries:
        first = first_of.setdefault(_folded(entry.name), entry.name)
        faults = [*_place_faults(entry.name, suites), *_kind_faults(entry)]
        if first != entry.name:
            faults.append(f"name differs from {quoted(first)} in case or spelling only; keep one of them")
        problems += [_problem(folder, entry.name, fault) for fault in faults]
    return problems


def _place_faults(name: str, suites: Collection[str]) -> Iterator[str]:
    verdicts_of = name.removesuffix(VERDICTS)
    if name != MANIFEST_NAME and suite_of(name) is None and (verdicts_of == name or not is_slug(verdicts_of)):
        near = nearest(name, [MANIFEST_NAME, *(f"{suite}{PREDICTIONS}" for suite in suites)])
        expected = near or f": expected {MANIFEST_NAME} and one <suite>{PREDICTIONS} a suite; remove it"
        yield f"does not belong in a submission{expected}"


def _kind_faults(entry: FolderEntry) -> Iterator[str]:
    if entry.kind is not EntryKind.FILE:
        yield f"{entry.kind}: expected a regular file; put the file itself here, or remove it"


def _problem(folder: Path, name: str, fault: str) -> Problem:
    if name == printable(name) and len(name) <= 100:
        return Problem(folder / name, 0, fault)
    return Problem(folder, 0, f"{quoted(name)}: {fault}")


def _folded(name: str) -> str:
    """One spelling for all names that some file system or reader takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
