"""Find collateral changes: files left in scratch directories, and changes of paths that no reference changes.

A scratch directory is one of the suite's directories for temporary files. A new file there is not a failure, unless the
task or a reference uses the directory. The file is still reported as a collateral change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.effects import EffectKey
from evaluator.judges.consensus.file_effects import set_keys
from evaluator.judges.consensus.file_facets import FileFacet
from evaluator.records import Kind, PathChange, Task


def scratch_leftovers(case: Case, variant: str) -> frozenset[bytes]:
    """Return the paths that the candidate creates in the suite's scratch directories, which are for temporary files.

    Skip directories that the task or a reference uses.
    """
    if case.candidate is None:
        return frozenset()
    free_paths = frozenset(_free_scratch(case))
    below = tuple(path + b"/" for path in free_paths)
    return frozenset(
        change.path
        for change in case.candidate.trials[variant].first.changes
        if change.kind is Kind.ADDED and (change.path in free_paths or change.path.startswith(below))
    )


def changes_beyond_scratch(case: Case, command: Executed) -> bool:
    """Return whether a command changes, in any variant, a path outside the suite's directories for temporary files."""
    scratch = scratch_paths(case)
    changed = {change.path for trial in command.trials.values() for change in trial.first.changes}
    return any(not any(_is_within(path, directory) for directory in scratch) for path in changed)


def scratch_paths(case: Case) -> list[bytes]:
    """Return the absolute paths of the suite's directories for temporary files."""
    home = case.home.rstrip("/")
    return [re.sub("^~", home, path).encode() for path in case.scratch]


def _free_scratch(case: Case) -> list[bytes]:
    home, touched = case.home.rstrip("/"), touched_paths(case)
    free_paths = []
    for path in case.scratch:
        spellings, absolute = {path}, path.encode()
        if path.startswith("~"):
            spellings |= {path.replace("~", home, 1), path.replace("~", "$HOME", 1)}
            absolute = (home + path[1:]).encode()
        is_named = any(_names(case.task, spelling) for spelling in spellings)
        if not is_named and not any(_is_within(other, absolute) for other in touched):
            free_paths.append(absolute)
    return free_paths


def _names(task: Task, path: str) -> bool:
    text = task.nl if task.setup is None else f"{task.nl}\n{task.setup.decode(errors='replace')}"
    return re.search(rf"(?<![\w/~.-]){re.escape(path)}(?![\w-])", text) is not None


def _is_within(path: bytes, directory: bytes) -> bool:
    return path == directory or path.startswith(directory + b"/")


def has_collateral(case: Case) -> bool:
    """Return whether the candidate changes a path, mode or owner in the first variant that no reference changes there.

    A candidate that fails in the first variant runs in no other one, so only this variant is the same for all.
    """
    return next(_collateral_keys(case), None) is not None


def collateral_paths(case: Case) -> tuple[bytes, ...]:
    """Return the sorted paths of collateral changes: changes in the first variant that no reference makes there."""
    return tuple(sorted({key.subject for key in _collateral_keys(case)}))


def _collateral_keys(case: Case) -> Iterator[EffectKey]:
    first = case.in_first_variant
    if first.candidate is not None:
        for variant in first.candidate.trials:
            yield from _unmatched_keys(first.candidate, first.references, variant)


def _unmatched_keys(candidate: Executed, references: Sequence[Executed], variant: str) -> Iterator[EffectKey]:
    candidate_changes = candidate.trials[variant].first.changes
    reference_changes = [
        reference.trials[variant].first.changes for reference in references if variant in reference.trials
    ]
    if candidate_changes and candidate_changes not in reference_changes:
        matched = frozenset(chain.from_iterable(map(_footprint, reference_changes)))
        yield from (key for key in _footprint(candidate_changes) if key not in matched)


def _footprint(changes: Sequence[PathChange]) -> Iterator[EffectKey]:
    return chain((EffectKey(change.path, FileFacet.KIND) for change in changes), set_keys(changes))


def touched_paths(case: Case) -> frozenset[bytes]:
    """Return every path that at least one reference changes in at least one variant."""
    return frozenset(
        change.path
        for reference in case.references
        for trial in reference.trials.values()
        for change in trial.first.changes
    )
