"""Read commands with bashlex, bash's own grammar carried over to Python.

It is the reader of first choice because its words are what bash itself would see. It is slow (0.3 ms for an
everyday command, seconds for 100 kB) and recursive, hence the limit on length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from evaluator.shell.syntax import MAX_DEPTH, Call, UnreadableError, Word
from evaluator.shell.words import unquoted

_QUOTED: Final = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)

_UNENDING: Final = re.compile(r"\$\{[^}']*(?:'|\Z)")
"""`${` that no `}` follows in its word, as it may be between single quotes: bashlex looks for one there too, and begins
the word again where there is none, for ever."""

MAX_CHARACTERS: Final = 4096
"""Longer commands go to the other reader: bashlex's time grows with the square of a pipeline's length."""


def read_calls(command: str) -> tuple[Call, ...]:
    """All calls of a command in the order they are written. Raises UnreadableError."""
    return tuple(_Trees(command).calls(parsed(command), 0))


def parsed(command: str) -> Sequence[Any]:
    """bashlex's trees of a command, which are not to be written to. Raises UnreadableError."""
    trees = remembered(command)
    if isinstance(trees, str):
        raise UnreadableError(trees)
    return trees


@lru_cache(maxsize=64)
def remembered(command: str) -> Sequence[Any] | str:
    """Trees, or why there are none. A command is often read twice in a row, with the organisers' eyes and with ours."""
    if len(command) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters"
    if _UNENDING.search(command):
        return "bashlex: an expansion that may have no end"
    import bashlex  # which makes its tables when imported: 0.1 s, for nothing where no command is read

    try:
        trees: Sequence[Any] = bashlex.parse(command)
    # bashlex meets unforeseen input with assertion, attribute, index and type errors and RecursionError beside
    # its own exceptions; whatever it raises, it has not read the command.
    except Exception as error:
        return f"bashlex: {error}"
    return trees


class _Trees:
    """bashlex's trees of one command; their nodes say where in its source they stand."""

    def __init__(self, source: str) -> None:
        self.source = source

    def calls(self, nodes: Sequence[Any], depth: int) -> Iterator[Call]:
        """Calls at or under nodes, in order."""
        if depth > MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH}")
        stack = list(reversed(nodes))
        while stack:
            node = stack.pop()
            if node.kind == "command":
                yield self._call(node, depth)
            elif node.kind == "word":
                yield from self._word(node, depth).nested
            elif node.kind == "redirect":
                yield from self._redirected(node, depth)
            else:
                stack.extend(reversed(_children(node)))

    def _call(self, node: Any, depth: int) -> Call:
        words: list[Word] = []
        nested: list[Call] = []
        for part in node.parts:
            if part.kind == "word":
                words.append(self._word(part, depth))
            elif part.kind == "redirect":
                nested.extend(self._redirected(part, depth))
            else:
                nested.extend(self.calls(self._live(part), depth + 1))
        return Call(tuple(words), tuple(nested))

    def _word(self, node: Any, depth: int) -> Word:
        text = self.source[slice(*node.pos)]
        if "\\" in text or "'" in text or '"' in text:
            text = unquoted(text)
        return Word(text, tuple(self.calls(self._live(node), depth + 1)) if node.parts else ())

    def _live(self, node: Any) -> list[Any]:
        """Parts of a word outside single quotes: inside them bashlex expands what bash leaves alone."""
        start, end = node.pos
        quoted = [
            range(start + found.start(), start + found.end())
            for found in _QUOTED.finditer(self.source[start:end])
            if found[0].startswith("'")
        ]
        return [part for part in node.parts if not any(part.pos[0] in span for span in quoted)]

    def _redirected(self, node: Any, depth: int) -> Iterator[Call]:
        for target in (node.input, node.output):
            if getattr(target, "kind", None) == "word":
                yield from self._word(target, depth).nested


def _children(node: Any) -> list[Any]:
    if node.kind == "compound":
        return [*node.list, *node.redirects]
    if node.kind in ("commandsubstitution", "processsubstitution"):
        return [node.command]
    return getattr(node, "parts", [])
