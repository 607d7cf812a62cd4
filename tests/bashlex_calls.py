"""Calls of utilities as bashlex reads them: an oracle for `evaluator.shell.bash_calls`.

bashlex refuses `case`, `[[ ]]`, arithmetic and arrays, expands `$(…)` in `$'…'`, and keeps quotes out of process
substitutions. It reads other commands as Bash does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from evaluator.shell.bashlex_reader import parse_trees
from evaluator.shell.syntax import MAX_DEPTH, Call, UnreadableError, Word
from evaluator.shell.words import remove_quotes

_QUOTED: Final = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)


def read_with_bashlex(command: str) -> tuple[Call, ...]:
    """Return all calls of utilities in a command, in source order. Raise UnreadableError if bashlex cannot read it."""
    return tuple(_Trees(command).calls(parse_trees(command), 0))


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
