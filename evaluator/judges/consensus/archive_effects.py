"""Convert an archive to facts. An archive is compared by its members, because its bytes differ from run to run.

A command may copy files before it packs them. The members then have the time of the copy and the owner root. So these
values are no mistake, if the references pack the originals. Any other time or owner is one.

The order of the members counts only if the instruction asks for an order: programs list a directory in the order of its
file system, and a sorted list unpacks to the same files.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Final

from evaluator.judges.consensus.effects import Difference, EffectKey
from evaluator.judges.consensus.file_facets import FileFacet
from evaluator.judges.consensus.words_of_form import asks_for_order
from evaluator.records import FileType, Member, PathChange, Task

_ROOT: Final = (0, 0)


def archive_facts(change: PathChange, task: Task) -> Iterator[tuple[EffectKey, Hashable]]:
    """Yield the facts of an archive. A compressed file is an archive with one member."""
    path, members = change.path, change.members or ()
    yield EffectKey(path, FileFacet.PACKING), change.packing
    if change.after_end:
        yield EffectKey(path, FileFacet.AFTER_END), change.after_end
    names = [name for member in members if (name := member_name(member))]
    if asks_for_order(task.nl):
        yield EffectKey(path, FileFacet.MEMBER_ORDER), tuple(names)
    for name, values in _values(members).items():
        yield EffectKey(path, FileFacet.MEMBER, name), values[0] if len(values) == 1 else tuple(values)
    for member in members:
        if name := member_name(member):
            yield from _metadata(path, name, member)


def _values(members: tuple[Member, ...]) -> dict[bytes, list[Hashable]]:
    """Return the different values of each name. The last one is the one that an unpacked archive shows."""
    values: dict[bytes, dict[Hashable, None]] = {}
    for member in members:
        name = member_name(member)
        if name:
            values.setdefault(name, {})[(member.type, member.mode, member.content, member.target)] = None
    return {name: list(different) for name, different in values.items()}


def _metadata(path: bytes, name: bytes, member: Member) -> Iterator[tuple[EffectKey, Hashable]]:
    if member.uid is not None:
        yield EffectKey(path, FileFacet.MEMBER_OWNER, name), (member.uid, member.gid)
    if member.mtime is not None:
        yield EffectKey(path, FileFacet.MEMBER_TIME, name), member.mtime


def is_of_copy(difference: Difference) -> bool:
    """Return whether a candidate's member differs only because the command packed a copy of the original."""
    key, present, actual, _ = difference
    if key.facet is FileFacet.MEMBER_TIME:
        return not present
    return key.facet is FileFacet.MEMBER_OWNER and actual == _ROOT


def member_name(member: Member) -> bytes:
    """Return the name of an archive's member without leading `./` and trailing `/`.

    The name of the archived directory itself is empty. The names `./x` and `x` unpack to the same path.
    """
    name = re.sub(rb"^(?:\./+)+", b"", member.name) if member.name.startswith(b"./") else member.name
    if member.type is not FileType.DIRECTORY:
        return name or b"(unnamed)"
    return b"" if name == b"." else name.rstrip(b"/")
