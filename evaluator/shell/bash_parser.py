"""Parse Bash into a tree of scripts, pipelines, commands and words.

    parse_bash("find . -name '*.c' | xargs wc -l")

The parser follows Bash's grammar, with extended patterns (`shopt -s extglob`) in words. Bash reads them only if the
option is on, and refuses them otherwise. At the start of a command, `!(` is a negated subshell, as it is without the
option.
The parser runs in linear time and limits the depth of nesting, because commands are untrusted.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.shell.bash_words import (
    BashWord,
    CommandList,
    Compound,
    Pipeline,
    Redirection,
    ScriptLine,
    Simple,
    WordPiece,
    WordReader,
    joined,
)
from evaluator.shell.syntax import UnreadableError

__all__ = ["parse_bash", "without_bodies"]

_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_WORD_END: Final = r"(?=[ \t\n;|&()<>]|\\\n|\Z)"
_RESERVED: Final = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|time|\{|\}|!|\[\[|\]\])"
    + _WORD_END
)
_ENDS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "]]"})
"""Reserved words that cannot begin a command."""

_REDIRECTION: Final = re.compile(
    r"(?P<descriptor>[0-9]+|\{[A-Za-z_]\w*\})?(?P<operator><<<|<<-?|<>|<&|<(?!\()|>>|>\||>&|>(?!\())|(?P<both>&>>?)"
)
_CONNECTOR: Final = re.compile(r"\|\||&&|;(?![;&])|&(?![>&])|\n")
_PIPE: Final = re.compile(r"\|&|\|(?!\|)")
_CASE_END: Final = re.compile(r";;&|;;|;&")
_FUNCTION: Final = re.compile(r"\((?:[ \t]|\\\n)*\)")
_OPTIONS_OF_TIME: Final = re.compile(r"-[p-]" + _WORD_END)
_CONDITION: Final = re.compile(r"&&|\|\||[()<>]|!(?=[ \t\n(]|\\\n)")
_CONDITION_END: Final = re.compile(r"\]\]" + _WORD_END)
_TAKE_ASSIGNMENTS: Final = frozenset({"declare", "typeset", "local", "export", "readonly", "eval", "let", "alias"})
_COPROC_NAME: Final = re.compile(
    r"([A-Za-z_]\w*)(?:[ \t]|\\\n)+(?=\(|(?:\{|if|for|while|until|case|select|\[\[)(?:[ \t\n]|\\\n))"
)
_CONTINUED: Final = re.compile(r"(?:[^\\]|\\.)*\\\Z", re.DOTALL)


def parse_bash(command: str) -> CommandList:
    """Parse a command. Raise UnreadableError if Bash would refuse it, or if it is nested too deeply."""
    try:
        return _Parser(command).whole_script()
    except RecursionError as error:
        raise UnreadableError("nested too deeply") from error


def without_bodies(command: str) -> str:
    """Return a command without the bodies of its here-documents. Return an unreadable command unchanged.

    >>> without_bodies("cat <<E | wc\\nit's\\nE\\nls")
    'cat <<E | wc\\nls'
    """
    if "<<" not in command:
        return command
    parser = _Parser(command)
    try:
        parser.whole_script()
    except (UnreadableError, RecursionError):
        return command
    pieces, at = [], 0
    for begin, end in sorted(parser.body_spans):
        pieces.append(command[at:begin])
        at = end
    return "".join((*pieces, command[at:]))


class _Parser(WordReader):
    """Parses commands. Each method begins at a token, and leaves the position behind what it read."""

    def whole_script(self) -> CommandList:
        """Read the whole text."""
        script = self.script()
        if self.at < len(self.text):
            raise self.refuse("a command")
        return script

    def script(self) -> CommandList:
        """Read pipelines until a token that cannot begin a command. The script may be empty."""
        self.enter()
        is_outermost = self.depth == 1
        items: list[tuple[Pipeline, str]] = []
        lines: list[ScriptLine] = []
        must_follow = False
        while True:
            is_new = self._skip_lines() and not must_follow
            if self._is_at_end():
                break
            begin = self.at
            pipeline = self._pipeline()
            if is_outermost:
                first = ScriptLine(len(items), begin, self.at) if is_new or not lines else lines.pop()
                lines.append(first._replace(end=self.at))
            self._skip_blanks()
            connector = _CONNECTOR.match(self.text, self.at)
            if connector is None:
                items.append((pipeline, ";"))
                must_follow = False
                break
            operator = connector[0]
            if operator != "\n":
                self.at = connector.end()
            items.append((pipeline, ";" if operator == "\n" else operator))
            must_follow = operator in ("&&", "||")
        if must_follow:
            raise self.refuse("a command")
        self.depth -= 1
        return CommandList(tuple(items), tuple(lines))

    def _is_at_end(self) -> bool:
        text = self.text
        if self.at >= len(text) or text[self.at] == ")" or _CASE_END.match(text, self.at):
            return True
        reserved = _RESERVED.match(text, self.at)
        return reserved is not None and reserved[0] in _ENDS

    def _some_script(self) -> CommandList:
        script = self.script()
        if not script.items:
            raise self.refuse("a command")
        return script

    def nested_script(self) -> CommandList:
        waiting, self.pending = self.pending, []
        self.substitutions += 1
        script = self.script()
        self._expect(")")
        self.substitutions -= 1
        # Bash reads the body of a here-document behind the parenthesis, if the document's line ended there.
        self.pending = [*waiting, *self.pending]
        return script

    def script_of(self, text: str) -> CommandList | None:
        if text not in self.scripts:
            try:
                self.scripts[text] = _Parser(text, self.depth, self.scripts, self.bodies).whole_script()
            except UnreadableError:
                self.scripts[text] = None
        return self.scripts[text]

    def array_elements(self) -> tuple[BashWord, ...]:
        elements: list[BashWord] = []
        while True:
            self._skip_lines()
            if self.text.startswith(")", self.at):
                self.at += 1
                return tuple(elements)
            elements.append(self._word(assigns=self.text.startswith("[", self.at)))

    # blanks, comments and line ends

    def _skip_blanks(self) -> None:
        blanks = _BLANKS.match(self.text, self.at)
        if blanks:
            self.at = blanks.end()
        if self.text.startswith("#", self.at):
            comment = _COMMENT.match(self.text, self.at)
            self.at = comment.end() if comment else self.at

    def _skip_lines(self) -> bool:
        """Skip blanks, comments and line ends, and read the here-documents that begin there. Tell if a line ended."""
        is_new = False
        self._skip_blanks()
        while self.text.startswith("\n", self.at):
            is_new = True
            self.at += 1
            waiting, self.pending = self.pending, []
            for redirection in waiting:
                self._read_body(redirection)
            self._skip_blanks()
        return is_new

    def _read_body(self, redirection: Redirection) -> None:
        """Read the body of a here-document. A document without its last line ends with the text, as in Bash."""
        delimiter, begin = redirection.target.text, self.at
        is_quoted = any(piece.quoted for piece in redirection.target.pieces) or "\\" in redirection.target.source
        lines: list[str] = []
        is_continued = False
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, len(self.text))
            if redirection.operator == "<<-" and not is_continued:
                line = line.lstrip("\t")
            if line == delimiter and not is_continued:
                break
            if self.substitutions and not is_continued and _closes_substitution(line, delimiter):
                self.at = end - len(line) + len(delimiter)
                break
            lines.append(line + "\n")
            is_continued = not is_quoted and line.endswith("\\") and _CONTINUED.match(line) is not None
        self.body_spans.add((begin, self.at))
        body = "".join(lines)
        if is_quoted:
            redirection.body = (WordPiece("literal", body, quoted=True),) if body else ()
        else:
            if body not in self.bodies:
                self.bodies[body] = self._expanded_body(body)
            redirection.body = self.bodies[body]

    def _expanded_body(self, body: str) -> tuple[WordPiece, ...]:
        """Read the expansions in a body. Bash reads them only when it runs the command, so an error is no refusal."""
        pieces: list[WordPiece] = []
        try:
            _Parser(body, self.depth, self.scripts, self.bodies).read_expanded(pieces)
        except UnreadableError:
            return (WordPiece("parameter", body, quoted=True),)
        return joined(pieces)

    def _expect(self, token: str) -> None:
        self._skip_lines()
        if not self.text.startswith(token, self.at):
            raise self.refuse(repr(token))
        self.at += len(token)

    def _expect_word(self, *words: str) -> str:
        self._skip_lines()
        reserved = _RESERVED.match(self.text, self.at)
        if reserved is None or reserved[0] not in words:
            raise self.refuse(" or ".join(map(repr, words)))
        self.at = reserved.end()
        return reserved[0]

    # commands

    def _pipeline(self) -> Pipeline:
        prefixes: list[str] = []
        while reserved := _RESERVED.match(self.text, self.at):
            if reserved[0] not in ("!", "time"):
                break
            self.at = reserved.end()
            self._skip_blanks()
            option = _OPTIONS_OF_TIME.match(self.text, self.at) if reserved[0] == "time" else None
            prefixes.append(f"time {option[0]}" if option else reserved[0])
            self.at = option.end() if option else self.at
            self._skip_blanks()
        if prefixes and (self.at >= len(self.text) or self.text[self.at] in "\n;"):
            return Pipeline(tuple(prefixes), (Simple((), (), ()),))
        commands, operators = [self._command()], []
        self._skip_blanks()
        while pipe := _PIPE.match(self.text, self.at):
            self.at = pipe.end()
            operators.append(pipe[0])
            self._skip_lines()
            commands.append(self._command())
            self._skip_blanks()
        return Pipeline(tuple(prefixes), tuple(commands), tuple(operators))

    def _command(self) -> Simple | Compound:
        text = self.text
        reserved = _RESERVED.match(text, self.at)
        compound: Compound | None = None
        if reserved is not None:
            compound = self._compound(reserved)
        elif text.startswith("(", self.at):
            compound = self._parenthesised_command()
        if compound is None:
            return self._simple()
        if compound.keyword in ("function", "coproc"):
            return compound
        return compound._replace(redirections=self._redirections())

    def _compound(self, reserved: re.Match[str]) -> Compound | None:
        keyword = reserved[0]
        if keyword in _ENDS or keyword == "!":
            raise self.refuse("a command")
        if keyword == "time":
            return None
        self.at = reserved.end()
        self.enter()
        match keyword:
            case "{":
                parts: tuple[CommandList | BashWord | WordPiece | str, ...] = (self._some_script(),)
                self._expect_word("}")
            case "if":
                parts = self._if()
            case "while" | "until":
                parts = (self._some_script(), self._do())
            case "for" | "select":
                parts = self._for()
            case "case":
                parts = self._case()
            case "[[":
                parts = self._condition()
            case "function":
                self._skip_blanks()
                name = self._word()
                self._skip_blanks()
                signature = _FUNCTION.match(self.text, self.at)
                self.at = signature.end() if signature else self.at
                parts = (name, self._function_body())
            case _:
                parts = self._coproc()
        self.depth -= 1
        return Compound(keyword, parts)

    def _parenthesised_command(self) -> Compound:
        start = self.at
        if self.text.startswith("((", start):
            parts = self.arithmetic(start + 2)
            if parts is not None:
                return Compound("((", (WordPiece("arithmetic", self.text[start : self.at], parts=parts),))
        self.at += 1
        script = self._some_script()
        self._expect(")")
        return Compound("(", (script,))

    def _if(self) -> tuple[CommandList | BashWord | WordPiece | str, ...]:
        parts: list[CommandList | BashWord | WordPiece | str] = []
        keyword = "if"
        while keyword in ("if", "elif"):
            condition = self._some_script()
            self._expect_word("then")
            parts += [keyword, condition, self._some_script()]
            keyword = self._expect_word("elif", "else", "fi")
        if keyword == "else":
            parts += [keyword, self._some_script()]
            self._expect_word("fi")
        return tuple(parts)

    def _do(self) -> CommandList:
        self._expect_word("do")
        script = self._some_script()
        self._expect_word("done")
        return script

    def _for(self) -> tuple[CommandList | BashWord | WordPiece | str, ...]:
        self._skip_blanks()
        parts: list[CommandList | BashWord | WordPiece | str] = []
        if self.text.startswith("((", self.at):
            start = self.at
            inner = self.arithmetic(start + 2)
            if inner is None:
                raise self.refuse("'))'")
            parts.append(WordPiece("arithmetic", self.text[start : self.at], parts=inner))
        else:
            parts.append(self._word())
            self._skip_lines()
            if re.compile(r"in(?=[ \t\n;]|\\\n)").match(self.text, self.at):
                self.at += 2
                parts.append("in")
                parts += self._words_of_line()
        self._skip_blanks()
        if self.text.startswith(";", self.at):
            self.at += 1
        self._skip_lines()
        if self.text.startswith("{", self.at):
            self._expect_word("{")
            parts.append(self._some_script())
            self._expect_word("}")
        else:
            parts.append(self._do())
        return tuple(parts)

    def _words_of_line(self) -> list[BashWord]:
        words: list[BashWord] = []
        self._skip_blanks()
        while self.at < len(self.text) and self.text[self.at] not in ";\n":
            words.append(self._word())
            self._skip_blanks()
        return words

    def _case(self) -> tuple[CommandList | BashWord | WordPiece | str, ...]:
        self._skip_blanks()
        parts: list[CommandList | BashWord | WordPiece | str] = [self._word()]
        self._skip_lines()
        if not re.compile(r"in(?=[ \t\n]|\\\n)").match(self.text, self.at):
            raise self.refuse("'in'")
        self.at += 2
        while True:
            self._skip_lines()
            reserved = _RESERVED.match(self.text, self.at)
            if reserved is not None and reserved[0] == "esac":
                self.at = reserved.end()
                return tuple(parts)
            if self.text.startswith("(", self.at):
                self.at += 1
                self._skip_blanks()
            parts.append("pattern")
            parts.append(self._word())
            self._skip_blanks()
            while self.text.startswith("|", self.at):
                self.at += 1
                self._skip_blanks()
                parts.append(self._word())
                self._skip_blanks()
            if not self.text.startswith(")", self.at):
                raise self.refuse("')'")
            self.at += 1
            parts.append(self.script())
            self._skip_lines()
            end = _CASE_END.match(self.text, self.at)
            self.at = end.end() if end else self.at
            parts.append(end[0] if end else ";;")
            if end is None and not self.text.startswith("esac", self.at):
                raise self.refuse("'esac'")

    def _condition(self) -> tuple[CommandList | BashWord | WordPiece | str, ...]:
        parts: list[CommandList | BashWord | WordPiece | str] = []
        is_regex = False
        while True:
            self._skip_lines()
            end = _CONDITION_END.match(self.text, self.at)
            if end is not None:
                self.at = end.end()
                return tuple(parts)
            operator = None if is_regex else _CONDITION.match(self.text, self.at)
            if operator is not None and self.text[self.at : self.at + 2] not in ("<(", ">("):
                self.at = operator.end()
                parts.append(operator[0])
                continue
            word = self._word(is_regex=is_regex)
            is_regex = word.source == "=~"
            parts.append(word)

    def _coproc(self) -> tuple[CommandList | BashWord | WordPiece | str, ...]:
        self._skip_blanks()
        name = _COPROC_NAME.match(self.text, self.at)
        parts: list[CommandList | BashWord | WordPiece | str] = []
        if name is not None and not _RESERVED.match(self.text, self.at):
            parts.append(name[1])
            self.at = name.end()
        if self.at >= len(self.text) or self.text[self.at] in "\n;&|)":
            raise self.refuse("a command")
        parts.append(CommandList(((Pipeline((), (self._command(),)), ";"),)))
        return tuple(parts)

    def _function_body(self) -> CommandList:
        self._skip_lines()
        if not self.text.startswith("(", self.at):
            reserved = _RESERVED.match(self.text, self.at)
            if reserved is None or reserved[0] in ("function", "coproc", "time", "!"):
                raise self.refuse("a function's body")
        return CommandList(((Pipeline((), (self._command(),)), ";"),))

    def _simple(self) -> Simple | Compound:
        assignments: list[BashWord] = []
        words: list[BashWord] = []
        redirections: list[Redirection] = []
        text = self.text
        declares = True
        while True:
            self._skip_blanks()
            if self.at >= len(text):
                break
            letter = text[self.at]
            redirection = self._redirection() if letter in "<>&{0123456789" else None
            if redirection is not None:
                redirections.append(redirection)
                continue
            if letter in "\n;&|)":
                break
            if letter == "(":
                return self._function(words, assignments, redirections)
            word = self._word(assigns=declares)
            if word.is_assignment and not words:
                assignments.append(word)
                continue
            if not words:
                declares = word.source in _TAKE_ASSIGNMENTS
            words.append(word)
        if not (assignments or words or redirections):
            raise self.refuse("a command")
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _function(
        self, words: list[BashWord], assignments: list[BashWord], redirections: list[Redirection]
    ) -> Compound:
        signature = _FUNCTION.match(self.text, self.at)
        if signature is None or len(words) != 1 or assignments or redirections:
            raise self.refuse("a word")
        self.at = signature.end()
        self.enter()
        body = self._function_body()
        self.depth -= 1
        return Compound("function", (words[0], body))

    def _word(self, *, assigns: bool = False, is_regex: bool = False) -> BashWord:
        word = self.read_word(assigns=assigns, is_regex=is_regex)
        if not word.source:
            raise self.refuse("a word")
        return word

    def _redirections(self) -> tuple[Redirection, ...]:
        found: list[Redirection] = []
        while True:
            self._skip_blanks()
            redirection = self._redirection()
            if redirection is None:
                return tuple(found)
            found.append(redirection)

    def _redirection(self) -> Redirection | None:
        operator = _REDIRECTION.match(self.text, self.at)
        if operator is None:
            return None
        self.at = operator.end()
        self._skip_blanks()
        redirection = Redirection(operator["descriptor"] or "", operator["operator"] or operator["both"], self._word())
        if redirection.operator in ("<<", "<<-"):
            self.pending.append(redirection)
        return redirection


def _closes_substitution(line: str, delimiter: str) -> bool:
    """Return whether a line ends a here-document and the substitution around it, as in `x=$(cat <<E\\n…\\nE)`."""
    return line.startswith(delimiter) and ")" in line[len(delimiter) :]
