"""The names by which a parser recognises a command for a suite, or a check a command that runs there."""

from __future__ import annotations

from collections.abc import Iterable

from evaluator.shell import option_table
from evaluator.suites.installed_utilities import installed_utilities
from evaluator.suites.load import Suite


def utilities_of_suites(suites: Iterable[Suite]) -> list[str]:
    """Return the names with which a command can begin in the base of any of these suites, sorted.

    For a suite without a list, these are the utilities whose options this project knows. Raises FormatError with all
    invalid lines of a list.
    """
    found: set[str] = set()
    for suite in suites:
        installed = installed_utilities(suite)
        found.update(option_table() if installed is None else installed)
    return sorted(found)
