"""Read the words of Bash: quotes, expansions, substitutions, extended patterns and arrays.

`bash_parser` completes this reader with the grammar of commands, because a substitution in a word holds commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from evaluator.shell.syntax import MAX_DEPTH, UnreadableError


class WordPiece(NamedTuple):
    """A part of a word.

    kind    "literal", "parameter", "arithmetic", "substitution", "process" or "array"
    text    a literal without its quotes, and the source of the others
    quoted  whether quotes keep the piece from splitting and from being a pattern
    parts   the scripts and words inside the piece, in order
    """

    kind: str
    text: str
    quoted: bool = False
    parts: tuple[CommandList | BashWord, ...] = ()


class BashWord(NamedTuple):
    """A word as written, its pieces, and whether it is an assignment. A word such as `''` has one empty piece."""

    source: str
    pieces: tuple[WordPiece, ...]
    is_assignment: bool = False

    @property
    def text(self) -> str:
        """Return the word without its quotes. Expansions stay as written."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(slots=True)
class Redirection:
    """A redirection. The parser sets the body of a here-document when it has read the line that the operator is in."""

    descriptor: str
    operator: str
    target: BashWord
    body: tuple[WordPiece, ...] = ()


class Simple(NamedTuple):
    """A simple command."""

    assignments: tuple[BashWord, ...]
    words: tuple[BashWord, ...]
    redirections: tuple[Redirection, ...]


class Compound(NamedTuple):
    """A compound command. `keyword` is its first word, and `parts` are its words, keywords and scripts in order."""

    keyword: str
    parts: tuple[CommandList | BashWord | WordPiece | str, ...]
    redirections: tuple[Redirection, ...] = ()


class Pipeline(NamedTuple):
    """A pipeline: the prefixes (`!`, `time`, `time -p`), the commands, and the operators (`|`, `|&`) between them."""

    prefixes: tuple[str, ...]
    commands: tuple[Simple | Compound, ...]
    operators: tuple[str, ...] = ()


class ScriptLine(NamedTuple):
    """The pipelines that Bash reads at once before it runs them: `first` is the index of the first one.

    Their source is the text from `begin` to `end`, without the bodies of here-documents.
    """

    first: int
    begin: int
    end: int


class CommandList(NamedTuple):
    """A list of pipelines, each with the operator after it: `;`, `&`, `&&` or `||`. A line end is a `;`.

    `lines` are the lines of the outermost list. Inner lists have none, because Bash reads them as a whole.
    """

    items: tuple[tuple[Pipeline, str], ...]
    lines: tuple[ScriptLine, ...] = ()


def children_of(node: object) -> Iterable[object]:
    """Return the nodes and operators directly in a node, in source order. Redirections come last."""
    match node:
        case CommandList():
            return [pipeline for pipeline, _ in node.items]
        case Pipeline():
            return [*node.commands, *node.operators]
        case Simple():
            return [*node.assignments, *node.words, *node.redirections]
        case Compound():
            return [*node.parts, *node.redirections]
        case Redirection():
            return [node.target, *node.body]
        case BashWord():
            return node.pieces
        case WordPiece():
            return node.parts
    return ()


_LITERAL: Final = re.compile(r"(?:[^ \t\n'\"\\$`<>&;|()?*+@!]|[?*+@!](?!\())+")
_IN_DOUBLE_QUOTES: Final = re.compile(r'[^"\\$`]+')
_IN_BODY: Final = re.compile(r"[^\\$`]+")
_IN_PATTERN: Final = re.compile(r"[^'\"\\$`()]+")
_IN_BRACES: Final = re.compile(r"[^}'\"\\$`<>]+")
_IN_ARITHMETIC: Final = re.compile(r"[^'\"\\$`()]+")
_IN_BRACKETS: Final = re.compile(r"[^'\"\\$`\[\]]+")
_PARAMETER: Final = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII)
_BRACED: Final = re.compile(
    r"\$\{[#!]?(?:[A-Za-z_]\w*(?:\[[^\]]*\])?|[0-9]+|[@*#?$!-])?(?P<operator>[#%/^,~])?", re.ASCII
)
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*(?:(?P<subscript>\[)|\+?=)", re.ASCII)
_ESCAPED: Final = re.compile(r"\\([$`\\])")
_ESCAPED_IN_QUOTES: Final = re.compile(r'\\([$`\\"])')
_SIGN: Final = re.compile(r"\+?=")
_ANSI: Final = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKQUOTED: Final = re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL)
_ANSI_ESCAPE: Final = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<byte>[0-9a-fA-F]{1,2})|x\{(?P<braced>[0-9a-fA-F]*)\}?"
    r"|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})|c(?P<control>\\\\|.)|(?P<letter>.))",
    re.DOTALL,
)
_LETTERS: Final = dict(zip("ntrabeEfv\\'\"?", "\n\t\r\a\b\x1b\x1b\f\v\\'\"?", strict=True))
_NOT_IN_QUOTES: Final = "'\"\\$`"


