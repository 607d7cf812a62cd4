"""Read and write the committed record of audits: a file of JSON lines, one for each audit of a suite."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem
from evaluator.files import write_whole
from evaluator.pipeline.project import Project
from evaluator.records import Audit, json_lines
from evaluator.records.record_lines import read_record_lines

AUDITS: Final = Path("site/assets/audits.jsonl")
"""The path of the record of audits that the site shows."""

AUDITS_BYTES: Final = 16 << 20
"""Maximum size of the record of audits, in bytes."""


def audits_path(project: Project, *, publish: bool) -> Path:
    """Return the path of the record that the site shows, or of this machine's own record if `publish` is false."""
    return project.root / AUDITS if publish else project.store_path.with_name(AUDITS.name)


def read_audits(path: Path) -> tuple[Audit, ...]:
    """Return the audits in a file, or none if there is no file. Raises FormatError with all invalid lines."""
    return parse_audits(path.read_bytes(), path) if path.is_file() else ()


def parse_audits(data: bytes, path: Path) -> tuple[Audit, ...]:
    """Return the audits in `data`, the content of `path`. Raises FormatError with all invalid lines."""
    problems: list[Problem] = []
    lines = read_record_lines(path, Audit, problems, data=data, expected="an audit as one line of JSON")
    if problems:
        raise FormatError(problems)
    return tuple(audit for _, audit in lines)


def audits_bytes(known: Iterable[Audit], new: Iterable[Audit]) -> bytes:
    """Return the content of the record of audits: the known audits and the new ones, sorted by day and suite.

    A new audit replaces a known one if only their results differ.
    """
    by_key = {_audit_key(audit): audit for audit in (*known, *new)}
    return json_lines(by_key[key] for key in sorted(by_key)).encode()


def add_audits(path: Path, new: Iterable[Audit]) -> None:
    """Add audits to a file. Raises FormatError if the file is invalid, and then changes nothing."""
    data = audits_bytes(read_audits(path), new)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)


def was_audited(audits: Iterable[Audit], suite: str, day: date) -> bool:
    """Return whether one of these audits is of this suite and day."""
    return any((audit.suite, audit.day) == (suite, day) for audit in audits)


def _audit_key(audit: Audit) -> tuple[date, str, str, int, str, tuple[str, ...], int]:
    return audit.day, audit.suite, audit.judge, audit.judge_version, audit.seed, audit.models, audit.votes
