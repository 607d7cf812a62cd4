"""Make mutants of a command. Each mutant contains one mistake that people or models make.

    for mutant in mutants_of(b"find . -type f -name '*.c'"):
        print(mutant.operator, mutant.command)

The command is usually a task's reference. If a mutant has the same effects as the reference in the task's test files,
the benchmark cannot detect this mistake in an answer. A mutant keeps all bytes outside its change. The same command
always gives the same mutants in the same order. Duplicates are left out. A mutant that no reader of commands accepts is
left out too, by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from evaluator.shell import calls_of
from evaluator.shell.mutation.embedded_programs import changes_of_embedded_programs
from evaluator.shell.mutation.find_predicates import changes_of_find
from evaluator.shell.mutation.flags import changes_of_flags
from evaluator.shell.mutation.script import Edit, Edits, Script, apply_edits
from evaluator.shell.mutation.structure import changes_of_structure, is_cleaning_up
from evaluator.shell.mutation.utility_mutations import changes_of_utilities
from evaluator.shell.mutation.word_mutations import changes_of_words

__all__ = ["Mutant", "changes_of", "mutants_of"]

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
    for change in changes_of(script):
        operators.setdefault(apply_edits(script.text, change.edits), change.operator)
    keep_unreadable = not only_readable or not _is_readable(script.text)
    return tuple(
        Mutant(operator, text.encode("latin-1"))
        for text, operator in operators.items()
        if keep_unreadable or _is_readable(text)
    )


def changes_of(script: Script) -> Iterator[Edits]:
    """Yield the changes that make the mutants of a command. Two of them may give the same text."""
    cleanups = [call.node for call in script.calls if is_cleaning_up(script.source(call.node))]
    spans = [(node.start_byte, node.end_byte) for node in cleanups]
    for change in _changes(script):
        if _changes_words(script.text, change.edits) and not _is_inside(spans, change.edits):
            yield change


def _changes_words(text: str, edits: Sequence[Edit]) -> bool:
    """Return whether edits change more than blanks. Only the words that they touch are compared: programs are long."""
    start, end = min(edit.start for edit in edits), max(edit.end for edit in edits)
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    return apply_edits(text[start:end], moved).split() != text[start:end].split()


def _is_inside(spans: Sequence[tuple[int, int]], edits: Sequence[Edit]) -> bool:
    """Return whether edits affect only one of the spans, each the start and the end of a cleanup of temporary files."""
    return any(all(start <= edit.start and edit.end <= end for edit in edits) for start, end in spans)


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
