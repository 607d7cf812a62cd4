"""Find the regular expressions in the modules of a package, and the way in which each is used."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.documents.pattern_paths import Use

USES: Final = {
    "fullmatch": Use.COMPLETE,
    "match": Use.AT_ONE_PLACE,
    "search": Use.FIRST,
    **dict.fromkeys(("findall", "finditer", "split", "sub", "subn"), Use.ALL),
}
"""The functions of `re`, which are also the methods of a compiled pattern."""

_FLAGS_AT: Final = {"compile": 1, "split": 3, "sub": 4, "subn": 4}
_INSERTED: Final = "x"
"""The text in the place of a value that only exists in a call."""


UsedName = tuple[str, Use | None]


@dataclass(frozen=True, slots=True)
class FoundPattern:
    """A pattern with its flags and uses, its module, and the variable, function or class of the module that holds it.

    `pattern` is None if only a call builds the pattern.
    """

    module: str
    place: str
    pattern: str | bytes | None
    flags: int
    uses: frozenset[Use]


def patterns_of(package: Path) -> list[FoundPattern]:
    """Return all patterns in the modules of a package."""
    files = {path.relative_to(package.parent).as_posix(): path for path in sorted(package.rglob("*.py"))}
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in files.items()}
    public = [used for tree in trees.values() for used in _used_names(tree) if used[0].isupper() and used[0][0] != "_"]
    return [found for name, tree in trees.items() for found in _patterns(name, tree, public)]


def _patterns(name: str, tree: ast.Module, public: Sequence[UsedName]) -> Iterator[FoundPattern]:
    calls = [*_calls(tree)]
    if not calls:
        return
    names = vars(importlib.import_module(name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")))
    variables = dict(_variables(tree))
    used = [*_used_names(tree), *public]
    places = {node: place for statement, place in _statements(tree) for node in ast.walk(statement)}
    for call, function in calls:
        uses = {USES[function]} if function in USES else _uses(variables.get(call), used)
        value, flags = _value(call.args[0], names), _flags(call, function)
        yield FoundPattern(name, places.get(call, "module"), value, flags, frozenset(uses))


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements of a module that define a name, with the name."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node, name
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield node, name


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of functions of `re` with a pattern, with the function's name."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name == "compile" or name in USES:
                yield node, name


def _variables(tree: ast.Module) -> Iterator[tuple[ast.expr | None, str]]:
    """Yield each assigned value with the name of its variable."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield node.value, name


def _used_names(tree: ast.Module) -> Iterator[UsedName]:
    """Yield each name that is read, with the use if it is a pattern with a call of a method, or else with None."""
    methods = {}
    for node in ast.walk(tree):  # a node comes before the nodes in it
        match node:
            case ast.Attribute(value=ast.Name() as name, attr=method):
                methods[name] = USES.get(method)
            case ast.Name(id=text, ctx=ast.Load()):
                yield text, methods.get(node)


def _uses(variable: str | None, used: Iterable[UsedName]) -> set[Use]:
    """Return the uses of a pattern. If it is used without a method, or has no name, return all uses."""
    uses = {use for name, use in used if name == variable}
    return {use for use in uses if use} if uses and None not in uses else {*USES.values()}


def _value(node: ast.expr, names: dict[str, Any]) -> str | bytes | None:
    """Return the value of an expression in a module. In a formatted string, a value of a call becomes a letter."""
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), names)  # noqa: S307 - our own source
    except NameError:
        if not isinstance(node, ast.JoinedStr):
            return None
        parts = (_value(part.value if isinstance(part, ast.FormattedValue) else part, names) for part in node.values)
        return "".join(part if isinstance(part, str) else _INSERTED for part in parts)
    return value if isinstance(value, str | bytes) else None


def _flags(call: ast.Call, function: str) -> int:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    given += call.args[_FLAGS_AT.get(function, 2) :][:1]
    return int(eval(compile(ast.Expression(given[0]), "flags", "eval"), {"re": re})) if given else 0  # noqa: S307
