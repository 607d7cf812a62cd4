"""Foreign suites: one module for each format that other benchmarks publish, all giving the same draft.

`IMPORTERS` names them. Adding one is a function from a reader of commands and a path to a draft, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from evaluator.suites.importers.draft import Draft, Read, write_draft
from evaluator.suites.importers.eabench import draft_eabench
from evaluator.suites.importers.intercode import draft_intercode, draft_nl2sh_alfa
from evaluator.suites.importers.nl2bash import draft_nl2bash

__all__ = ["IMPORTERS", "Draft", "Read", "write_draft"]

IMPORTERS: Final[Mapping[str, Callable[[Read, Path | None], Draft]]] = {
    "nl2sh-alfa": draft_nl2sh_alfa,
    "intercode": draft_intercode,
    "nl2bash-eabench": draft_eabench,
    "nl2bash": draft_nl2bash,
}
"""By the name the suite gets. Each raises UsageError or FormatError where what it is given has not its layout."""
