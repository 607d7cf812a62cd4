"""Verdict files as they stand at a commit: Git is asked, and its answer read as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem
from evaluator.pipeline.boards.published_boards import Files
from evaluator.pipeline.git import ask_git, commit_named
from evaluator.pipeline.grading.verdict_files import MAX_BYTES, VerdictFile, verdicts_in
from evaluator.pipeline.project import Project
from evaluator.records import SLUG_PATTERN
from evaluator.submissions.names import VERDICTS

_SLUG: Final = SLUG_PATTERN.strip("^$")
_ENTRY: Final = re.compile(
    rf"100(?:644|755) blob (?P<blob>[0-9a-f]{{40,64}}) +(?P<size>\d+)\t"
    rf"submissions/(?P<slug>{_SLUG})/(?P<suite>{_SLUG}){re.escape(VERDICTS)}"
)
"""A line of `git ls-tree --long`: a regular file whose path is a verdict file's."""


def committed_files(project: Project, commit: str) -> Mapping[str, Files]:
    """Every suite's verdict files at a commit, by suite.

    Raises UsageError where there is no such commit here, FormatError for a file that does not read.
    """
    name = commit_named(project.root, commit)
    listed = ask_git(project.root, "ls-tree", "-r", "-z", "--long", name, "--", "submissions") or b""
    lines = (line.decode(errors="replace") for line in listed.split(b"\0"))
    found: dict[str, dict[str, VerdictFile]] = {}
    for entry in filter(None, map(_ENTRY.fullmatch, lines)):
        found.setdefault(entry["suite"], {})[entry["slug"]] = _file(project.root, entry)
    return found


def _file(root: Path, entry: re.Match[str]) -> VerdictFile:
    """The file of an entry; what is larger than a verdict file may be is not asked for."""
    path = Path("submissions", entry["slug"], f"{entry['suite']}{VERDICTS}")
    data = ask_git(root, "cat-file", "blob", entry["blob"]) if int(entry["size"]) <= MAX_BYTES else None
    if data is None:
        raise FormatError([Problem(path, 0, f"cannot be read at that commit: {int(entry['size']):,} bytes")])
    return verdicts_in(data, path)
