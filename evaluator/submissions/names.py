"""This module checks the name of a submission's folder and the names of the files in this folder.

Each message about a problem begins with a path. A name with control characters or of more than 100 characters is not in
this path. It is escaped and quoted in the text of the message.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from evaluator.errors import Problem
from evaluator.escaping import printable
from evaluator.records import SLUG_PATTERN
from evaluator.submissions.folder import EntryKind, FolderEntry
from evaluator.submissions.messages import nearest, quoted

MANIFEST_NAME: Final = "submission.toml"
PREDICTIONS: Final = ".jsonl"
LOCAL_PREFIX: Final = "local-"
"""The beginning of the names of submissions that stay on one machine. Git ignores their folders."""

CONTROLS: Final = frozenset({"always-true", "second-reference"})
"""Submissions of this repository that test the board itself. No other submission may have the method control."""

EDITION_SIGN: Final = "@"
"""The sign between the names of a suite and of its edition, as in `core@autumn.jsonl`."""

VERDICTS: Final = ".verdicts.jsonl"
"""The ending of published verdict files. The publish workflow writes them, and this room never reads them."""

OWNERS: Final = "owners.json"
"""The file with the owners of all submissions, beside their folders. The publish workflow writes it."""

QUARANTINE: Final = "quarantine.json"
"""The list of submissions that are kept off every board, beside their folders. A maintainer writes it."""


_DEVICES: Final = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\s*\..*)?", re.IGNORECASE | re.DOTALL
)
"""Names of devices on Windows, with and without an extension. No file can have such a name there."""


def is_slug(name: str) -> bool:
    """Return whether a name is a slug: safe as a folder name, in a URL and in a table cell."""
    return re.fullmatch(SLUG_PATTERN, name) is not None and not name.endswith("\n")


def proposed_slug(name: str) -> str:
    """Return the slug that is nearest to a name, or "" if the name has no letter or digit of ASCII.

    >>> proposed_slug("Bad Slug!"), proposed_slug("Modèle_2.5"), proposed_slug("!")
    ('bad-slug', 'modele-2-5', '')
    """
    plain = unicodedata.normalize("NFKD", name[:200]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-")
    return slug if is_slug(slug) else ""


def is_local(slug: str) -> bool:
    """Return whether a submission stays on one machine, because its answers were imported from another publication."""
    return slug.startswith(LOCAL_PREFIX)


def suite_of(name: str) -> str | None:
    """Return the suite or edition of a predictions file (`core` for `core.jsonl`), or None for any other file.

    >>> suite_of("core@autumn.jsonl")
    'core@autumn'
    """
    suite = name.removesuffix(PREDICTIONS)
    return suite if suite != name and all(map(is_slug, suite.split(EDITION_SIGN, 1))) else None


def slug_faults(slug: str, beside: Iterable[str]) -> Iterator[str]:
    """Yield the problems of a submission's folder name. It must differ clearly from the names in `beside`."""
    if _DEVICES.fullmatch(slug.rstrip(". ")):
        yield f"folder name {quoted(slug)}: Windows has a device of this name, so nobody could check it out there"
        return
    if slug != slug.rstrip(". ") and slug.strip(". "):
        end = "dot" if slug.endswith(".") else "blank"
        yield f"folder name {quoted(slug)}: Windows drops the {end} at the end, so nobody could check it out there"
        return
    if not is_slug(slug):
        expected = "lower-case letters, digits and inner '-', at most 64"
        proposed = proposed_slug(slug)
        yield f"folder name {quoted(slug)}: expected {expected}{f', such as {proposed}' if proposed else ''}"
    for other in beside:
        if folded_name(other) == folded_name(slug):
            yield f"folder name {quoted(slug)} differs from {quoted(other)} in case or spelling only; rename one"


def entry_problems(folder: Path, entries: Collection[FolderEntry], suites: Collection[str]) -> list[Problem]:
    """Return the problems with the names and types of a submission folder's entries. `suites` are the known suites."""
    first_of: dict[str, str] = {}
    problems: list[Problem] = []
    for entry in entries:
        first = first_of.setdefault(folded_name(entry.name), entry.name)
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


@lru_cache(maxsize=16_384)
def folded_name(name: str) -> str:
    """Normalize a name. Two names become equal if a file system or a reader may confuse them."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
