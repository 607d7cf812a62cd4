"""Classify a pull request by its changed files: find the submission that it adds, changes, withdraws or renames.

This module reads no files and sends no requests. The paths are untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from evaluator.github.comment.state import ChangeKind
from evaluator.github.pulls import ChangedFile, ChangedFiles
from evaluator.submissions.names import MANIFEST_NAME, OWNERS, QUARANTINE, VERDICTS

FOLDER: Final = "submissions"


class _Effect(Enum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


_STATUSES: Final = {
    **dict.fromkeys(("added", "copied", "renamed"), _Effect.ADDED),
    "removed": _Effect.REMOVED,
}


@dataclass(frozen=True, slots=True)
class PullRequestChange:
    """The changed files of a pull request. All paths start at the root of the repository.

    `slugs` are the submissions with changed files. `earlier` is the old name of a renamed submission. `outside` lists
    paths outside `submissions/`, and `stray` lists paths inside it that belong to no submission. `derived` lists
    changed files that only the publish workflow or a maintainer writes. It maps each path to True if the pull request
    adds the file. If the pull request removes a submission's manifest, `left` lists the submission's files that stay.
    `complete` is False if GitHub does not list all changed files.
    """

    change: ChangeKind
    slugs: tuple[str, ...] = ()
    earlier: str | None = None
    outside: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()
    derived: Mapping[str, bool] | None = None
    left: tuple[str, ...] = ()
    complete: bool = True

    @property
    def slug(self) -> str:
        """Return the only submission of the pull request, or an empty text. For a rename, return the new name."""
        if self.change is ChangeKind.RENAMES:
            return next(slug for slug in self.slugs if slug != self.earlier)
        return self.slugs[0] if len(self.slugs) == 1 else ""

    @property
    def is_plain(self) -> bool:
        """Return whether the pull request changes only files that belong to one submission."""
        is_single = self.change in (ChangeKind.ADDS, ChangeKind.UPDATES, ChangeKind.WITHDRAWS)
        return is_single and self.complete and not (self.outside or self.stray or self.derived or self.left)


def touched_slugs(changes: ChangedFiles) -> tuple[str, ...]:
    """Return the sorted names of the submission folders with changed files."""
    slugs = map(_slug_of, _effects(changes.files))
    return tuple(sorted({slug for slug in slugs if slug}))


def classify_change(changes: ChangedFiles, names_on_board: Mapping[str, frozenset[str]]) -> PullRequestChange:
    """Classify a pull request. `names_on_board` maps a slug to its file names on the board's branch."""
    effects = _effects(changes.files)
    slugs = touched_slugs(changes)
    within = [path for path in effects if path.startswith(f"{FOLDER}/")]
    if not within and changes.complete:
        return PullRequestChange(ChangeKind.NOTHING, outside=tuple(sorted(effects)))
    change, earlier = _change_kind(slugs, effects, names_on_board)
    gone = {slug for slug in slugs if _is_gone(slug, effects)}
    derived = {
        path: effects[path] is _Effect.ADDED
        for path in sorted(within)
        if _is_derived(path) and not (_slug_of(path) in gone and effects[path] is _Effect.REMOVED)
    }
    left = (f"{FOLDER}/{slug}/{name}" for slug in gone for name in names_on_board.get(slug, frozenset()))
    return PullRequestChange(
        change,
        slugs,
        earlier,
        outside=tuple(sorted(path for path in effects if path not in within)),
        stray=tuple(sorted(path for path in within if not _slug_of(path) and not _is_derived(path))),
        derived=derived,
        left=tuple(sorted(path for path in left if effects.get(path) is not _Effect.REMOVED)),
        complete=changes.complete,
    )


def _effects(files: Iterable[ChangedFile]) -> dict[str, _Effect]:
    """Return each path's effect: added, changed or removed. A rename removes its old path and adds its new path."""
    effects: dict[str, _Effect] = {}
    for file in files:
        rows = [(file.path, _STATUSES.get(file.status, _Effect.CHANGED))]
        rows += [(file.earlier, _Effect.REMOVED)] if file.earlier is not None else []
        for path, effect in rows:
            effects[path] = effect if effects.get(path, effect) is effect else _Effect.CHANGED
    return effects


def _slug_of(path: str) -> str:
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == FOLDER else ""


def _is_derived(path: str) -> bool:
    parts = path.split("/")
    is_list = path in (f"{FOLDER}/{OWNERS}", f"{FOLDER}/{QUARANTINE}")
    return is_list or (len(parts) == 3 and parts[0] == FOLDER and parts[2].endswith(VERDICTS))


def _is_gone(slug: str, effects: Mapping[str, _Effect]) -> bool:
    """Return whether a submission is removed: its manifest is removed, and none of its files is added or changed."""
    in_folder = {path: effect for path, effect in effects.items() if _slug_of(path) == slug}
    return f"{FOLDER}/{slug}/{MANIFEST_NAME}" in in_folder and set(in_folder.values()) == {_Effect.REMOVED}


def _is_new(slug: str, effects: Mapping[str, _Effect], names_on_board: Mapping[str, frozenset[str]]) -> bool:
    in_folder = {effect for path, effect in effects.items() if _slug_of(path) == slug}
    return in_folder == {_Effect.ADDED} and not names_on_board.get(slug)


def _change_kind(
    slugs: Sequence[str], effects: Mapping[str, _Effect], names_on_board: Mapping[str, frozenset[str]]
) -> tuple[ChangeKind, str | None]:
    """Return the kind of change, and the old name of a renamed submission."""
    if len(slugs) == 1:
        if _is_gone(slugs[0], effects):
            return ChangeKind.WITHDRAWS, None
        return (ChangeKind.ADDS if _is_new(slugs[0], effects, names_on_board) else ChangeKind.UPDATES), None
    for old, new in ((slugs[0], slugs[1]), (slugs[1], slugs[0])) if len(slugs) == 2 else ():
        if _is_gone(old, effects) and _is_new(new, effects, names_on_board):
            return ChangeKind.RENAMES, old
    return ChangeKind.MIXES, None
