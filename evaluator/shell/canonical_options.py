"""Split the options of a simple command, and order them if their order says nothing.

The table of options (`options.toml`) has the long names of letters and the letters whose order is free. A command whose
options are not all in the table keeps its words as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.shell.options import Options, option_table

Word = tuple[object, ...]
"""The form of a word: texts, and tuples for patterns and expansions."""

_NO_OPERAND: Final = ("-", "+")
"""First characters of a word that may be an option. Some programs read `+2` as a number, but not after `--`."""

_PLUS_IS_NO_OPTION: Final = frozenset({"date", "chmod"})
"""Programs for which a word with a `+` in front is an operand like another, as in `date +%F`."""

_COUNTED: Final = frozenset({"head", "tail"})
"""Programs whose first option may be a number of lines: `-5` is `-n 5`."""

_UNSAFE: Final = frozenset({"parameter", "arithmetic", "substitution", "array"})


def literal_of(word: Word) -> str | None:
    """Return the text of a word that is only text, or None.

    >>> literal_of(("ls",)), literal_of((("*", "*"), ".c"))
    ('ls', None)
    """
    return word[0] if len(word) == 1 and isinstance(word[0], str) else None


def canonical_words(words: Sequence[Word]) -> Word:
    """Return the form of the words of a simple command: a program, its options, and its operands.

    Without an entry in the table, the form has the words in their order.
    """
    program = literal_of(words[0]) if words else None
    options = option_table().get(program) if program is not None else None
    if options is None or not (options.long or options.free):
        return ("words", *words)
    found = _OptionReader(words, options).read()
    if found is None:
        return ("words", *words)
    flags, operands = found
    if all(name in options.free or name in options.beside for name, _ in flags):
        free = sorted({flag for flag in flags if flag[0] in options.free})
        flags = [*free, *(flag for flag in flags if flag[0] in options.beside)]
    return ("call", program, tuple(flags), tuple(operands))


class _OptionReader:
    """Reads the words of one call by the options of its program, as `getopt_long` of GNU does."""

    def __init__(self, words: Sequence[Word], options: Options) -> None:
        self.words, self.options, self.at = words, options, 1
        self.flags: list[tuple[str, str | None]] = []

    def read(self) -> tuple[list[tuple[str, str | None]], list[Word]] | None:
        """Return the options and the operands, or None if the table does not tell what a word is."""
        operands: list[Word] = []
        while self.at < len(self.words):
            word = self.words[self.at]
            text = literal_of(word)
            if text == "--":
                rest = self.words[self.at + 1 :]
                return (self.flags, [*operands, *rest]) if all(map(_is_operand, rest)) else None
            if text is not None and text.startswith("-") and text != "-":
                self.at += 1
                if not (self._take_long(text) if text.startswith("--") else self._take_cluster(text)):
                    return None
            elif _is_operand(word) or self._is_plus_operand(text):
                operands.append(word)
                self.at += 1
            else:
                return self._with_unknown(operands)
        return self.flags, operands

    def _is_plus_operand(self, text: str | None) -> bool:
        return text is not None and text.startswith("+") and literal_of(self.words[0]) in _PLUS_IS_NO_OPTION

    def _with_unknown(self, operands: list[Word]) -> tuple[list[tuple[str, str | None]], list[Word]] | None:
        """Return what was read if no option follows: an expansion may itself be an option, or end the options."""
        rest = self.words[self.at :]
        starts = (word[0] for word in rest if word)
        if any(isinstance(start, str) and start.startswith(_NO_OPERAND) for start in starts):
            return None
        return self.flags, [*operands, *rest]

    def _take_long(self, text: str) -> bool:
        name, equals, value = text[2:].partition("=")
        letter = self.options.long.get(name)
        if letter is None:
            return False
        if letter in self.options.values:
            return self._add(letter, value if equals else None, needs=True)
        return not equals and letter in self.options.flags and self._add(letter, None, needs=False)

    def _take_cluster(self, text: str) -> bool:
        if self.at == 2 and text[1:].isdigit() and text.isascii() and literal_of(self.words[0]) in _COUNTED:
            return self._add("n", text[1:], needs=True)
        for position, letter in enumerate(text[1:], start=2):
            letter = self.options.long.get(letter, letter)
            if letter in self.options.values:
                return self._add(letter, text[position:] or None, needs=True)
            if letter not in self.options.flags:
                return False
            self._add(letter, None, needs=False)
        return True

    def _add(self, letter: str, value: str | None, *, needs: bool) -> bool:
        if needs and value is None:
            value = literal_of(self.words[self.at]) if self.at < len(self.words) else None
            self.at += 1
            if not value:
                return False
        self.flags.append((letter, value))
        return True


def _is_operand(word: Word) -> bool:
    """Return whether a word certainly is one operand or more, whatever it expands to."""
    first = word[0] if word else ""
    if word == ("-",) or (isinstance(first, tuple) and first[0] in ("<(", ">(")):
        return True
    if not isinstance(first, str) or not first or first.startswith(_NO_OPERAND):
        return False
    return not any(isinstance(token, tuple) and token[0] in _UNSAFE and token[1] is not True for token in word)
