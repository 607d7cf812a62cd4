"""Read commands as the NLC2CMD reference program did in 2020: into utilities and flags, or a reason for refusal.

The reference program used bashlex's tree of a command and a grammar of a hundred utilities (`nlc2cmd.toml`). It refused
everything else: utilities and long options outside the grammar, too many operands, lists, redirections, loops and
assignments. The published scores depend on the program's rules. So this module copies even the unusual rules:

* The program recognises options in the source text. `"-n"` in quotes is an operand, and so is a word with a
  substitution.
* An option with an optional value takes the next word: `grep --color -n` has one flag. But the last option in a word
  such as `-xyz` does not take the next word.
* A command line in quotes (`sh -c`, `ssh`) must be one simple command without expansions. Otherwise it is refused.
* A redirection after the last operand that a utility can have is ignored. An earlier redirection is refused.
* The program does not read the words after an assignment, or after a program named by an expansion.
* A word that begins with a parameter is an argument, even if it contains other expansions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from evaluator.shell.bashlex_reader import parse_trees
from evaluator.shell.fast_path import expansion, is_list, plain_stages
from evaluator.shell.nlc2cmd.grammar_2020 import Grammar, grammar_2020
from evaluator.shell.nlc2cmd.tree_2020 import (
    EXPANSION,
    PLACEHOLDER,
    CallNode,
    ReferenceCall,
    Token2020,
    TreeChild,
    argument_token,
    flattened_calls,
    reserved_token,
    tokens_of_tree,
    without_parentheses,
)
from evaluator.shell.nlc2cmd.typo_fixes import fix_typos
from evaluator.shell.syntax import MAX_DEPTH, UnreadableError, refuse_hostile
from evaluator.shell.utilities import EXECUTORS
from evaluator.shell.words import remove_quotes

_FIND_OPERATORS: Final = frozenset({"(", ")", "\\(", "\\)", "!", "-o", "-a", ","})
_OPERATORS: Final = frozenset({"-not", "-prune", "-and", "-or", "||", "&&"})
_COMPOUND: Final = frozenset({"for", "while", "until", "if", "case", "select"})
_FIRST: Final = re.compile(r"[\w./+-]++(?=[ \t;|&]|\Z)")
_SPELLINGS: Final = {"-o": "-or", "||": "-or", "-a": "-and", "&&": "-and", ",": "-and", "(": "\\(", ")": "\\)"}
_EXTENDED: Final = {"egrep": ("-E", "--extended-regexp"), "fgrep": ("-F", "--fixed-strings")}


class UnsupportedCommandError(Exception):
    """The NLC2CMD reference program refuses a command. The message is the reason. Only this package sees the error."""


class _Expanded(NamedTuple):
    """A substitute for bashlex's node of a word. It holds the kind of the first expansion: a parameter or a `~`."""

    kind: str
    parts: tuple[_Expanded, ...] = ()


_EXPANDED: Final = {kind: _Expanded("word", (_Expanded(kind),)) for kind in ("parameter", "tilde")}


class _Piece(NamedTuple):
    """One part of a command: a word, or another part such as a redirection.

    `source` is the text as written. `word` is the word without quotes, or None for another part. `node` is bashlex's
    node, or None for a word without expansions.
    """

    source: str
    word: str | None
    node: Any = None

    @property
    def may_be_flag(self) -> bool:
        """Return whether this part of a command can be a flag: a word without expansions, or a word such as `-$n`."""
        if self.word is None:
            return False
        return self.node is None or (self.word[:1] == "-" and self.node.parts[0].kind == "parameter")


def parse_like_reference(command: str) -> tuple[ReferenceCall, ...]:
    """Return the utilities of a command in pre-order, as the NLC2CMD reference program reads them.

    Raises UnsupportedCommandError if that program refuses the command.
    """
    return tuple(flattened_calls(_checked_tree(command)))


def tokens_like_reference(command: str) -> tuple[Token2020, ...]:
    """Return the tokens of a command in order, as the NLC2CMD reference program counts them.

    Raises UnsupportedCommandError if that program refuses the command.
    """
    return tuple(tokens_of_tree(_checked_tree(command)))


