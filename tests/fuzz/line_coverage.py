"""Measure the line coverage that inputs of a target reach in the functions of its scopes.

Only lines inside functions count. The lines of a module or a class run at import, so every corpus would cover them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from tests.fuzz.target import Target

REQUIRED_PERCENT: Final = 80
"""The least line coverage of a committed corpus."""

Line = tuple[str, int]
"""A file and a line number."""


@dataclass(frozen=True, slots=True)
class LineCoverage:
    """The lines of a target's scopes, and those that inputs reached."""

    lines: frozenset[Line]
    reached: frozenset[Line]

    @property
    def percent(self) -> float:
        """Return the share of reached lines in per cent."""
        return 100 * len(self.reached) / len(self.lines)

    @property
    def missing(self) -> list[str]:
        """Return the lines that no input reached, as `file:line`."""
        return [f"{Path(file).name}:{line}" for file, line in sorted(self.lines - self.reached)]


def scope_lines(scope: str) -> frozenset[Line]:
    """Return the lines in the functions of a scope. Raise ValueError if the scope has none."""
    module, _, name = scope.partition(":")
    file = importlib.import_module(module).__file__ or ""
    whole = compile(Path(file).read_bytes(), file, "exec")
    lines = frozenset(
        (file, line)
        for code in _functions(whole)
        if not name or code.co_qualname == name or code.co_qualname.startswith(f"{name}.")
        for line in _body(code)
    )
    if not lines:
        raise ValueError(f"{scope} has no function")
    return lines


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of each function in a module or a class, also of nested functions."""
    if code.co_flags & CO_OPTIMIZED:
        yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _functions(constant)


def _body(code: CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line}
    return lines - {code.co_firstlineno} if len(lines) > 1 else lines


def measure(target: Target, inputs: Iterable[bytes]) -> LineCoverage:
    """Run a target on inputs and return the coverage of its scopes."""
    lines = frozenset[Line]().union(*map(scope_lines, target.scopes))
    reached: set[Line] = set()
    for data in inputs:
        reached |= lines_reached(target, data, lines)
    return LineCoverage(lines, frozenset(reached))


def lines_reached(target: Target, data: bytes, lines: frozenset[Line]) -> set[Line]:
    """Run a target on one input and return those of `lines` that ran."""
    files = {file for file, _ in lines}
    ran: set[Line] = set()

    def in_function(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            ran.add((frame.f_code.co_filename, frame.f_lineno))
        return in_function

    def at_call(frame: FrameType, _event: str, _: Any) -> Any:
        return in_function if frame.f_code.co_filename in files else None

    earlier = sys.gettrace()
    sys.settrace(at_call)
    try:
        target.run(data)
    finally:
        sys.settrace(earlier)
    return ran & lines
