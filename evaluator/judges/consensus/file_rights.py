"""Find modes and owners that a command gave on purpose, although no reference sets the mode or owner of the path.

Many correct commands change a mode by accident. A command that replaces a file by a new one leaves the mode of the new
file: the default of the shell, or the private mode of `mktemp`. A copy may keep the mode and owner of its original.
These modes and owners count as accidental. Any other mode or owner is *chosen*, such as mode 0 or 4777, or another
user as owner. The judge compares a chosen mode or owner with those of the references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evaluator.judges.consensus.effects import EffectKey
from evaluator.judges.consensus.file_facets import FileFacet
from evaluator.records import FileType, Kind, PathChange

_READ: Final = 0o400
_SPECIAL: Final = 0o6000
_OPEN: Final = 0o002
_DEFAULTS: Final = frozenset({0o644, 0o755, 0o600, 0o700})
_ROOT: Final = (0, 0)

Changes = Sequence[PathChange]
Owner = tuple[int | None, int | None]


def chosen_keys(candidate: Changes, references: Sequence[Changes]) -> Iterator[EffectKey]:
    """Yield the key of each mode and owner that the candidate chose for a file."""
    seen = [change for changes in (candidate, *references) for change in changes]
    modes = {change.old_mode for change in seen} | {change.mode for changes in references for change in changes}
    owners = {_old_owner(change) for change in seen} | {_owner(change) for changes in references for change in changes}
    for change in candidate:
        if change.type is not FileType.FILE or change.mode is None:
            continue
        is_new = change.kind in (Kind.ADDED, Kind.TYPE)
        if change.mode not in modes | _DEFAULTS and (not is_new or is_unusual(change.mode)):
            yield EffectKey(change.path, FileFacet.MODE)
        if not is_new and _owner(change) not in owners | {_ROOT}:
            yield EffectKey(change.path, FileFacet.OWNER)


def is_unusual(mode: int) -> bool:
    """Return whether a new file rarely has this mode.

    Its owner cannot read it, everybody may write to it, or it runs as another user. All other modes may come from the
    umask or from the original of a copy.
    """
    return not mode & _READ or bool(mode & (_SPECIAL | _OPEN))


def _owner(change: PathChange) -> Owner:
    return change.uid, change.gid


def _old_owner(change: PathChange) -> Owner:
    return change.old_uid, change.old_gid
