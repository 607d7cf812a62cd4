"""Make mutants of a command. Each mutant contains one mistake that people or models make.

    for mutant in mutants_of(b"find . -type f -name '*.c'"):
        print(mutant.operator, mutant.command)

The command is usually a task's reference. If a mutant has the same effects as the reference in the task's test files,
the benchmark cannot detect this mistake in an answer. A mutant keeps all bytes outside its change. The same command
always gives the same mutants in the same order. Duplicates are left out. A mutant that no reader of commands accepts is
left out too, by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from evaluator.shell import calls_of
from evaluator.shell.mutation.embedded_programs import changes_of_embedded_programs
from evaluator.shell.mutation.find_predicates import changes_of_find
from evaluator.shell.mutation.flags import changes_of_flags
from evaluator.shell.mutation.script import Edit, Edits, Script, apply_edits
from evaluator.shell.mutation.structure import changes_of_structure, is_cleaning_up
from evaluator.shell.mutation.utility_mutations import changes_of_utilities
from evaluator.shell.mutation.word_mutations import changes_of_words

__all__ = ["Mutant", "mutants_of"]

_FAMILIES: Final[tuple[Callable[[Script], Iterator[Edits]], ...]] = (
    changes_of_structure,
    changes_of_find,
    changes_of_flags,
    changes_of_utilities,
    changes_of_embedded_programs,
    changes_of_words,
)


class Mutant(NamedTuple):
    """A copy of a command with one mistake, and the name of the mutation operator that made the mistake."""

    operator: str
    command: bytes


def mutants_of(command: bytes, *, only_readable: bool = True) -> tuple[Mutant, ...]:
    """Return every mutant of a command. If two changes give the same text, only the first mutant is kept.

    If `only_readable` is false, mutants that no reader of commands accepts are kept. To read all mutants takes most of
    the time.
    """
    script = Script.read(command)
    operators: dict[str, str] = {}
    for change in _changes(script):
        text = apply_edits(script.text, change.edits)
        if text.split() != script.text.split() and not _is_in_cleanup(script, change):
            operators.setdefault(text, change.operator)
    keep_unreadable = not only_readable or not _is_readable(script.text)
    return tuple(
        Mutant(operator, text.encode("latin-1"))
        for text, operator in operators.items()
        if keep_unreadable or _is_readable(text)
    )


def _is_in_cleanup(script: Script, change: Edits) -> bool:
    """Return whether a change affects only a part of the command that removes the command's own temporary files."""
    cleanups = [call.node for call in script.calls if is_cleaning_up(script.source(call.node))]
    return any(
        all(node.start_byte <= edit.start and edit.end <= node.end_byte for edit in change.edits) for node in cleanups
    )


def _is_readable(text: str) -> bool:
    """Return whether at least one reader of shell commands accepts the text. The faster reader is tried first."""
    return not Script.read(text.encode("latin-1")).root.has_error or calls_of(text) is not None


def _changes(script: Script) -> Iterator[Edits]:
    for family in _FAMILIES:
        yield from family(script)
    for offset, nested in script.nested:
        for change in _changes(nested):
            edits = tuple(Edit(edit.start + offset, edit.end + offset, edit.text) for edit in change.edits)
            yield Edits(change.operator, edits)
