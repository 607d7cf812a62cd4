"""Check training pairs: a parser reads the command, its utilities are installed, its syntax tree is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from evaluator.corpus.pair_lines import CorpusPair
from evaluator.shell import utilities_of
from evaluator.shell.programs import called_programs
from evaluator.shell.reconstruction import is_reconstructed


class TrainingCheck(StrEnum):
    """A check by its option: `parses`, `utilities` or `reconstructs`."""

    PARSES = "parses"
    UTILITIES = "utilities"
    RECONSTRUCTS = "reconstructs"


_REASONS = {
    TrainingCheck.PARSES: "no parser reads the command",
    TrainingCheck.UTILITIES: "a utility is not installed",
    TrainingCheck.RECONSTRUCTS: "the syntax tree of bashlex does not have the whole command",
}


class CheckedPairs(NamedTuple):
    """The pairs that hold all checks, and the number of the others by the first check that they fail."""

    kept: list[CorpusPair]
    left_out: dict[str, int]


def checked_pairs(
    pairs: Sequence[CorpusPair],
    checks: Collection[TrainingCheck],
    installed: Collection[str],
    advance: Callable[[], None] = lambda: None,
) -> CheckedPairs:
    """Apply checks to pairs. `installed` has the names of the utilities and builtins of a machine."""
    kept, left_out = list[CorpusPair](), Counter[str]()
    for pair in pairs:
        failed = _failed_check(pair, checks, installed)
        if failed is None:
            kept.append(pair)
        else:
            left_out[_REASONS[failed]] += 1
        advance()
    return CheckedPairs(kept, dict(left_out.most_common()))


def _failed_check(
    pair: CorpusPair, checks: Collection[TrainingCheck], installed: Collection[str]
) -> TrainingCheck | None:
    """Return the first check that a pair fails, or None. Each check needs a command that a parser reads."""
    if checks and utilities_of(pair.command) is None:
        return TrainingCheck.PARSES
    return next((check for check in TrainingCheck if check in checks and not _holds(check, pair, installed)), None)


def _holds(check: TrainingCheck, pair: CorpusPair, installed: Collection[str]) -> bool:
    match check:
        case TrainingCheck.PARSES:
            return True
        case TrainingCheck.UTILITIES:
            return all(name in installed for name in called_programs(pair.command))
        case TrainingCheck.RECONSTRUCTS:
            return is_reconstructed(pair.command)