def _checked_tree(command: str) -> list[TreeChild]:
    text = fix_typos(command)
    try:
        refuse_hostile(text)
        children = _read(text)
    except (UnreadableError, RecursionError) as error:
        raise UnsupportedCommandError(str(error)) from error
    if not children:
        _refuse("calls nothing")
    return children


def _read(text: str) -> list[TreeChild]:
    stages = plain_stages(text)
    trees = _ReferenceTrees(text)
    if stages is None:
        _refuse_early(text)
        return trees.children(_parsed(text), 0)
    children: list[TreeChild] = _Call(_pieces_of_stage(stages[0]), trees, 0).children()
    for stage in stages[1:]:
        children += [reserved_token("|"), *_Call(_pieces_of_stage(stage), trees, 0).children()]
    return children


def _refuse_early(text: str) -> None:
    """Refuse a command if its text shows without parsing that the NLC2CMD program refused it. This saves time."""
    first = _FIRST.match(text)
    if text.startswith(("(", "{ ")) or (first and first[0] in _COMPOUND):
        _refuse("unsupported: compound")
    if first and first[0] not in grammar_2020():
        _refuse(f"unknown utility: {first[0]}")
    if is_list(text):
        _refuse("unsupported: list")


def _pieces_of_stage(words: Iterable[str]) -> list[_Piece]:
    """Convert the words in a pipeline's stage to pieces. A piece's `node` holds the kind of its first expansion."""
    return [
        _Piece(word, word if word.isalnum() else remove_quotes(word), _EXPANDED.get(expansion(word))) for word in words
    ]


def _parsed(text: str) -> Any:
    trees = parse_trees(text)
    if len(trees) != 1:
        _refuse("several commands")
    return trees[0]


def _refuse(why: str) -> NoReturn:
    raise UnsupportedCommandError(why)


class _ReferenceTrees:
    """A reader of bashlex's syntax trees of one command text. The nodes of these trees hold positions in the text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def children(self, node: Any, depth: int) -> list[TreeChild]:
        """Return the utilities, flags and arguments in a node of bashlex's tree, as the NLC2CMD program lists them."""
        if depth > MAX_DEPTH:
            _refuse(f"nested deeper than {MAX_DEPTH}")
        match node.kind:
            case "command":
                return _Call([self._piece(part) for part in node.parts], self, depth).children()
            case "pipeline":
                return list(self._stages(node, depth))
            case "list" if len(node.parts) <= 2:
                return self.children(node.parts[0], depth + 1)
            case "commandsubstitution" | "processsubstitution":
                opening = self.text[node.pos[0]].replace("`", "$") + "("
                return [reserved_token(opening), *self.children(node.command, depth + 1), reserved_token(")")]
            case "word":
                return self._word(node, depth)
            case "assignment":
                return [child for part in node.parts for child in without_parentheses(self.children(part, depth + 1))]
        _refuse(f"unsupported: {node.kind}")

    def _stages(self, node: Any, depth: int) -> Iterator[TreeChild]:
        for part in node.parts:
            if part.kind == "command":
                yield from self.children(part, depth + 1)
            elif part.kind == "pipe":
                yield reserved_token("|")
            else:
                _refuse(f"stage of a pipeline: {part.kind}")

    def _word(self, node: Any, depth: int) -> list[TreeChild]:
        if not node.parts or node.parts[0].kind in ("parameter", "tilde"):
            return [EXPANSION]
        return [EXPANSION, *(child for part in node.parts for child in self.children(part, depth + 1))]

    def _piece(self, node: Any) -> _Piece:
        source = self.text[slice(*node.pos)]
        if node.kind != "word":
            return _Piece(source, None, node)
        return _Piece(source, node.word, node if node.parts else None)


