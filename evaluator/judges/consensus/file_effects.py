"""Convert file-system changes to facts, and select the facts to compare.

The judge compares path, kind, type, content and link target. It compares the mode or owner of a path only if a
reference *sets* it. A reference sets it if it changes that of an existing path, or if a new path does not have the
default of `touch` and `mkdir` under the usual umask. So a candidate does not fail because of a mode that the task does
not ask for. An example is `mv` of a copy instead of `sed -i`. The module `file_rights` finds modes and owners that only
a command with this purpose gives. The judge compares archives by their members and compression (`archive_effects`).

Some fields count only if two or more references agree about them: the number of hard links, and the owners and times in
an archive. The time of a file counts if the task observes times. In other tasks, it counts only if a command sets the
time of a file that it does not change otherwise, and the references agree about it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from evaluator.judges.consensus.archive_effects import archive_facts
from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facts, is_agreed, is_taught
from evaluator.judges.consensus.file_facets import FileFacet
from evaluator.judges.reasons import shown
from evaluator.records import Evidence, FileType, Kind, Observation, PathChange, Step, Task

_NEW_FILE_MODE: Final = 0o644
_NEW_DIRECTORY_MODE: Final = 0o755
_NEW_OWNER: Final = (0, 0)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_MOST_SECONDS: Final = 60_000_000_000
"""Seconds from 1970 to the last years that Python can show."""

_TIMES: Final = frozenset({FileFacet.MTIME, FileFacet.SET_TIME, FileFacet.MEMBER_TIME})
_NAMES: Final = {
    FileFacet.TARGET: "target",
    FileFacet.CONTENT: "content",
    FileFacet.PACKING: "packing",
    FileFacet.MODE: "mode",
    FileFacet.OWNER: "owner",
    FileFacet.MTIME: "time",
    FileFacet.ACL: "access control list",
    FileFacet.LINKS: "number of hard links",
    FileFacet.MEMBER_OWNER: "owner",
    FileFacet.MEMBER_TIME: "time",
    FileFacet.MEMBER_ORDER: "order of the members",
    FileFacet.AFTER_END: "bytes after the end",
    FileFacet.SET_TIME: "time",
}
"""The names of the properties of a path or of a member in messages."""
_VERBS: Final = {
    Kind.ADDED: "adds",
    Kind.MODIFIED: "modifies",
    Kind.MODE: "changes mode or owner of",
    Kind.DELETED: "deletes",
    Kind.TYPE: "replaces",
    Kind.TOUCHED: "changes the time of",
}


def file_facts(evidence: Evidence, task: Task) -> Facts:
    """Return the facts of all file changes. Omit the content of the task's `text_files`, which is compared as text."""
    facts: dict[EffectKey, Hashable] = {}
    observes_times = Observation.MTIME in task.observe
    for change in evidence.changes:
        path = change.path
        if change.kind is Kind.TOUCHED and not observes_times:
            facts[EffectKey(path, FileFacet.SET_TIME)] = change.mtime
            continue
        facts[EffectKey(path, FileFacet.KIND)] = (change.kind, change.type)
        if change.kind is Kind.DELETED:
            continue
        facts.update(_content_facts(change, task))
        facts.update(_right_facts(change))
        if observes_times:
            facts[EffectKey(path, FileFacet.MTIME)] = change.mtime
    return facts


def _right_facts(change: PathChange) -> Iterator[tuple[EffectKey, Hashable]]:
    if change.type is not FileType.LINK:
        yield EffectKey(change.path, FileFacet.MODE), change.mode
    yield EffectKey(change.path, FileFacet.OWNER), (change.uid, change.gid)
    lists = (change.acl, change.default_acl)
    if lists != (change.old_acl, change.old_default_acl):
        yield EffectKey(change.path, FileFacet.ACL), lists
    if change.links > 1 and change.kind is not Kind.MODE:
        yield EffectKey(change.path, FileFacet.LINKS), change.links


def _content_facts(change: PathChange, task: Task) -> Iterator[tuple[EffectKey, Hashable]]:
    if change.type is FileType.LINK:
        yield EffectKey(change.path, FileFacet.TARGET), change.target
    elif change.members is not None:
        yield from archive_facts(change, task)
    elif change.type is FileType.FILE and not has_text(change) and change.kind is not Kind.MODE:
        yield EffectKey(change.path, FileFacet.CONTENT), (change.content, change.size)


def has_text(change: PathChange) -> bool:
    """Return whether the evidence holds the full text of a changed file, because the task lists it in `text_files`."""
    return change.text is not None and (change.size is None or len(change.text) >= change.size)


_TAUGHT: Final = frozenset({FileFacet.LINKS, FileFacet.MEMBER_OWNER, FileFacet.MEMBER_TIME, FileFacet.MEMBER_ORDER})
"""The facets that count only if two or more references agree about them."""


def counts(key: EffectKey, references: Sequence[Facts]) -> bool:
    """Return whether a field counts, from the facts of all references."""
    if key.facet is FileFacet.SET_TIME:
        return is_agreed(key, references)
    if key.facet is FileFacet.MEMBER_TIME and not all(key in facts for facts in references):
        return False
    return key.facet not in _TAUGHT or is_taught(key, references)


