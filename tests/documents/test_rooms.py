"""Rooms depend one way: what imports what is read from the source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

PACKAGE: Final = Path(__file__).parents[2] / "evaluator"

GROUND: Final = {"errors", "escaping", "files", "json_lines", "progress", "reply_forms", "wording"}
INPUTS: Final = {"shell", "suites", "submissions", "model_server"}
STAGES: Final = {"sandbox", "judges", "metrics", "leaderboard", "github", "study", "corpus", "generation"}
MAY_IMPORT: Final[dict[str, set[str]]] = {
    **{room: {"errors"} for room in GROUND},
    "json_lines": {"errors", "escaping", "wording"},
    "reply_forms": {"wording"},
    "records": GROUND,
    **{room: GROUND | {"records"} for room in INPUTS},
    "submissions": GROUND | {"records", "shell"},
    **{room: GROUND | {"records"} | INPUTS for room in STAGES},
    "store": GROUND | {"records"},
    "pipeline": GROUND | {"records", "store"} | INPUTS | STAGES,
    "cli": GROUND | {"records", "pipeline", "github", "corpus"},
    "testing": GROUND | {"records", "store", "pipeline"} | INPUTS | STAGES,
}
ROOMS: Final = sorted({path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")})


class Import(NamedTuple):
    """An import statement. `typing_only` says that it is for the type checker alone."""

    statement: ast.Import | ast.ImportFrom
    typing_only: bool


@functools.cache
def statements_of(path: Path) -> tuple[Import, ...]:
    """Return all import statements of a file, inside functions too. Several tests read the same files."""
    return tuple(_statements(ast.parse(path.read_text()), typing_only=False))


def _statements(node: ast.AST, *, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield Import(child, typing_only)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):  # an expression holds no statement
            guard = isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
            yield from _statements(child, typing_only=typing_only or guard)


def imports(path: Path) -> Iterator[str]:
    """Rooms imported anywhere in a file, inside functions too, but not for the type checker alone."""
    for statement, typing_only in statements_of(path):
        if typing_only:
            continue
        if isinstance(statement, ast.Import):
            yield from (name.name.split(".")[1] for name in statement.names if name.name.startswith("evaluator."))
        elif statement.module == "evaluator":
            yield from (name.name for name in statement.names)
        elif (statement.module or "").startswith("evaluator."):
            yield str(statement.module).split(".")[1]


def imported_by(room: str) -> dict[str, set[str]]:
    """The rooms that a room's files import, each with the files that do."""
    found: dict[str, set[str]] = {}
    for path in [PACKAGE / f"{room}.py", *(PACKAGE / room).rglob("*.py")]:
        for name in imports(path) if path.is_file() else ():
            found.setdefault(name, set()).add(str(path.relative_to(PACKAGE)))
    return {name: files for name, files in found.items() if name != room}


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "__init__"])
def test_a_room_imports_only_rooms_before_it(room: str) -> None:
    assert {name: files for name, files in imported_by(room).items() if name not in MAY_IMPORT[room]} == {}


def test_no_relative_import_goes_round_this() -> None:
    relative = [
        str(path)
        for path in PACKAGE.rglob("*.py")
        for statement, _ in statements_of(path)
        if isinstance(statement, ast.ImportFrom) and statement.level
    ]
    assert relative == []


PIPELINE: Final = (
    {"checkout"},
    {"project", "git"},
    {"submissions"},
    {"grading"},
    {"boards", "evidence"},
    {"publishing"},
    {"pull_requests", "maintenance", "benchmarks", "generation"},
)


def joined_by(path: Path) -> set[str]:
    """The pipeline's own rooms that a file of it imports."""
    statements = (each.statement for each in statements_of(path))
    modules = [str(each.module).split(".") for each in statements if isinstance(each, ast.ImportFrom)]
    return {names[2] for names in modules if names[:2] == ["evaluator", "pipeline"] and len(names) > 2}


@pytest.mark.parametrize("path", sorted((PACKAGE / "pipeline").rglob("*.py")), ids=lambda path: path.stem)
def test_a_room_of_the_pipeline_imports_only_those_before_it_and_no_neighbour(path: Path) -> None:
    own = path.relative_to(PACKAGE / "pipeline").parts[0].removesuffix(".py")
    if own == "__init__":
        return
    (place,) = (number for number, row in enumerate(PIPELINE) if own in row)
    assert joined_by(path) <= {own}.union(*PIPELINE[:place])
