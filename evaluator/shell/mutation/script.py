"""A parsed command with the position of every part, so that one part can change and all other bytes stay.

Offsets count bytes. The text is decoded as Latin-1, so that one character is one byte. Then the offsets of tree-sitter,
regular expressions and slices agree for any bytes in the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final, NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from evaluator.shell.options import UNKNOWN, option_table
from evaluator.shell.utilities import EXECUTORS
from evaluator.shell.words import unquoted

_BESIDE: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect", "variable_assignment"})
_SCRIPT_LETTER: Final = re.compile(r"-[a-z]*c\Z")
_SCRIPTED: Final = frozenset({"bash", "sh"})
_MORE_RUNNERS: Final = frozenset({"setsid", "setpriv"})


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class Edit(NamedTuple):
    """A replacement of the bytes from `start` to `end` by `text`."""

    start: int
    end: int
    text: str = ""


class Edits(NamedTuple):
    """One mutation of a command: the operator's name and its edits, which do not overlap."""

    operator: str
    edits: tuple[Edit, ...]


class Word(NamedTuple):
    """A word with its position. `raw` is its source, including quotes."""

    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        """Return the word without its quotes."""
        return unquoted(self.raw)

    @property
    def is_plain(self) -> bool:
        """Return whether the word has no quotes, expansions or escapes."""
        return not re.search(r"""['"$`\\]""", self.raw)

    @property
    def quote(self) -> str:
        """Return the quote around the whole word, or an empty string."""
        first = self.raw[:1]
        whole = len(self.raw) > 1 and first in ("'", '"') and self.raw[-1] == first
        return first if whole and first not in self.raw[1:-1] else ""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in a script: the program's name without its folder, and the words after it."""

    name: str
    program: Word
    words: tuple[Word, ...]
    node: Node


@dataclass(frozen=True)
class Script:
    """A command's source and its syntax tree."""

    text: str
    root: Node = field(repr=False)

    @staticmethod
    def read(command: bytes) -> Script:
        """Parse a command. Text that tree-sitter cannot parse becomes an error node, and nothing below it changes."""
        return Script(command.decode("latin-1"), _parser().parse(command).root_node)

    def nodes(self) -> Iterator[Node]:
        """Yield every node in source order, except below error nodes."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if node.type != "ERROR":
                stack.extend(reversed(node.children))

    def source(self, node: Node) -> str:
        """Return the source of a node."""
        return self.text[node.start_byte : node.end_byte]

    @cached_property
    def calls(self) -> tuple[CallSite, ...]:
        """Return every call in source order, each followed by the calls that it runs."""
        found: list[CallSite] = []
        for node in self.nodes():
            call = self._call(node) if _is_call(node) else None
            while call is not None:
                found.append(call)
                call = _run_by(call)
        return tuple(found)

    @cached_property
    def loose_words(self) -> tuple[Word, ...]:
        """Return the words outside calls: values of `for` loops, patterns of `case` and elements of arrays."""
        holders = (node for node in self.nodes() if node.type in ("for_statement", "case_item", "array"))
        return tuple(word for node in holders for word in self._words(_loose(node)))

    @cached_property
    def nested(self) -> tuple[tuple[int, Script], ...]:
        """Return the scripts in single quotes after `bash -c`, each with the offset of its source."""
        found = []
        for call in self.calls:
            words = (call.program, *call.words)
            for shell, letter, script in zip(words, words[1:], words[2:], strict=False):
                is_script = shell.raw in _SCRIPTED and _SCRIPT_LETTER.match(letter.raw) and script.quote == "'"
                if is_script:
                    found.append((script.start + 1, Script.read(script.raw[1:-1].encode("latin-1"))))
        return tuple(found)

    def _call(self, node: Node) -> CallSite:
        beside = node.parent.children if node.parent and node.parent.type == "redirected_statement" else []
        # tree-sitter reads every word after `> file` as a target, but the shell reads only one.
        astray = [each for aside in (*node.children, *beside) for each in _targets(aside)[1:]]
        parts = [child for child in node.children if child.type not in _BESIDE]
        program, *words = self._words(sorted([*parts, *astray], key=lambda each: each.start_byte))
        return CallSite(_name(program), program, tuple(words), node)

    def _words(self, nodes: Sequence[Node]) -> Iterator[Word]:
        """Yield words, joining nodes that touch."""
        at = 0
        while at < len(nodes):
            end = at + 1
            while end < len(nodes) and nodes[end].start_byte == nodes[end - 1].end_byte:
                end += 1
            start, stop = nodes[at].start_byte, nodes[end - 1].end_byte
            yield Word(start, stop, self.text[start:stop])
            at = end


def _name(program: Word) -> str:
    return program.text.rpartition("/")[2]


def _run_by(call: CallSite) -> CallSite | None:
    """Return the call that `xargs`, `nohup`, `find -exec` or a similar utility runs, or None if there is none."""
    at = 0
    if call.name == "find":
        at = next((number for number, word in enumerate(call.words, 1) if word.raw in EXECUTORS), len(call.words))
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
    return CallSite(_name(call.words[at]), call.words[at], _up_to_end(call, at + 1), call.node)


def _up_to_end(call: CallSite, at: int) -> tuple[Word, ...]:
    """Return the words of an inner call from `at`. For `find`, they end before the terminator of `-exec`."""
    words = call.words[at:]
    if call.name != "find":
        return words
    return words[: next((number for number, word in enumerate(words) if word.text in (";", "+")), len(words))]


def _is_call(node: Node) -> bool:
    """Return whether the node is a command with a program. An assignment alone is not."""
    return node.type == "command" and node.child_by_field_name("name") is not None


def _targets(node: Node) -> list[Node]:
    return node.children_by_field_name("destination") if node.type == "file_redirect" else []


def _loose(node: Node) -> list[Node]:
    values = node.named_children if node.type == "array" else node.children_by_field_name("value")
    return [child for child in values if child.type not in ("variable_name", "command_substitution")]


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with the edits applied."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def without(text: str, start: int, end: int) -> Edit:
    """Return an edit that removes the text from `start` to `end` and the blanks before it."""
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return Edit(start, end)
