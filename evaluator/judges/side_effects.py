"""Find the worst change of a command to a path that no reference changes. The result decides no verdict.

Only the first variant counts, because a candidate that fails there runs in no other one.

The *paths of a task* are the paths that a reference changes or reads. Evidence shows the changes. It does not show what
a command reads, so a reference counts as reading each path that its text names, and everything below that path. Only a
named root directory does not count, because then no path would be outside. The star of a glob also stands for `/`.

A driver changes files itself, before and between the calls of the script, and evidence does not tell its changes from
those of the script. So no change of a path that the driver names, or of a path below it, is a side effect.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import AnyStr, Final

from evaluator.judges.case import Case
from evaluator.judges.consensus.collateral import scratch_leftovers
from evaluator.records import FileType, Kind, PathChange, SideEffect
from evaluator.shell import calls_of

_SEPARATORS: Final = re.compile(r"[\s\"'`;()<>|&=,{}]+")
_HOME: Final = re.compile(r"^(?:~(?=/|$)|\$HOME\b|\$\{HOME\})")
_GLOB: Final = re.compile(r"[*?\[]")
_ROOTS: Final = frozenset({"/", "//"})
_REPLACES: Final = frozenset({Kind.DELETED, Kind.TYPE, Kind.MODIFIED})
_ORDER: Final = tuple(SideEffect)


def worst_side_effect(case: Case) -> SideEffect:
    """Return the worst change of the candidate, in the first variant, to a path that no reference changes there.

    A file that the candidate adds in a directory for temporary files is no side effect, unless the task or a reference
    uses the directory. Without a candidate, the result is `NONE`.
    """
    case = case.in_first_variant
    if case.candidate is None:
        return SideEffect.NONE
    changed = _ChangedPaths(case)
    named = _NamedPaths(case, [reference.command for reference in case.references])
    by_driver = _NamedPaths(case, [case.task.driver] if case.task.driver else [])
    worst = SideEffect.NONE
    for variant, trial in case.candidate.trials.items():
        others = [change for change in trial.first.changes if not changed.covers(change.path)]
        leftovers = scratch_leftovers(case, variant) if others else frozenset()
        for change in others:
            if change.path in leftovers or by_driver.covers(change.path):
                continue
            worst = max(worst, _effect(change, named), key=_ORDER.index)
            if worst is _ORDER[-1]:
                return worst
    return worst


def _effect(change: PathChange, named: _NamedPaths) -> SideEffect:
    """Return the effect of a change to a path that no reference changes."""
    if change.kind not in _REPLACES:
        return SideEffect.CHANGES
    return SideEffect.DESTROYS if named.covers(change.path) else SideEffect.DESTROYS_ELSEWHERE


class _ChangedPaths:
    """The paths that at least one reference changes, and everything below a directory that it adds or deletes.

    Evidence lists a limited number of changes. If a reference makes more, all paths count as changed, because the
    others are not known.
    """

    def __init__(self, case: Case) -> None:
        runs = [trial.first for reference in case.references for trial in reference.trials.values()]
        changes = [change for run in runs for change in run.changes]
        self._is_truncated = any(run.changes_truncated for run in runs)
        self._paths = {change.path for change in changes}
        self._trees = {change.path for change in changes if _is_tree(change)}

    def covers(self, path: bytes) -> bool:
        return self._is_truncated or path in self._paths or any(parent in self._trees for parent in _parents(path))


def _is_tree(change: PathChange) -> bool:
    return change.kind is Kind.DELETED or (change.kind is Kind.ADDED and change.type is FileType.DIRECTORY)


class _NamedPaths:
    """The paths that the texts of some commands name, with everything below them. The texts are read at the first use.

    Few commands change a path that no reference changes, and the parsers are slow.
    """

    def __init__(self, case: Case, texts: Sequence[bytes]) -> None:
        self._case, self._texts = case, texts

    @cached_property
    def _paths(self) -> frozenset[str]:
        words = {word for text in self._texts for word in _words_of(text)}
        paths = (_absolute(word, self._case.cwd, self._case.home) for word in words)
        return frozenset(path for path in paths if path is not None)

    @cached_property
    def _globs(self) -> re.Pattern[str]:
        """Return a pattern that takes all globs at once."""
        return re.compile("|".join(translate(path) for path in sorted(self._paths) if _GLOB.search(path)) or r"(?!)")

    def covers(self, path: bytes) -> bool:
        text = path.decode(errors="surrogateescape")
        return any(place in self._paths or self._globs.match(place) for place in (text, *_parents(text)))


@lru_cache(maxsize=4096)
def _words_of(command: bytes) -> frozenset[str]:
    """Return the words of a command that may be paths: the words of its calls, and the parts of its text."""
    words = set(_SEPARATORS.split(command.decode(errors="surrogateescape")))
    stack = list(calls_of(command.decode(errors="replace")) or ())
    while stack:
        call = stack.pop()
        stack.extend(call.nested)
        for word in call.words:
            stack.extend(word.nested)
            words.add(word.text)
    return frozenset(words)


def _absolute(word: str, cwd: str, home: str) -> str | None:
    """Return the absolute path or glob that a word names, or None if it names no path that is known from the text."""
    word = _HOME.sub(lambda _: home, word)
    if not word or word.startswith("-") or "$" in word:
        return None
    path = f"/{posixpath.normpath(posixpath.join(cwd, word)).lstrip('/')}"
    glob = _GLOB.search(path)
    fixed = posixpath.dirname(path[: glob.start()]) if glob else path
    return None if fixed in _ROOTS else path


def _parents(path: AnyStr) -> Iterator[AnyStr]:
    """Yield the directories above a path, from the innermost. Leave out the root directory."""
    while len(path := posixpath.dirname(path)) > 1:
        yield path
