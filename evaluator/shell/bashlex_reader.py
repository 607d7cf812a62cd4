"""Read commands with bashlex, a Python port of bash's own grammar.

A command is read with bashlex first, and with the parser tree-sitter only if bashlex refuses the command. The reason is
that bashlex splits words exactly as bash does. But bashlex is recursive and slow (0.3 ms for a usual command, seconds
for 100 kB). So this module refuses commands above a maximum length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from evaluator.shell.syntax import MAX_DEPTH, Call, UnreadableError, Word
from evaluator.shell.words import remove_quotes

_QUOTED: Final = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)

MAY_HAVE_NO_END: Final = "bashlex: an expansion that may have no end"
"""The reason for not reading a command on which bashlex may hang. A harmless quoted text may look like one."""

_UNENDING: Final = re.compile(r"\$\{(?:[^}'$]|\$(?!\{))*+(?:'|\Z)")
"""A `${` without a `}` in the same word, for example between single quotes. bashlex looks for the `}` there too. If
there is none, it starts the word again, forever. The pattern begins at the last such `${`, and tries each only once."""

MAX_CHARACTERS: Final = 4096
"""Longer commands go to tree-sitter, because bashlex's time grows with the square of a pipeline's length."""


def read_calls(command: str) -> tuple[Call, ...]:
    """Return all calls of utilities in a command, in source order. Raise UnreadableError if bashlex cannot read it."""
    return tuple(_Trees(command).calls(parse_trees(command), 0))


def parse_trees(command: str) -> Sequence[Any]:
    """Return bashlex's syntax trees of a command. Callers must not modify these trees.

    Raise UnreadableError if bashlex cannot read the command.
    """
    trees = cached_trees(command)
    if isinstance(trees, str):
        raise UnreadableError(trees)
    return trees


@lru_cache(maxsize=64)
def cached_trees(command: str) -> Sequence[Any] | str:
    """Return bashlex's syntax trees of a command, or the reason why bashlex cannot read the command.

    Results are cached, because a command is often read twice.
    """
    if len(command) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters"
    if _UNENDING.search(command):
        return MAY_HAVE_NO_END
    import bashlex  # Importing builds its tables (0.1 s), so import only when a command is read.

    try:
        trees: Sequence[Any] = bashlex.parse(command)
    # On unexpected input, bashlex raises assertion, attribute, index and type errors and RecursionError besides its
    # own exceptions. All of them mean that the command is unreadable.
    except Exception as error:
        return f"bashlex: {error}"
    return trees


class _Trees:
    """A reader of bashlex's syntax trees of one command. The trees' nodes hold positions in the command's source."""

    def __init__(self, source: str) -> None:
        self.source = source

    def calls(self, nodes: Sequence[Any], depth: int) -> Iterator[Call]:
        """Yield the calls of utilities in these nodes of a tree and in the nodes below, in source order."""
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
                yield from self._redirection(node, depth)
            else:
                stack.extend(reversed(_children(node)))

    def _call(self, node: Any, depth: int) -> Call:
        words: list[Word] = []
        nested: list[Call] = []
        for part in node.parts:
            if part.kind == "word":
                words.append(self._word(part, depth))
            elif part.kind == "redirect":
                nested.extend(self._redirection(part, depth))
            else:
                nested.extend(self.calls(self._expanded_parts(part), depth + 1))
        return Call(tuple(words), tuple(nested))

    def _word(self, node: Any, depth: int) -> Word:
        text = self.source[slice(*node.pos)]
        if "\\" in text or "'" in text or '"' in text:
            text = remove_quotes(text)
        return Word(text, tuple(self.calls(self._expanded_parts(node), depth + 1)) if node.parts else ())

    def _expanded_parts(self, node: Any) -> list[Any]:
        """Return a word's expansions. Omit those in single quotes, because bash does not expand them."""
        start, end = node.pos
        quoted = [
            range(start + match.start(), start + match.end())
            for match in _QUOTED.finditer(self.source[start:end])
            if match[0].startswith("'")
        ]
        return [part for part in node.parts if not any(part.pos[0] in span for span in quoted)]

    def _redirection(self, node: Any, depth: int) -> Iterator[Call]:
        for target in (node.input, node.output):
            if getattr(target, "kind", None) == "word":
                yield from self._word(target, depth).nested


def _children(node: Any) -> list[Any]:
    if node.kind == "compound":
        return [*node.list, *node.redirects]
    if node.kind in ("commandsubstitution", "processsubstitution"):
        return [node.command]
    return getattr(node, "parts", [])
