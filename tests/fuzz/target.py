"""Define a fuzz target: one parser, the errors that it may raise, and the code whose line coverage counts.

A target module registers its targets with the decorator `target`. The decorated function takes bytes, calls the parser
and returns its result. The function may also check the result with assertions. Every exception that is not declared is
a finding.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

CORPUS: Final = Path(__file__).parent / "corpus"
GROUPS: Final = ("shell", "submission", "sandbox", "evidence", "github", "panel")
"""The target modules, without the ending `_targets`."""


class PlantedError(Exception):
    """The error of the planted fault, which shows that the fuzzer finds faults."""


@dataclass(frozen=True, slots=True)
class Target:
    """One parser under test.

    name      the name of the target and of its folder in the corpus
    parse     the function that calls the parser with bytes and returns the result
    scopes    the code whose line coverage counts: `module`, or `module:name` for one function or class of a module
    refusals  the errors by which the parser may refuse an input
    planted   a condition on results. With the planted fault, the target fails on an input with such a result
    tokens    byte strings that the fuzzer inserts into inputs
    is_json   whether the fuzzer also changes inputs as lines of JSON
    longest   the maximum length of an input in bytes
    """

    name: str
    parse: Callable[[bytes], Any]
    scopes: tuple[str, ...]
    refusals: tuple[type[Exception], ...]
    planted: Callable[[Any], bool]
    tokens: tuple[bytes, ...]
    is_json: bool
    longest: int

    def run(self, data: bytes) -> Any:
        """Parse one input. Return the result, or None if the parser refuses the input."""
        try:
            return self.parse(data)
        except self.refusals:
            return None

    def run_with_planted_fault(self, data: bytes) -> None:
        """Parse one input. Raise PlantedError if the parser accepts it and the result meets the planted condition."""
        result = self.run(data)
        if result is not None and self.planted(result):
            raise PlantedError(self.name)

    @property
    def corpus(self) -> list[Path]:
        """Return the files of the committed corpus, sorted by name."""
        return sorted((CORPUS / self.name).iterdir())


_TARGETS: Final[dict[str, Target]] = {}


def target(
    name: str,
    *scopes: str,
    planted: Callable[[Any], bool],
    refusals: tuple[type[Exception], ...] = (),
    tokens: tuple[bytes, ...] = (),
    is_json: bool = False,
    longest: int = 4096,
) -> Callable[[Callable[[bytes], Any]], Callable[[bytes], Any]]:
    """Return a decorator that registers a function as the target `name`."""

    def register(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        _TARGETS[name] = Target(name, parse, scopes, refusals, planted, tokens, is_json, longest)
        return parse

    return register


@cache
def all_targets() -> dict[str, Target]:
    """Import the target modules and return all targets by name."""
    for group in GROUPS:
        importlib.import_module(f"tests.fuzz.{group}_targets")
    return _TARGETS
