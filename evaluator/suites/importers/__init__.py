"""This package imports external suites. Each published format has an importer: a function that returns a `Draft`.

A draft is a suite in memory. To add an importer, write a function that takes a command reader and a folder and returns
a draft. List the function in `IMPORTERS`, and the names of the files that it reads in `INPUTS`. The folder holds these
files and no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from evaluator.suites.importers.draft import CommandReader, Draft, write_draft
from evaluator.suites.importers.eabench import draft_eabench
from evaluator.suites.importers.intercode import draft_intercode, draft_intercode_test, draft_nl2sh_alfa
from evaluator.suites.importers.nl2bash import draft_nl2bash

__all__ = ["IMPORTERS", "INPUTS", "Draft", "write_draft"]

IMPORTERS: Final[Mapping[str, Callable[[CommandReader, Path], Draft]]] = {
    "nl2sh-alfa": draft_nl2sh_alfa,
    "intercode": draft_intercode,
    "intercode-test": draft_intercode_test,
    "nl2bash-eabench": draft_eabench,
    "nl2bash": draft_nl2bash,
}
"""Importers by the name of their suite. Each raises UsageError or FormatError if its input has another layout."""

_FILE_SYSTEMS: Final = re.compile(r"(?:^|/)(nl2bash_fs_\d\.json|setup_nl2b_fs_\d\.sh)\Z")

INPUTS: Final[Mapping[str, re.Pattern[str]]] = {
    "nl2sh-alfa": _FILE_SYSTEMS,
    "intercode": _FILE_SYSTEMS,
    "intercode-test": re.compile(r"(?:^|/)(test_queries\.json|setup_fs\.sh)\Z"),
    "nl2bash-eabench": re.compile(r"^(bash_\d+/.+)\Z", re.DOTALL),
    "nl2bash": re.compile(r"(?:^|/)(all\.(?:nl|cm))\Z"),
}
"""The paths that each importer reads in its source. The first group of a pattern is the path in the given folder."""
