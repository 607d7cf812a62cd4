"""This package imports external suites. Each published format has an importer: a function that returns a `Draft`.

A draft is a suite in memory. To add an importer, write a function that takes a command reader and a path and returns a
draft, and list the function in `IMPORTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from evaluator.suites.importers.draft import CommandReader, Draft, write_draft
from evaluator.suites.importers.eabench import draft_eabench
from evaluator.suites.importers.intercode import draft_intercode, draft_nl2sh_alfa
from evaluator.suites.importers.nl2bash import draft_nl2bash

__all__ = ["IMPORTERS", "Draft", "Read", "write_draft"]

IMPORTERS: Final[Mapping[str, Callable[[CommandReader, Path | None], Draft]]] = {
    "nl2sh-alfa": draft_nl2sh_alfa,
    "intercode": draft_intercode,
    "nl2bash-eabench": draft_eabench,
    "nl2bash": draft_nl2bash,
}
"""Importers by the name of their suite. Each raises UsageError or FormatError if its input has another layout."""
