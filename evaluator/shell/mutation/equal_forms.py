"""Find the mutants of references that have the canonical form of a command.

To parse all mutants of a suite of programs takes minutes. So the words of the forms are compared first, without
parsing a mutant: a mutant has the words of its reference, except those that its edits touch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from evaluator.records import command_digest
from evaluator.shell.bash_parser import parse_bash
from evaluator.shell.canonical import FormWriter, canonical_form, form_digest, form_keys
from evaluator.shell.mutation import changes_of
from evaluator.shell.mutation.script import Edit, Script, apply_edits

Words = Counter[str]
"""How often each word stands in a form or in a text."""

_WORD: Final = re.compile(r"[A-Za-z_]{2,}|[0-9]+")
"""A word or a number. A single letter may be an option with a long name."""

_LETTER: Final = re.compile(r"[A-Za-z0-9_]")
_UNCOUNTED: Final = frozenset({
    "script", "simple", "words", "call", "raw", "assignment", "pipeline", "substitution", "parameter", "arithmetic",
    "array", "source", "function", "pattern", "if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do",
    "done", "case", "esac", "select", "time", "true", "command", "lines", "text",
})  # fmt: skip
"""Words of which a form and a text hold different numbers, in every spelling."""

_QUOTING: Final = str.maketrans("", "", "\\'\"$\n")
"""Characters that may divide a word in a text."""

_BLANKS: Final = " \t\n\r\v\f"


def mutants_with_form(references: Sequence[bytes], command: bytes) -> tuple[str, ...]:
    """Return the digests of the mutants of references that have the canonical form of a command, sorted.

    There are none if a reference has this form. If no parser reads the command, or if it sees its own text, a mutant
    must have its text.
    """
    keys = set(form_keys(command)).difference(*map(form_keys, references))
    if not keys:
        return ()
    form = canonical_form(command)
    words = None if form is None or form[0] == "text" else _words_of_form(command)
    text = command.decode("latin-1").strip(_BLANKS)
    similar = (mutant for reference in references for mutant in _similar_mutants(reference, text, words))
    return tuple(sorted({command_digest(mutant) for mutant in similar if form_digest(mutant) in keys}))


def _similar_mutants(reference: bytes, text: str, words: Words | None) -> Iterator[bytes]:
    """Yield the mutants of a reference that have this text, or about as many of each of these words as a form has."""
    source = reference.decode("latin-1")
    surplus: Words = Counter(words)
    surplus.subtract(_words_of_form(reference))
    distance = sum(map(abs, surplus.values()))
    more = [word for word, count in surplus.items() if count > 0]
    for edits, added in _edits(reference):
        mutant = apply_edits(source, edits)
        if mutant.strip(_BLANKS) == text or (
            words is not None
            and _differs_little(surplus, distance, added)
            and _holds(mutant.translate(_QUOTING), words, (*more, *added))
        ):
            yield mutant.encode("latin-1")


def _differs_little(surplus: Words, distance: int, added: Words) -> bool:
    """Return whether the words of a command are those of a mutant, apart from a few.

    `surplus` holds the words that the command's form has more than the reference's form, and `distance` their number.
    `added` holds the words that the mutant has more than the reference. Edits also change letters of options, quotes
    and comments, so some words may differ. All mutants of `core` keep this limit, and so do all in a sample of every
    twelfth of `programs`. A mutant that did not would be compared by its text.
    """
    touched = sum(map(abs, added.values()))
    rest = distance + sum(abs(surplus[word] - count) - abs(surplus[word]) for word, count in added.items())
    return rest <= min(1 + touched, 3 + touched // 2)


def _holds(text: str, words: Words, asked: Iterable[str]) -> bool:
    """Return whether a text without quotes has these words as often as a form has them."""
    return all(text.count(word) >= words[word] for word in asked)


@lru_cache(maxsize=8)
def _edits(reference: bytes) -> list[tuple[tuple[Edit, ...], Words]]:
    """Return the edits that make each mutant of a reference, and the words that they add, below 0 for removed words."""
    script = Script.read(reference)
    return [(change.edits, _added_words(script.text, change.edits)) for change in changes_of(script)]


def _added_words(text: str, edits: Sequence[Edit]) -> Words:
    """Return the words that edits add to a text. Only the words that they touch are counted."""
    start, end = min(edit.start for edit in edits), max(edit.end for edit in edits)
    while start > 0 and _LETTER.match(text, start - 1):
        start -= 1
    while _LETTER.match(text, end):
        end += 1
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    added = _words_of_text(apply_edits(text[start:end], moved))
    added.subtract(_words_of_text(text[start:end]))
    return Counter({word: count for word, count in added.items() if count})


def _words_of_text(text: str) -> Words:
    return Counter(word for word in _WORD.findall(text) if word not in _UNCOUNTED)


@lru_cache(maxsize=8)
def _words_of_form(command: bytes) -> Words:
    """Return the words in a command's form, also if the form of the whole command is its text."""
    form = canonical_form(command)
    if form is not None and form[0] == "text":
        script = parse_bash(command.decode(errors="surrogateescape"))
        form = FormWriter(script).script(script)
    parts: list[object] = [form]
    words: Words = Counter()
    while parts:
        part = parts.pop()
        if isinstance(part, tuple):
            # The number of a redirection's descriptor need not stand in the text.
            parts += part[1:] if len(part) == 3 and isinstance(part[1], str) and part[1][:1] in "<>&" else part
        elif isinstance(part, str):
            words.update(_words_of_text(part))
    return words
