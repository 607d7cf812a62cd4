"""Rooms depend one way: what imports what is read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[2] / "evaluator"

GROUND: Final = {"errors", "escaping", "files", "progress", "wording"}
INPUTS: Final = {"shell", "suites", "submissions"}
STAGES: Final = {"sandbox", "judges", "metrics", "leaderboard", "github", "study"}
MAY_IMPORT: Final[dict[str, set[str]]] = {
    **{room: {"errors"} for room in GROUND},
    "records": GROUND,
    **{room: GROUND | {"records"} for room in INPUTS},
    **{room: GROUND | {"records"} | INPUTS for room in STAGES},
    "store": GROUND | {"records"},
    "pipeline": GROUND | {"records", "store"} | INPUTS | STAGES,
    "cli": GROUND | {"records", "pipeline", "github"},
    "testing": GROUND | {"records", "store", "pipeline"} | INPUTS | STAGES,
}
ROOMS: Final = sorted({path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")})


def imports(node: ast.AST) -> Iterator[str]:
    """Rooms imported anywhere below a node, inside functions too, but not for the type checker alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.module == "evaluator":
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").startswith("evaluator."):
            yield str(child.module).split(".")[1]
        elif isinstance(child, ast.Import):
            yield from (name.name.split(".")[1] for name in child.names if name.name.startswith("evaluator."))
        yield from imports(child)


def imported_by(room: str) -> dict[str, set[str]]:
    """The rooms that a room's files import, each with the files that do."""
    found: dict[str, set[str]] = {}
    for path in [PACKAGE / f"{room}.py", *(PACKAGE / room).rglob("*.py")]:
        for name in imports(ast.parse(path.read_text())) if path.is_file() else ():
            found.setdefault(name, set()).add(str(path.relative_to(PACKAGE)))
    return {name: files for name, files in found.items() if name != room}


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "__init__"])
def test_a_room_imports_only_rooms_before_it(room: str) -> None:
    assert {name: files for name, files in imported_by(room).items() if name not in MAY_IMPORT[room]} == {}


def test_no_relative_import_goes_round_this() -> None:
    relative = [
        str(path)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


PIPELINE: Final = (
    {"project", "git"},
    {"submissions"},
    {"grading"},
    {"boards", "evidence"},
    {"publishing"},
    {"pull_requests", "maintenance", "benchmarks"},
)


def joined_by(path: Path) -> set[str]:
    """The pipeline's own rooms that a file of it imports."""
    nodes = ast.walk(ast.parse(path.read_text()))
    modules = [str(node.module).split(".") for node in nodes if isinstance(node, ast.ImportFrom)]
    return {names[2] for names in modules if names[:2] == ["evaluator", "pipeline"] and len(names) > 2}


@pytest.mark.parametrize("path", sorted((PACKAGE / "pipeline").rglob("*.py")), ids=lambda path: path.stem)
def test_a_room_of_the_pipeline_imports_only_those_before_it_and_no_neighbour(path: Path) -> None:
    own = path.relative_to(PACKAGE / "pipeline").parts[0].removesuffix(".py")
    if own == "__init__":
        return
    (place,) = (number for number, row in enumerate(PIPELINE) if own in row)
    assert joined_by(path) <= {own}.union(*PIPELINE[:place])
