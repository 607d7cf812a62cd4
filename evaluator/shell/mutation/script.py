"""Parse a command with the position of every part, so that a mutation can change one part and keep all other bytes.

Offsets count bytes. The command is decoded as Latin-1, so that each byte becomes one character. So tree-sitter, regular
expressions and slices use the same offsets for every command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Final, NamedTuple

from tree_sitter import Node

from evaluator.shell.options import UNKNOWN, option_table
from evaluator.shell.treesitter_reader import joined_nodes, parse_bytes
from evaluator.shell.utilities import EXECUTORS
from evaluator.shell.words import remove_quotes

_NOT_WORDS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect", "variable_assignment"})
_SCRIPT_LETTER: Final = re.compile(r"-[a-z]*c\Z")
_SHELLS: Final = frozenset({"bash", "sh"})
_MORE_RUNNERS: Final = frozenset({"setsid", "setpriv"})


class Edit(NamedTuple):
    """An edit of a command: `text` replaces the bytes from `start` to `end`."""

    start: int
    end: int
    text: str = ""


class Edits(NamedTuple):
    """One mutation of a command: the name of its operator (the kind of change), and edits that do not overlap."""

    operator: str
    edits: tuple[Edit, ...]


class SourceWord(NamedTuple):
    """A word of a command with its position. `raw` is the word as written in the command, including quotes."""

    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        """Return the word without its quotes."""
        return remove_quotes(self.raw)

    @property
    def is_plain(self) -> bool:
        """Return whether the word has no quotes, expansions or escapes."""
        return not re.search(r"""['"$`\\]""", self.raw)

    @property
    def quote(self) -> str:
        """Return the quote character if quotes enclose the whole word, otherwise an empty string."""
        first = self.raw[:1]
        is_quoted = len(self.raw) > 1 and first in ("'", '"') and self.raw[-1] == first
        return first if is_quoted and first not in self.raw[1:-1] else ""

    def edit(self, span: tuple[int, int], text: str = "") -> Edit:
        """Return an edit of the command that replaces the part `span` (start, end) of `raw` by `text`."""
        return Edit(self.start + span[0], self.start + span[1], text)


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of a program in a script: the program's name without its folder, and the words after the name."""

    name: str
    program: SourceWord
    words: tuple[SourceWord, ...]
    node: Node


@dataclass(frozen=True)
class Script:
    """A command's source and its syntax tree."""

    text: str
    root: Node = field(repr=False)

    @staticmethod
    def read(command: bytes) -> Script:
        """Parse a command. Text that tree-sitter cannot parse becomes an error node, which mutations do not change."""
        return Script(command.decode("latin-1"), parse_bytes(command))

    def nodes(self) -> Iterator[Node]:
        """Yield every node of the command's syntax tree in source order. Omit the nodes below error nodes."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if node.type != "ERROR":
                stack.extend(reversed(node.children))

    def source(self, node: Node) -> str:
        """Return the part of the command's source that a node of the syntax tree covers."""
        return self.text[node.start_byte : node.end_byte]

    @cached_property
    def calls(self) -> tuple[CallSite, ...]:
        """Return every call of a program in source order. A call such as `xargs` precedes the calls that it runs."""
        calls: list[CallSite] = []
        for node in self.nodes():
            is_call = node.type == "command" and node.child_by_field_name("name") is not None
            call = self._call(node) if is_call else None
            while call is not None:
                calls.append(call)
                call = _inner_call(call)
        return tuple(calls)

    @cached_property
    def loose_words(self) -> tuple[SourceWord, ...]:
        """Return the words that belong to no call: values of `for` loops, patterns of `case`, elements of arrays."""
        words: list[SourceWord] = []
        for node in self.nodes():
            if node.type in ("for_statement", "case_item", "array"):
                values = node.named_children if node.type == "array" else node.children_by_field_name("value")
                words += self._words(
                    [value for value in values if value.type not in ("variable_name", "command_substitution")]
                )
        return tuple(words)

    @cached_property
    def nested(self) -> tuple[tuple[int, Script], ...]:
        """Return each script in single quotes after `bash -c`, with the offset of the script in the command."""
        scripts = []
        for call in self.calls:
            words = (call.program, *call.words)
            for shell, letter, script in zip(words, words[1:], words[2:], strict=False):
                if shell.raw in _SHELLS and _SCRIPT_LETTER.match(letter.raw) and script.quote == "'":
                    scripts.append((script.start + 1, Script.read(script.raw[1:-1].encode("latin-1"))))
        return tuple(scripts)

    def _call(self, node: Node) -> CallSite:
        siblings = node.parent.children if node.parent and node.parent.type == "redirected_statement" else []
        parts = [child for child in node.children if child.type not in _NOT_WORDS]
        for child in (*node.children, *siblings):
            if child.type == "file_redirect":
                # tree-sitter reads every word after `> file` as a target, but the shell reads only one.
                parts += child.children_by_field_name("destination")[1:]
        program, *words = self._words(sorted(parts, key=lambda part: part.start_byte))
        return CallSite(_name(program), program, tuple(words), node)

    def _words(self, nodes: Sequence[Node]) -> Iterator[SourceWord]:
        for group in joined_nodes(nodes):
            start, end = group[0].start_byte, group[-1].end_byte
            yield SourceWord(start, end, self.text[start:end])


def _name(program: SourceWord) -> str:
    return program.text.rpartition("/")[2]


def _inner_call(call: CallSite) -> CallSite | None:
    """Return the call that `xargs`, `nohup`, `find -exec` or a similar utility runs, or None if there is none."""
    at = 0
    if call.name == "find":
        at = next((after for after, word in enumerate(call.words, 1) if word.raw in EXECUTORS), len(call.words))
    else:
        options = option_table().get(call.name, UNKNOWN)
        runs = options.runs if call.name not in _MORE_RUNNERS else 0
        if runs is None:
            return None
        while at < len(call.words) and call.words[at].raw.startswith("-"):
            takes_next = len(call.words[at].raw) == 2 and call.words[at].raw[1] in options.values
            at += 2 if takes_next else 1
        at += runs
    if at >= len(call.words) or not call.words[at].is_plain:
        return None
    program, *words = call.words[at:]
    if call.name == "find":
        words = list(takewhile(lambda word: word.text not in (";", "+"), words))
    return CallSite(_name(program), program, tuple(words), call.node)


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a command's text after all edits. The positions in the edits refer to the text before the edits."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def removal(text: str, start: int, end: int) -> Edit:
    """Return an edit of a command that removes the text from `start` to `end`, and the blanks before this text."""
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return Edit(start, end)


def shifted(digits: str, step: int) -> str | None:
    """Add `step` to the number in `digits`. Return the sum as text, or None if the sum is negative.

    If `digits` begins with a zero, the sum has as many digits, also with leading zeros.
    """
    number = int(digits) + step
    return None if number < 0 else str(number).zfill(len(digits) if digits.startswith("0") else 0)