def sets_mode(change: PathChange) -> bool:
    """Return whether the command changed an existing path's mode, or gave a new path a mode other than the default."""
    if change.mode is None or change.type is FileType.LINK:
        return False
    if change.kind in (Kind.ADDED, Kind.TYPE):
        directory = change.type is FileType.DIRECTORY
        return change.mode != (_NEW_DIRECTORY_MODE if directory else _NEW_FILE_MODE)
    if change.old_mode is None:
        return change.kind is Kind.MODE
    return change.mode != change.old_mode


def sets_owner(change: PathChange) -> bool:
    """Return whether a command changed the owner or group of a path. A new path is compared with the default owner."""
    if change.uid is None:
        return False
    if change.kind in (Kind.ADDED, Kind.TYPE):
        return (change.uid, change.gid) != _NEW_OWNER
    if change.old_uid is None:
        return change.kind is Kind.MODE
    return (change.uid, change.gid) != (change.old_uid, change.old_gid)


def set_keys(changes: Iterable[PathChange]) -> Iterator[EffectKey]:
    """Yield the key of each mode and each owner that these changes set. Do not count the defaults of new paths."""
    for change in changes:
        if sets_mode(change):
            yield EffectKey(change.path, FileFacet.MODE)
        if sets_owner(change):
            yield EffectKey(change.path, FileFacet.OWNER)


def name_fact(key: EffectKey) -> str:
    """Return the name of a fact for messages: the compared field, such as the mode, and the path."""
    path = shown(key.subject)
    if key.facet is FileFacet.KIND:
        return path
    if key.part:
        path = f"member {shown(key.part)} of {path}"
    return path if key.facet is FileFacet.MEMBER else f"{_NAMES[FileFacet(key.facet)]} of {path}"


def describe(difference: Difference) -> str:
    """Describe in one sentence how the command changes a path and how the references change it."""
    key, present, actual, expected = difference
    if key.facet is FileFacet.KIND:
        return _describe_kind(key, present, actual, expected)
    if key.facet is FileFacet.MEMBER:
        return _describe_member(key, present, expected)
    if key.facet is FileFacet.SET_TIME and present and not expected:
        return f"sets the time of {shown(key.subject)} to {_value(key, actual)}, which no reference does"
    if key.facet is FileFacet.AFTER_END:
        return f"archive {shown(key.subject)} has {actual} bytes after its end, which no program unpacks"
    if key.facet is FileFacet.LINKS and present and not expected:
        return f"{shown(key.subject)} has {actual} hard links; in the references it is a file of its own"
    wanted_values = " or ".join(dict.fromkeys(_value(key, value) for value in expected)) or "none"
    return f"{name_fact(key)} is {_value(key, actual) if present else 'missing'}, expected {wanted_values}"


def _describe_kind(key: EffectKey, present: bool, actual: object, expected: tuple[object, ...]) -> str:
    path = shown(key.subject)
    if not present:
        return f"does not change {path}; every reference {_verb_of(expected[0])} it"
    if not expected:
        return f"{_verb_of(actual)} {path}{_as_type(actual)}, which no reference touches"
    return f"{_verb_of(actual)} {path}{_as_type(actual)}; a reference {_verb_of(expected[0])} it{_as_type(expected[0])}"


def _describe_member(key: EffectKey, present: bool, expected: tuple[object, ...]) -> str:
    member, path = shown(key.part), shown(key.subject)
    if not present:
        return f"archive {path} lacks member {member}, which every reference packs"
    if not expected:
        return f"archive {path} holds member {member}, which no reference packs"
    return f"member {member} of archive {path} has another type, mode or content than in the references"


def _verb_of(value: object) -> str:
    return _VERBS[value[0]] if isinstance(value, tuple) else "touches"


def _as_type(value: object) -> str:
    shows = isinstance(value, tuple) and value[0] in (Kind.ADDED, Kind.TYPE) and value[1] is not None
    return f" as a {value[1]}" if shows and isinstance(value, tuple) else ""


def _value(key: EffectKey, value: object) -> str:
    if key.facet is FileFacet.MODE and isinstance(value, int):
        return f"{value:04o}"
    if key.facet in (FileFacet.OWNER, FileFacet.MEMBER_OWNER) and isinstance(value, tuple):
        return f"{value[0]}:{value[1]}"
    if key.facet in _TIMES and isinstance(value, int):
        return (_EPOCH + timedelta(seconds=value)).isoformat(" ") if abs(value) < _MOST_SECONDS else str(value)
    if key.facet is FileFacet.ACL and isinstance(value, tuple):
        return shown(" and default ".join(text or "none" for text in value))
    if key.facet is FileFacet.CONTENT and isinstance(value, tuple):
        return f"{str(value[0])[:8]}… ({value[1]} bytes)"
    return shown(value) if isinstance(value, bytes | str) else repr(value)


FILES: Final = Dimension(Step.FILES, None, file_facts, describe, name_fact, counts)
"""The file-system changes. Every task compares them."""
