"""The versions of a suite: a choice on the pages of the suite's boards, and a page that lists all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.site_facts import SiteFacts
from evaluator.records import BoardChange, BoardChangeKind


class SuiteVersion(NamedTuple):
    """A version of a suite, the change that began it if it is known, and the path of its board below the suite's."""

    version: str
    change: BoardChange | None
    board: str | None


def suite_versions(board: SuiteBoard, facts: SiteFacts, earlier: Sequence[int]) -> list[SuiteVersion]:
    """Return the known versions of a suite, the latest first. `earlier` has the major versions with a frozen board.

    The board of a major version belongs to the last version with this number.
    """
    current = board.manifest.version
    began = {
        change.versions[0][1]: change
        for change in reversed(facts.changes)
        if change.kind is BoardChangeKind.VERSION and change.suite == board.name
    }
    known = dict.fromkeys((current, *reversed(began)))
    left = {major: f"{major}/" for major in earlier}
    rows = []
    for version in known:
        major = int(version.split(".")[0]) if version.split(".")[0].isdecimal() else -1
        rows.append(SuiteVersion(version, began.get(version), "" if version == current else left.pop(major, None)))
    return rows + [SuiteVersion(f"{major}", None, folder) for major, folder in left.items()]


def has_versions_page(board: SuiteBoard, facts: SiteFacts, earlier: Sequence[int]) -> bool:
    """Return whether there is another version than the current one to list."""
    return len(suite_versions(board, facts, earlier)) > 1


def render_version_choice(board: SuiteBoard, facts: SiteFacts, earlier: Sequence[int], root: str) -> str:
    """Return the HTML of the links to the boards of other versions, or nothing if no other version is known."""
    if not has_versions_page(board, facts, earlier):
        return ""
    return render("version_choice.html", board=board, folder=f"{root}board/{board.name}", earlier=earlier)


def render_versions(board: SuiteBoard, facts: SiteFacts, earlier: Sequence[int]) -> str:
    """Return the HTML of the page with all versions of a suite."""
    return render("versions.html", board=board, rows=suite_versions(board, facts, earlier), facts=facts)