class _Call:
    """A reader of one call of a utility. It passes once over the words of the call."""

    def __init__(self, pieces: Sequence[_Piece], trees: _ReferenceTrees, depth: int) -> None:
        self.pieces, self.trees, self.depth = pieces, trees, depth
        self.name = ""
        self.grammar: Grammar
        self.output: list[TreeChild] = []
        self.at = 1
        self.may_take_flags = True
        self.pending: list[str] = []
        self.used_slots: set[int] = set()
        self.placeholder: str | None = None
        self.command_at: int | None = None

    def children(self) -> list[TreeChild]:
        """Return the called utility. If the call begins with an expansion, return the utilities in this expansion."""
        if not self.pieces:
            return []
        first = self.pieces[0]
        if first.node is not None:
            return without_parentheses(self._argument(first))
        return [self._utility(first.source)]

    def _argument(self, piece: _Piece) -> list[TreeChild]:
        """Return a word as an argument, or the utilities in its substitutions."""
        if piece.node is None:
            return [argument_token(piece.source)]
        found = self.trees.children(piece.node, self.depth + 1)
        return [argument_token(piece.source)] if found == [EXPANSION] else found

    def _utility(self, name: str) -> CallNode:
        grammar = grammar_2020().get(name)
        if grammar is None:
            _refuse(f"unknown utility: {name}")
        self.name, self.grammar = name, grammar
        while self.at < len(self.pieces):
            self._take(self.pieces[self.at])
        if self.pending:
            _refuse("incomplete")
        self._add_implied()
        if name == "find" and not self.used_slots:
            self.output.insert(0, argument_token("."))
        return CallNode("grep" if name in _EXTENDED else name, self.output)

    def _take(self, piece: _Piece) -> None:
        if piece.word == "--":
            self.output.append(reserved_token("--"))
            self.may_take_flags = bool(self.pending)
            self.at += 1
        elif self.pending:
            self._take_value(piece)
        elif self.may_take_flags and piece.may_be_flag and self._take_flag(piece):
            self.at += 1
        elif self._take_operand(piece):
            self.may_take_flags = True
        elif piece.word is None:
            self.at += 1
        else:
            _refuse(f"unmatched: {piece.source}")

    def _take_flag(self, piece: _Piece) -> bool:
        source, flags = piece.source, self.grammar.flags
        if piece.word in _OPERATORS or (self.name == "find" and piece.word in _FIND_OPERATORS):
            self.output.append(reserved_token(_SPELLINGS.get(piece.word or source, piece.word or source)))
            return True
        if source[0] not in "-+":
            return False
        if self.name == "find" and source in EXECUTORS:
            self._add(source, "exec")
        elif source.startswith("--"):
            self._take_long(source)
        elif source in flags:
            self._add_with_values(source) if source not in self.grammar.attached else self._add(source)
        elif source[:2] in flags:
            self._take_cluster(source)
        elif self.grammar.number and source[0] == "-":
            self._add("-", *(["value"] if source == "-" else []))
            self.output += [argument_token(source[1:])] if source != "-" else []
        else:
            return False
        return True

    def _add(self, flag: str, *values: str) -> None:
        self.output.append(flag)
        self.pending += values

    def _add_with_values(self, flag: str) -> None:
        """Add a flag to the result. The next words of the call will be read as its values."""
        kind = "command" if flag in self.grammar.commands else "value"
        self._add(flag, *[kind] * self.grammar.flags[flag])

    def _take_long(self, source: str) -> None:
        flag, _, value = source.partition("=")
        if flag not in self.grammar.flags:
            _refuse(f"unknown option: {flag}")
        if not value:
            self._add_with_values(flag)
        elif self.grammar.flags[flag] and flag not in self.grammar.commands:
            self._add(flag)
            self.output.append(argument_token(value))
        else:
            _refuse(f"unexpected value: {source}")

    def _take_cluster(self, source: str) -> None:
        for position, letter in enumerate(source[1:], start=2):
            flag = f"-{letter}"
            if flag not in self.grammar.flags:
                _refuse(f"unknown option: {flag}")
            self._add(flag)
            if self.grammar.flags[flag] and position < len(source):
                if flag in self.grammar.commands:
                    _refuse(f"a command attached to {flag}")
                self._record_placeholder(flag, source[position:])
                self.output.append(argument_token(source[position:]))
                return

    def _record_placeholder(self, flag: TreeChild, value: str) -> None:
        if flag == "-I" and self.name == "xargs":
            self.placeholder = value

    def _take_value(self, piece: _Piece) -> None:
        kind = self.pending[0]
        if kind == "exec":
            self._take_exec()
        elif kind == "value":
            self._record_placeholder(self.output[-1], piece.source)
            self._take_argument(piece)
        elif not self._take_command(piece):
            _refuse(f"unmatched: {piece.source}")
        elif piece.node is not None:
            return  # A command with an expansion leaves the option without a value.
        del self.pending[0]

    def _take_argument(self, piece: _Piece) -> None:
        self.output += self._argument(piece)
        self.at += 1

    def _take_operand(self, piece: _Piece) -> bool:
        for slot, kind in enumerate(self.grammar.operands):
            if kind == "c":
                if self._take_command(piece):
                    return True
            elif kind == "e":
                self._take_rest()
                return True
            elif kind == "*" or slot not in self.used_slots:
                self.used_slots.add(slot)
                self._take_argument(piece)
                return True
        return False

    def _take_command(self, piece: _Piece) -> bool:
        """Read a piece of the call as a command line, if the piece is in quotes or has an expansion.

        Return whether the piece was read.
        """
        if piece.node is not None:
            self._take_argument(piece)
            return True
        if len(piece.source) < 2 or piece.source[0] not in "'\"" or piece.source[-1] not in "'\"":
            return False
        self.output += self._read_line(piece.source[1:-1])
        self.at += 1
        return True

    def _read_line(self, text: str) -> list[TreeChild]:
        if self.depth > MAX_DEPTH:
            _refuse(f"nested deeper than {MAX_DEPTH}")
        trees = _ReferenceTrees(text)
        stages = plain_stages(text)
        if stages is not None:
            if len(stages) > 1 or any(map(expansion, stages[0])):
                _refuse("a command in quotes that is not simple")
            return _Call(_pieces_of_stage(stages[0]), trees, self.depth + 1).children()
        tree = _parsed(text)
        if tree.kind != "command" or any(part.kind not in ("word", "assignment") or part.parts for part in tree.parts):
            _refuse("a command in quotes that is not simple")
        return trees.children(tree, self.depth + 1)

    def _take_exec(self) -> None:
        position = len(self.output) - 1
        start, stops = self.at, ((";", "+") if str(self.output[-1]).startswith("-exec") else (";",))
        while self.at < len(self.pieces) and self.pieces[self.at].word not in stops:
            self.at += 1
        self.output += _Call(self.pieces[start : self.at], self.trees, self.depth + 1).children()
        end = self.pieces[self.at].word if self.at < len(self.pieces) else ";"
        self.output[position] = f"{self.output[position]}::{end}"
        self.output.append(reserved_token("+" if end == "+" else "\\;"))
        self.at += 1

    def _take_rest(self) -> None:
        children = _Call(self.pieces[self.at :], self.trees, self.depth + 1).children()
        if self.pieces[self.at].node is None:
            self.command_at = len(self.output)
        self.output += children
        self.at = len(self.pieces)

    def _add_implied(self) -> None:
        """Add the flags that NLC2CMD assumes: `-E` for egrep, `-F` for fgrep, and `-I` for xargs with a command."""
        if self.name in _EXTENDED and not any(flag in self.output for flag in _EXTENDED[self.name]):
            self.output.insert(0, _EXTENDED[self.name][0])
        if self.name != "xargs":
            return
        if "-I" not in self.output:
            if self.command_at is not None:
                placeholder = argument_token(PLACEHOLDER)
                self.output[self.command_at : self.command_at] = ["-I", placeholder]
                self.output.append(placeholder)
        elif self.placeholder is None or (self.placeholder != PLACEHOLDER and self.command_at is None):
            _refuse("xargs -I without a placeholder or a command")
