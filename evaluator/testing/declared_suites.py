"""This module declares an external suite in a checkout of a test, from a small tree in a publisher's layout.

The index comes from the importer alone, so no reference is executed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from evaluator.pipeline.maintenance.import_suite import draft_suite
from evaluator.pipeline.maintenance.index_suite import index_lines, write_declaration
from evaluator.pipeline.project import Project
from evaluator.records import ExternalSuite
from evaluator.suites.declarations import declaration_path
from evaluator.suites.importers import INPUTS
from evaluator.suites.importers.folder_source import FolderTree
from evaluator.suites.importers.source_files import select_files

NOWHERE: Final = "file:///nowhere/benchmark"
NO_COMMIT: Final = "0" * 40

_DECLARATION: Final = """format = 1
name = "{name}"
title = "The suite {name}"
version = "1.0.0"
licence = "MIT"
texts = {texts}
digest = "{digest}"

[attribution]
authors = "The authors of the test"
paper = "A paper that does not exist"
address = "https://example.org/benchmark"

[[sources]]
git = "{address}"
commit = "{commit}"
"""


def declare_suite(
    project: Project, name: str, tree: Path, address: str = NOWHERE, commit: str = NO_COMMIT, *, texts: bool = True
) -> ExternalSuite:
    """Declare the external suite `name` with the files below `tree`, and return the declaration.

    The checkout gets the declaration, the list of files and the index. `tree` has the layout of the publisher `name`.
    """
    path = declaration_path(project.fixtures, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"name": name, "address": address, "commit": commit, "digest": "0" * 64, "texts": str(texts).lower()}
    path.write_text(_DECLARATION.format(**fields))
    files = select_files(FolderTree(tree), INPUTS[name])
    draft = draft_suite(project, project.external_suites()[name], files)
    write_declaration(project, name, files, index_lines(draft.tasks))
    return project.external_suites()[name]


def commit_tree(tree: Path) -> str:
    """Make a repository of the folder `tree` with one commit of all files, and return the commit."""
    author = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "--all"], [*author, "commit", "--quiet", "--message=All files"]):
        subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True)
    revision = subprocess.run(["git", "-C", str(tree), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return revision.stdout.strip()
