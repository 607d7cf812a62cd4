"""A command with the place of everything in it, so that one thing can be changed and the rest stay byte for byte.

Offsets are bytes. Text is held as Latin-1, where a character is a byte, so that tree-sitter's offsets, regular
expressions and slices all speak of the same places whatever bytes the command holds.
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
    """Bytes `start` to `end` become `text`."""

    start: int
    end: int
    text: str = ""


class Edits(NamedTuple):
    """What one mutant does to a command: the operator's name and its edits, none overlapping."""

    operator: str
    edits: tuple[Edit, ...]


class Word(NamedTuple):
    """A word where it stands. `raw` is its source, quotes and all."""

    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        """The word without its quotes."""
        return unquoted(self.raw)

    @property
    def is_plain(self) -> bool:
        """No quote, no expansion, nothing escaped."""
        return not re.search(r"""['"$`\\]""", self.raw)

    @property
    def quote(self) -> str:
        """The quote round the whole word, or an empty string."""
        first = self.raw[:1]
        whole = len(self.raw) > 1 and first in ("'", '"') and self.raw[-1] == first
        return first if whole and first not in self.raw[1:-1] else ""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call: its program's name without folder, and its words after the program."""

    name: str
    program: Word
    words: tuple[Word, ...]
    node: Node


@dataclass(frozen=True)
class Script:
    """A command's source, and its tree. `nested` are scripts in its words, with where their source begins."""

    text: str
    root: Node = field(repr=False)

    @staticmethod
    def read(command: bytes) -> Script:
        """Parse a command. What the reader cannot place is an error node, below which nothing is changed."""
        return Script(command.decode("latin-1"), _parser().parse(command).root_node)

    def nodes(self) -> Iterator[Node]:
        """Every node, in order of source."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if node.type != "ERROR":
                stack.extend(reversed(node.children))

    def source(self, node: Node) -> str:
        """The source of a node."""
        return self.text[node.start_byte : node.end_byte]

    @cached_property
    def calls(self) -> tuple[CallSite, ...]:
        """Every call, in order of source, each followed by those that it runs."""
        found: list[CallSite] = []
        for node in self.nodes():
            call = self._call(node) if _is_call(node) else None
            while call is not None:
                found.append(call)
                call = _run_by(call)
        return tuple(found)

    @cached_property
    def loose_words(self) -> tuple[Word, ...]:
        """Words that are no call's: what a loop runs over, the patterns of a `case`, the elements of an array."""
        holders = (node for node in self.nodes() if node.type in ("for_statement", "case_item", "array"))
        return tuple(word for node in holders for word in self._words(_loose(node)))

    @cached_property
    def nested(self) -> tuple[tuple[int, Script], ...]:
        """Scripts that stand in single quotes after `bash -c`."""
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
        # tree-sitter takes every word after `> file` for a target; the shell takes one
        astray = [each for aside in (*node.children, *beside) for each in _targets(aside)[1:]]
        parts = [child for child in node.children if child.type not in _BESIDE]
        program, *words = self._words(sorted([*parts, *astray], key=lambda each: each.start_byte))
        return CallSite(_name(program), program, tuple(words), node)

    def _words(self, nodes: Sequence[Node]) -> Iterator[Word]:
        """Nodes that touch are one word."""
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
    """The call that `xargs`, `nohup`, `find -exec` and their like run; their own words end where it begins."""
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
    """The words of an inner call from `at`: for `find` up to what ends `-exec`, else all."""
    words = call.words[at:]
    if call.name != "find":
        return words
    return words[: next((number for number, word in enumerate(words) if word.text in (";", "+")), len(words))]


def _is_call(node: Node) -> bool:
    """Commands with a program; an assignment alone is none."""
    return node.type == "command" and node.child_by_field_name("name") is not None


def _targets(node: Node) -> list[Node]:
    return node.children_by_field_name("destination") if node.type == "file_redirect" else []


def _loose(node: Node) -> list[Node]:
    values = node.named_children if node.type == "array" else node.children_by_field_name("value")
    return [child for child in values if child.type not in ("variable_name", "command_substitution")]


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def without(text: str, start: int, end: int) -> Edit:
    """Remove what stands from `start` to `end` with the blanks before it."""
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return Edit(start, end)