class WordReader:
    """Reads words from a position of a text. Raises UnreadableError if Bash would refuse the text."""

    def __init__(
        self,
        text: str,
        depth: int = 0,
        scripts: dict[str, CommandList | None] | None = None,
        bodies: dict[str, tuple[WordPiece, ...]] | None = None,
    ) -> None:
        self.text, self.at, self.depth, self.substitutions = text, 0, depth, 0
        self.pending: list[Redirection] = []
        # What was tried at a position is not tried again, and no text is parsed twice: nesting would double the time.
        self._not_arithmetic: set[int] = set()
        self._not_assignments: set[int] = set()
        self.scripts = {} if scripts is None else scripts
        self.bodies = {} if bodies is None else bodies
        self.body_spans: set[tuple[int, int]] = set()

    def nested_script(self) -> CommandList:
        """Read a script up to its closing parenthesis, and the parenthesis."""
        raise NotImplementedError

    def script_of(self, text: str) -> CommandList | None:
        """Parse another text, from backquotes. Return None if it is no script: Bash reads it only when it runs it."""
        raise NotImplementedError

    def array_elements(self) -> tuple[BashWord, ...]:
        """Read the elements of an array, and its closing parenthesis."""
        raise NotImplementedError

    def refuse(self, expected: str) -> UnreadableError:
        """Return the error for a text that Bash would refuse at this position."""
        return UnreadableError(f"character {self.at + 1}: {expected} expected", expected, self.at)

    def enter(self) -> None:
        """Count one level of nesting. Raise UnreadableError if there are too many."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH}")

    def read_word(self, *, assigns: bool = False, is_regex: bool = False) -> BashWord:
        """Read a word, which may be empty. `assigns` allows an assignment, and `is_regex` parentheses and bars."""
        text, start = self.text, self.at
        pieces: list[WordPiece] = []
        is_assignment = assigns and self._read_name(pieces)
        can_hold_array = is_assignment
        while self.at < len(text):
            literal = _LITERAL.match(text, self.at)
            if literal is not None:
                self.at = literal.end()
                pieces.append(WordPiece("literal", literal[0]))
                can_hold_array = False
                continue
            letter, following = text[self.at], text[self.at + 1 : self.at + 2]
            if letter in _NOT_IN_QUOTES:
                self._quoting(pieces)
            elif letter in "<>" and following == "(":
                pieces.append(self._process())
            elif letter in "?*+@!" or (is_regex and letter == "("):
                self._pattern(pieces, 1 if letter == "(" else 2)
            elif is_regex and letter == "|":
                pieces.append(WordPiece("literal", "|"))
                self.at += 1
            elif letter == "(" and can_hold_array:
                pieces.append(self._array())
            else:
                break
            can_hold_array = False
        return BashWord(text[start : self.at], joined(pieces), is_assignment)

    def _read_name(self, pieces: list[WordPiece]) -> bool:
        """Read the name, subscript and `=` of an assignment. If there is none, read nothing and return False."""
        start, text = self.at, self.text
        name = None if start in self._not_assignments else _ASSIGNED.match(text, start)
        if name is None:
            return False
        self.at = name.end()
        if name["subscript"]:
            parts: list[CommandList | BashWord] = []
            self._skip_to("]", _IN_BRACKETS, parts, opening="[")
            sign = _SIGN.match(text, self.at)
            if sign is None:
                self._not_assignments.add(start)
                self.at = start
                return False
            self.at = sign.end()
            pieces.append(WordPiece("parameter", text[start : self.at], quoted=True, parts=tuple(parts)))
        else:
            pieces.append(WordPiece("literal", name[0]))
        return True

    def _array(self) -> WordPiece:
        start = self.at
        self.at += 1
        elements = self.array_elements()
        return WordPiece("array", self.text[start : self.at], parts=elements)

    def _quoting(self, pieces: list[WordPiece]) -> None:
        """Read a quoted text, an escaped character or an expansion outside of double quotes."""
        text, at = self.text, self.at
        match text[at]:
            case "'":
                end = text.find("'", at + 1)
                if end < 0:
                    raise self.refuse("a closing single quote")
                pieces.append(WordPiece("literal", text[at + 1 : end], quoted=True))
                self.at = end + 1
            case '"':
                self.at += 1
                self._double_quoted(pieces)
            case "\\":
                escaped = text[at + 1 : at + 2]
                self.at += 2 if escaped else 1
                if escaped != "\n":
                    pieces.append(WordPiece("literal", escaped or "\\", quoted=True))
            case _:
                self._expansion(pieces, quoted=False)

    def _double_quoted(self, pieces: list[WordPiece]) -> None:
        """Read a text in double quotes from the character after the opening quote to the closing one."""
        pieces.append(WordPiece("literal", "", quoted=True))
        self.read_expanded(pieces, _IN_DOUBLE_QUOTES, '$`"\\')
        if self.at >= len(self.text):
            raise self.refuse("a closing double quote")
        self.at += 1

    def read_expanded(self, pieces: list[WordPiece], plain: re.Pattern[str] = _IN_BODY, escaped: str = "$`\\") -> None:
        """Read a text in which only expansions and backslashes have a meaning, up to a double quote or the end.

        The end of a here-document's body is the end of the text, because `plain` then matches double quotes too.
        """
        text = self.text
        while self.at < len(text) and (text[self.at] != '"' or plain is _IN_BODY):
            literal = plain.match(text, self.at)
            if literal is not None:
                self.at = literal.end()
                pieces.append(WordPiece("literal", literal[0], quoted=True))
            elif text[self.at] == "\\":
                letter = text[self.at + 1 : self.at + 2]
                if letter != "\n":
                    is_escaped = bool(letter) and letter in escaped
                    pieces.append(WordPiece("literal", letter if is_escaped else "\\" + letter, quoted=True))
                self.at += 2
            else:
                self._expansion(pieces, quoted=True)

    def _expansion(self, pieces: list[WordPiece], *, quoted: bool) -> None:
        """Read what a dollar sign or a backquote begins."""
        text, at = self.text, self.at
        if text[at] == "`":
            pieces.append(self._backquoted(quoted=quoted))
            return
        following = text[at + 1 : at + 2]
        if following == "(":
            pieces.append(self._parenthesised(quoted=quoted))
        elif following == "{":
            pieces.append(self._braced(quoted=quoted))
        elif following == "[":
            parts: list[CommandList | BashWord] = []
            self.at += 2
            self._skip_to("]", _IN_BRACKETS, parts, opening="[")
            pieces.append(WordPiece("arithmetic", text[at : self.at], quoted, tuple(parts)))
        elif following == "'" and not quoted:
            self._ansi(pieces)
        elif following == '"' and not quoted:
            self.at += 2
            self._double_quoted(pieces)
        else:
            parameter = _PARAMETER.match(text, at)
            self.at = parameter.end() if parameter else at + 1
            pieces.append(
                WordPiece("parameter", parameter[0], quoted) if parameter else WordPiece("literal", "$", quoted)
            )

    def _ansi(self, pieces: list[WordPiece]) -> None:
        content = _ANSI.match(self.text, self.at + 2)
        if content is None:
            raise self.refuse("a closing single quote")
        self.at = content.end()
        pieces.append(WordPiece("literal", decode_ansi(content[0][:-1]), quoted=True))

    def _backquoted(self, *, quoted: bool) -> WordPiece:
        content = _BACKQUOTED.match(self.text, self.at + 1)
        if content is None:
            raise self.refuse("a closing backquote")
        start, self.at = self.at, content.end()
        inner = (_ESCAPED_IN_QUOTES if quoted else _ESCAPED).sub(r"\1", content[0][:-1])
        script = self.script_of(inner)
        return WordPiece("substitution", self.text[start : self.at], quoted, () if script is None else (script,))

    def _parenthesised(self, *, quoted: bool) -> WordPiece:
        """Read `$((…))`, or `$(…)`. What begins like an arithmetic expression and ends otherwise is a substitution."""
        start = self.at
        if self.text.startswith("$((", start):
            parts = self.arithmetic(start + 3)
            if parts is not None:
                return WordPiece("arithmetic", self.text[start : self.at], quoted, parts)
        self.at = start + 2
        script = self.nested_script()
        return WordPiece("substitution", self.text[start : self.at], quoted, (script,))

    def arithmetic(self, begin: int) -> tuple[CommandList | BashWord, ...] | None:
        """Read an arithmetic expression and its two closing parentheses.

        Return its parts, or None with an unchanged position if the text is no arithmetic expression.
        """
        if begin in self._not_arithmetic:
            return None
        start, state = self.at, (self.depth, self.substitutions, self.pending, len(self.pending))
        self.at = begin
        parts: list[CommandList | BashWord] = []
        try:
            self._skip_to(")", _IN_ARITHMETIC, parts, opening="(")
            if self.text.startswith(")", self.at):
                self.at += 1
                return tuple(parts)
        except UnreadableError:
            pass
        self._not_arithmetic.add(begin)
        self.at, (self.depth, self.substitutions, self.pending, waiting) = start, state
        del self.pending[waiting:]
        return None

    def _braced(self, *, quoted: bool) -> WordPiece:
        text, start = self.text, self.at
        head = _BRACED.match(text, start)
        assert head is not None  # noqa: S101 - the pattern matches every text that begins with these two characters
        has_quotes = not quoted or head["operator"] is not None
        parts: list[CommandList | BashWord] = []
        self.at = start + 2
        self.enter()
        self._skip_to("}", _IN_BRACES, parts, has_quotes=has_quotes, has_processes=not quoted)
        self.depth -= 1
        return WordPiece("parameter", text[start : self.at], quoted, tuple(parts))

    def _process(self) -> WordPiece:
        start = self.at
        self.at += 2
        script = self.nested_script()
        return WordPiece("process", self.text[start : self.at], quoted=True, parts=(script,))

    def _pattern(self, pieces: list[WordPiece], opening: int) -> None:
        """Read a text in parentheses that is a part of a word: an extended pattern, or a part of a regular expression.

        `opening` is the number of characters up to the opening parenthesis, including it.
        """
        text, depth = self.text, 1
        pieces.append(WordPiece("literal", text[self.at : self.at + opening]))
        self.at += opening
        while depth:
            if self.at >= len(text):
                raise self.refuse("a closing parenthesis of a pattern")
            literal = _IN_PATTERN.match(text, self.at)
            if literal is not None:
                self.at = literal.end()
                pieces.append(WordPiece("literal", literal[0]))
            elif text[self.at] in "()":
                depth += 1 if text[self.at] == "(" else -1
                pieces.append(WordPiece("literal", text[self.at]))
                self.at += 1
            else:
                self._quoting(pieces)

    def _skip_to(
        self,
        closing: str,
        plain: re.Pattern[str],
        parts: list[CommandList | BashWord],
        *,
        opening: str = "",
        has_quotes: bool = True,
        has_processes: bool = False,
    ) -> None:
        """Go behind the closing character of an expansion. Add the scripts inside the expansion to `parts`."""
        text, depth = self.text, 1
        while self.at < len(text):
            literal = plain.match(text, self.at)
            if literal is not None:
                self.at = literal.end()
                continue
            letter = text[self.at]
            if letter in (closing, opening):
                self.at += 1
                depth += 1 if letter == opening else -1
                if not depth:
                    return
                continue
            pieces: list[WordPiece] = []
            if letter == "'" and not has_quotes:
                self.at += 1
            elif letter in _NOT_IN_QUOTES:
                self._quoting(pieces)
            elif has_processes and text.startswith("(", self.at + 1):
                pieces.append(self._process())
            else:
                self.at += 1
            for piece in pieces:
                parts.extend(piece.parts)
        raise self.refuse(f"a closing {closing}")


def decode_ansi(content: str) -> str:
    """Return the text that `$'…'` stands for. Bytes that are not UTF-8 become surrogates.

    >>> decode_ansi(r"a\\tb\\x41\\u00e9") == "a\\tbA\\u00e9"
    True
    """
    if "\\" not in content:
        return content
    pieces: list[bytes] = []
    at = 0
    for escape in _ANSI_ESCAPE.finditer(content):
        pieces.append(content[at : escape.start()].encode(errors="surrogateescape"))
        at = escape.end()
        if escape["octal"]:
            pieces.append(bytes([int(escape["octal"], 8) & 255]))
        elif escape["byte"] or escape["braced"] is not None:
            pieces.append(bytes([int(escape["byte"] or escape["braced"] or "0", 16) & 255]))
        elif escape["short"] or escape["long"]:
            code = int(escape["short"] or escape["long"], 16)
            # Bash writes numbers beyond Unicode too. No text has these bytes, so they only have to stay different.
            pieces.append(chr(code).encode(errors="surrogatepass") if code < 0x110000 else b"\xff" + escape[0].encode())
        elif escape["control"]:
            pieces.append(_control(escape["control"][0]))
        else:
            letter = escape["letter"]
            pieces.append(_LETTERS.get(letter, "\\" + letter).encode(errors="surrogateescape"))
    pieces.append(content[at:].encode(errors="surrogateescape"))
    return b"".join(pieces).partition(b"\0")[0].decode(errors="surrogateescape")


def _control(letter: str) -> bytes:
    """Return the control character that `\\c` and a letter stand for. Only the letter's first byte changes."""
    first, *others = letter.encode(errors="surrogateescape")
    return b"\x7f" if letter == "?" else bytes([first & 0x1F, *others])


def joined(pieces: list[WordPiece]) -> tuple[WordPiece, ...]:
    """Join neighbouring literals of one quoting. Leave out empty ones, except when the word has no other piece."""
    found: list[WordPiece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and piece.kind == last.kind == "literal":
            if piece.quoted == last.quoted or not last.text:
                found[-1] = WordPiece("literal", last.text + piece.text, piece.quoted)
                continue
            if not piece.text:
                continue
        found.append(piece)
    return tuple(found)
