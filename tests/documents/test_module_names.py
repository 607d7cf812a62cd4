"""Names are unique: a file or a class is found by its name alone."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "evaluator"

SHARED_FILE_NAMES: Final = {
    "bleu.py": "the judge and the metric of that name",
}
"""Names of files that two folders may share, each with the reason."""

OWN_NAMES: Final = {"cli", "testing"}
"""Folders whose files are named after something else: after a command, and after the module that a double replaces."""

SHARED_CLASS_NAMES: Final[dict[str, str]] = {}
"""Names of classes that two modules may share, each with the reason."""


def test_a_file_name_stands_for_one_module() -> None:
    """A traceback, a search and a test name a file without its folder."""
    paths = [
        path for path in PACKAGE.rglob("*.py") if not path.name.startswith("__") and path.parent.name not in OWN_NAMES
    ]
    names = Counter(path.name for path in paths)
    assert {name for name, count in names.items() if count > 1} == set(SHARED_FILE_NAMES)


def test_a_class_name_stands_for_one_class() -> None:
    """A name that means two things has to be looked up each time."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(str(path.relative_to(PACKAGE)))
    shared = {name: paths for name, paths in modules.items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in SHARED_CLASS_NAMES} == {}
    assert SHARED_CLASS_NAMES.keys() <= shared.keys()
