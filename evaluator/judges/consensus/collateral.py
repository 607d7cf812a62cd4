"""Changes outside the task: leftovers in scratch directories, and paths that no reference touches.

A file left in the suite's scratch paths is not a failure unless the task names these paths, because temporary files are
usual in shell work. It is still reported, like every other effect that no reference has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.effects import EffectKey
from evaluator.judges.consensus.file_effects import FileFacet, set_keys
from evaluator.records import Kind, PathChange, Task


def scratch_leftovers(case: Case, variant: str) -> frozenset[bytes]:
    """Return the new paths in scratch directories that neither the task names nor a reference touches."""
    if case.candidate is None:
        return frozenset()
    free = _free_scratch(case)
    return frozenset(
        change.path
        for change in case.candidate.trials[variant].first.changes
        if change.kind is Kind.ADDED and any(_is_within(change.path, path) for path in free)
    )


def changes_beyond_scratch(case: Case, command: Executed) -> bool:
    """Return whether a command changes something outside the suite's scratch directories, in any variant."""
    home = case.home.rstrip("/")
    scratch = [re.sub("^~", home, path).encode() for path in case.scratch]
    changed = {change.path for trial in command.trials.values() for change in trial.first.changes}
    return any(not any(_is_within(path, directory) for directory in scratch) for path in changed)


def _free_scratch(case: Case) -> list[bytes]:
    home = case.home.rstrip("/")
    spellings = [
        {path, path.replace("~", home, 1), path.replace("~", "$HOME", 1)} if path.startswith("~") else {path}
        for path in case.scratch
    ]
    named = [any(_names(case.task, spelling) for spelling in spelled) for spelled in spellings]
    paths = [(home + path[1:] if path.startswith("~") else path).encode() for path in case.scratch]
    touched = touched_paths(case)
    return [
        path
        for path, is_named in zip(paths, named, strict=True)
        if not is_named and not any(_is_within(other, path) for other in touched)
    ]


def _names(task: Task, path: str) -> bool:
    text = task.nl if task.setup is None else f"{task.nl}\n{task.setup.decode(errors='replace')}"
    return re.search(rf"(?<![\w/~.-]){re.escape(path)}(?![\w-])", text) is not None


def _is_within(path: bytes, directory: bytes) -> bool:
    return path == directory or path.startswith(directory + b"/")


def has_collateral(case: Case) -> bool:
    """Return whether the candidate, in some variant, touches a path or sets a mode or owner that no reference does."""
    return case.candidate is not None and any(
        _beyond(case.candidate, case.references, variant)
        for variant in case.variants
        if variant in case.candidate.trials
    )


def collateral_paths(case: Case) -> tuple[bytes, ...]:
    """Return the sorted paths for which `has_collateral` holds, in any variant."""
    if case.candidate is None:
        return ()
    variants = [variant for variant in case.variants if variant in case.candidate.trials]
    found = frozenset[EffectKey]().union(*(_beyond(case.candidate, case.references, each) for each in variants))
    return tuple(sorted({key.subject for key in found}))


def _beyond(candidate: Executed, references: Sequence[Executed], variant: str) -> frozenset[EffectKey]:
    ours = candidate.trials[variant].first.changes
    theirs = [item.trials[variant].first.changes for item in references if variant in item.trials]
    if not ours or ours in theirs:
        return frozenset()
    return _footprint(ours) - frozenset[EffectKey]().union(*map(_footprint, theirs))


def _footprint(changes: Sequence[PathChange]) -> frozenset[EffectKey]:
    return set_keys(changes) | {EffectKey(change.path, FileFacet.KIND) for change in changes}


def touched_paths(case: Case) -> frozenset[bytes]:
    """Return every path that some reference touches in some variant."""
    return frozenset(
        change.path
        for reference in case.references
        for trial in reference.trials.values()
        for change in trial.first.changes
    )
