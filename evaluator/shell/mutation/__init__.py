"""Mutants of a command: the mistakes that people and models make, each applied alone.

    for mutant in mutants_of(b"find . -type f -name '*.c'"):
        print(mutant.operator, mutant.command)

If a benchmark's world cannot distinguish a mutant from its reference, it cannot detect that mistake in an answer.
Changes use the parsed command and the option table, and keep every other byte. The same command gives the same mutants
in the same order. The result has no duplicates and no mutant that both readers refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from evaluator.shell import calls_of
from evaluator.shell.mutation.embedded_programs import changes_of_languages
from evaluator.shell.mutation.find_predicates import changes_of_finding
from evaluator.shell.mutation.flags import changes_of_flags
from evaluator.shell.mutation.script import Edit, Edits, Script, applied
from evaluator.shell.mutation.structure import changes_of_structure, is_cleaning_up
from evaluator.shell.mutation.utility_mutations import changes_of_utilities
from evaluator.shell.mutation.word_mutations import changes_of_words

__all__ = ["Mutant", "mutants_of"]

_FAMILIES: Final[tuple[Callable[[Script], Iterator[Edits]], ...]] = (
    changes_of_structure,
    changes_of_finding,
    changes_of_flags,
    changes_of_utilities,
    changes_of_languages,
    changes_of_words,
)


class Mutant(NamedTuple):
    """A command that differs from another by one mistake, and the name of the mutation operator."""

    operator: str
    command: bytes


def mutants_of(command: bytes) -> tuple[Mutant, ...]:
    """Return every mutant of a command. If two changes give the same text, only the first is kept."""
    script = Script.read(command)
    found: dict[str, str] = {}
    for change in _changes(script):
        text = applied(script.text, change.edits)
        if text.split() != script.text.split() and not _is_in_cleanup(script, change):
            found.setdefault(text, change.operator)
    readable = _is_read(script.text)
    kept = (text for text in found if not readable or _is_read(text))
    return tuple(Mutant(found[text], text.encode("latin-1")) for text in kept)


def _is_in_cleanup(script: Script, change: Edits) -> bool:
    """Return whether a change affects only a call that removes its own temporary files."""
    cleaning = [
        (call.node.start_byte, call.node.end_byte) for call in script.calls if is_cleaning_up(script.source(call.node))
    ]
    return any(all(start <= edit.start and edit.end <= end for edit in change.edits) for start, end in cleaning)


def _is_read(text: str) -> bool:
    """Return whether either reader accepts the text. The faster one goes first."""
    return not Script.read(text.encode("latin-1")).root.has_error or calls_of(text) is not None


def _changes(script: Script) -> Iterator[Edits]:
    for family in _FAMILIES:
        yield from family(script)
    for offset, nested in script.nested:
        for change in _changes(nested):
            edits = tuple(Edit(each.start + offset, each.end + offset, each.text) for each in change.edits)
            yield Edits(change.operator, edits)
