"""Compute the canonical form of a command: equal for two spellings of one command.

    canonical_form(b'find . -name "*.c"|sort --unique # all\\n') == canonical_form(b"find . -name '*.c' | sort -u")

Two commands with one form have the same effect in every world. Only the name by which a program calls itself in its
error messages may differ. The form leaves out blanks, comments, the last line end, braces around a list, and calls of
`:` and `true` whose status nothing can see. It resolves quotes, backslashes, `$'…'`, the path of a program and
`command`, and splits options by the table of `canonical_options`. What Bash distinguishes stays different: `"$x"` and
`$x`, `'*'` and `*`, tildes, braces, and the quoting of a here-document with expansions.

Some commands can see how they are spelled, so fewer of their spellings have one form:

- A command that can see its own text has this text as form, and so has a script with another interpreter.
- The processes of a script show the words of programs, and braces may be a process of their own.
- Bash reads a line, runs it, and reads the next one. Some errors end a line and not the script, and an error message
  has the number of its line. So the form of a script in which this matters is that of its lines.
- Bash shows the body of a function as it is spelled. So the words in a function's body stay as they are.

In doubt, two spellings have two forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from evaluator.records import digest_of
from evaluator.shell.bash_parser import parse_bash
from evaluator.shell.bash_words import BashWord, CommandList, Compound, Pipeline, Redirection, Simple, WordPiece
from evaluator.shell.canonical_options import canonical_words, literal_of
from evaluator.shell.script_facts import NOTHING, ScriptFacts
from evaluator.shell.syntax import UnreadableError

Form = tuple[object, ...]
"""A nested tuple of texts and numbers. It is hashable, and `repr` gives a text that depends on nothing else."""

PROGRAM_FOLDERS: Final = ("/usr/bin/", "/bin/")
"""Folders in which the shell finds a program that it calls by its name alone."""

PROGRAMS: Final = frozenset(
    re.findall(
        r"\S+",
        "awk basename cat chgrp chmod chown cksum cmp comm cp csplit cut date dd df diff dirname du egrep expand "
        "expr fgrep file find fmt fold gawk grep groups gunzip gzip head hostname id join ln ls md5sum mkdir mktemp mv "
        "nl od paste pr readlink realpath rev rm rmdir sed seq sha1sum sha256sum shuf sort split stat tac tail tar tee "
        "touch tr tree truncate tsort uname unexpand uniq unzip wc which whoami xargs xz zcat zip",
    )
)
"""Programs that are in these folders and do the same by any path. A shell and `env` show the path, for example."""

_SHOWS_PATH: Final = re.compile(r"--?he|--vers|.*(?:ARGV|ENVIRON)", re.DOTALL)
"""Words that make a program print the name by which it was called."""

BUILTINS: Final = frozenset(
    re.findall(
        r"\S+",
        ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown "
        "echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile "
        "popd printf pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true "
        "type typeset ulimit umask unalias unset wait",
    )
)
"""Builtins of Bash, and the keyword that is also a program. `command` calls them too."""

_INTERPRETER: Final = re.compile(r"#!(?! ?/(?:usr/)?bin/(?:env )?bash[ \t]*(?:\n|\Z))")
"""The beginning of a script that is for another program than Bash, or for Bash with options."""

_SPECIAL: Final = re.compile(r"[\[{~(]")
_CONDITION: Final = re.compile(r"-[A-Za-z]{1,2}|[=!]=|=~?")
_PATTERN: Final = re.compile(r"[*?]+")
_SIMPLE_PARAMETER: Final = re.compile(r"\$\{([A-Za-z_]\w*|[0-9@*#?$!-])\}\Z", re.ASCII)


@lru_cache(maxsize=16_384)
def canonical_form(command: bytes) -> Form | None:
    """Return the canonical form of a command, or None if no parser reads the command.

    >>> canonical_form(b": a; { ls  -l; } # list") == canonical_form(b"ls -l")
    True
    >>> canonical_form(b"ls '*'") == canonical_form(b"ls *")
    False
    """
    if b"\0" in command:
        return None
    text = command.decode(errors="surrogateescape")
    try:
        script = parse_bash(text)
        writer = FormWriter(script)
        if writer.facts.prints_text or writer.facts.sees_itself or _INTERPRETER.match(text):
            return ("text", text if writer.facts.prints_text else _without_line_end(text))
        form = writer.whole(script, text)
        return (*form, _keeps_shell(script, text)) if writer.facts.sees_processes else form
    except (UnreadableError, RecursionError):
        return None


def form_digest(command: bytes) -> str:
    """Return the SHA-256 of a command's canonical form, in hexadecimal digits.

    A command without a form has that of its text.
    """
    form = canonical_form(command)
    return text_digest(command) if form is None else digest_of(repr(form).encode(errors="backslashreplace"))


def text_digest(command: bytes) -> str:
    """Return the SHA-256 of a command's text without white space at both ends, in hexadecimal digits.

    White space stays if it may be escaped, or a part of a here-document. Then one line end is left out.
    """
    text = command.strip(b" \t\n")
    if text.endswith(b"\\") or b"<<" in text:
        text = _without_line_end(command.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    return digest_of(b"text", text)


def _without_line_end(text: str) -> str:
    """Return a text without its last line end. An escaped line end stays."""
    return text if text.endswith("\\\n") else text.removesuffix("\n")


def form_keys(command: bytes) -> tuple[str, str]:
    """Return the digests by which equal commands are found: that of the form, and that of the text."""
    return form_digest(command), text_digest(command)


class FormWriter:
    """Writes the form of each part of a script."""

    def __init__(self, script: CommandList) -> None:
        self.facts = ScriptFacts(script)
        self._is_spelled = False

    def whole(self, script: CommandList, text: str) -> Form:
        """Return the form of a whole script. If lines matter in it, the form is that of its lines.

        If error messages are seen too, the form has the number of each line, and the source of what takes several. A
        message about a here-document or about a pattern that Bash refuses has a number or a text of its own.
        """
        numbered = self.facts.sees_errors
        if not (numbered or self.facts.may_fail):
            return self.script(script, is_outermost=True)
        if numbered and ("<<" in text or self.facts.is_extended) and "\n" in text.strip():
            return ("text", _without_line_end(text))
        found: list[tuple[int, str, Form]] = []
        number, at = 1, 0
        ends = [*(line.first for line in script.lines[1:]), len(script.items)]
        for (first, begin, end), last in zip(script.lines, ends, strict=True):
            number, at = number + text.count("\n", at, begin), begin
            source = text[begin:end]
            items = CommandList(script.items[first:last])
            form = self.script(items, is_last=last == len(script.items), is_outermost=True)
            if len(form) > 1:
                is_long = numbered and "\n" in source
                found.append((number if numbered else 1, source if is_long else "", form))
        if len(found) == 1 and found[0][:2] == (1, ""):
            return found[0][2]
        return ("lines", *found)

    def script(self, script: CommandList, *, is_last: bool = True, is_outermost: bool = False) -> Form:
        """Return the form of a list: its pipelines, each with the operator after it."""
        statements = self.statements(script, is_last=is_last, is_outermost=is_outermost)
        return ("script", *((self.pipeline(pipeline), operator) for pipeline, operator in statements))

    def statements(
        self, script: CommandList, *, is_last: bool = True, is_outermost: bool = False
    ) -> list[tuple[Pipeline, str]]:
        """Return a list's pipelines and operators, without braces around a list and without calls of `:` and `true`.

        If the list is not the last one of the script, nothing sees its status. Braces inside another list may be a
        process of their own.
        """
        items: list[tuple[Pipeline, str]] = []
        if self._is_spelled:
            return list(script.items)
        pending = list(reversed(script.items))
        while pending:
            pipeline, operator = pending.pop()
            inner = _braced_list(pipeline) if is_outermost or not self.facts.sees_processes else None
            if inner is not None and operator == ";" and not (items and items[-1][1] in ("&&", "||")):
                # The list in the braces is a part of this one. Its last operator is the one after the braces.
                pending += reversed(inner.items)
                continue
            if self._is_nothing(pipeline) and self._is_unseen(operator, items, not is_last or bool(pending)):
                if operator == ";" and items and items[-1][1] == "&&":
                    items[-1] = (items[-1][0], ";")
                continue
            items.append((pipeline, operator))
        return items

    def _is_unseen(self, operator: str, items: list[tuple[Pipeline, str]], follows: bool) -> bool:
        """Return whether nothing sees that a call of `:` or `true` ran, so that the form leaves it out.

        `follows` says whether another pipeline does.
        """
        if self.facts.drops_nothing:
            return False
        before = items[-1][1] if items else ";"
        if before == "&&":
            # The status of `a && true` is that of `a`.
            return operator == ";" and not self.facts.sees_processes
        return before == ";" and follows and operator in (";", "&&")

    def _is_nothing(self, pipeline: Pipeline) -> bool:
        if pipeline.prefixes or len(pipeline.commands) != 1:
            return False
        (command,) = pipeline.commands
        if not isinstance(command, Simple) or command.assignments or not command.words:
            return False
        if command.words[0].text not in NOTHING:
            return False
        texts = [literal_of(self.word(word)) for word in command.words]
        if texts[0] not in NOTHING or None in texts:
            return False
        documents = (each.operator in ("<<", "<<-") for each in command.redirections)
        return all(documents) and all(piece.kind == "literal" for each in command.redirections for piece in each.body)

    def pipeline(self, pipeline: Pipeline) -> Form:
        """Return the form of a pipeline. If it is a single command, it is the command's form."""
        commands = tuple(map(self._command, pipeline.commands))
        if not pipeline.prefixes and len(commands) == 1:
            return commands[0]
        return ("pipeline", pipeline.prefixes, commands, pipeline.operators)

    def _command(self, command: Simple | Compound) -> Form:
        if isinstance(command, Simple):
            return self._simple(command)
        only = None if self._is_spelled or self.facts.sees_processes else _only_command(command)
        if only is not None:
            return self._command(only)
        redirections = tuple(map(self._redirection, command.redirections))
        is_spelled, self._is_spelled = self._is_spelled, self._is_spelled or command.keyword == "function"
        parts = tuple(self._compound_parts(command))
        self._is_spelled = is_spelled
        return (command.keyword, parts, redirections)

    def _compound_parts(self, command: Compound) -> Iterator[object]:
        # Bash refuses a quoted name of a function or of a loop's variable, and a quoted operator of a condition.
        keeps_quotes = command.keyword in ("function", "for", "select")
        is_regex = False
        for number, part in enumerate(command.parts):
            match part:
                case CommandList():
                    yield self.script(part)
                case BashWord() if keeps_quotes and number == 0:
                    yield part.source
                case BashWord() if command.keyword == "[[" and _CONDITION.fullmatch(part.source):
                    yield part.source
                case BashWord():
                    yield self.word(part, is_raw=is_regex)
                case WordPiece():
                    yield part.text
                case _:
                    yield part
            is_regex = isinstance(part, BashWord) and part.source == "=~"

    def _simple(self, command: Simple) -> Form:
        words = [self.word(word) for word in command.words]
        if not self.facts.keeps_paths:
            words = _resolved(words)
        program = literal_of(words[0]) if words else None
        facts = self.facts
        is_known = not (self._is_spelled or facts.sees_processes or facts.is_redefined or facts.is_posix)
        return (
            "simple",
            tuple(map(self.word, command.assignments)),
            canonical_words(words) if is_known and program not in facts.defined else ("words", *words),
            tuple(map(self._redirection, command.redirections)),
        )

    def _redirection(self, redirection: Redirection) -> Form:
        default = "0" if redirection.operator.startswith("<") else "1"
        descriptor = redirection.descriptor or ("" if redirection.operator.startswith("&") else default)
        descriptor = descriptor.lstrip("0") or "0" if descriptor.isdigit() else descriptor
        if redirection.operator in ("<<", "<<-"):
            spelling = (redirection.operator, redirection.target.source) if self._is_spelled else ()
            return (descriptor, "<<", self._pieces(redirection.body), *spelling)
        return (descriptor, redirection.operator, self.word(redirection.target))

    def word(self, word: BashWord, *, is_raw: bool = False) -> Form:
        """Return the form of a word: texts, patterns and expansions. With `is_raw`, quotes matter everywhere."""
        if word.source == "{}":
            return ("{}",)
        form = self._pieces(word.pieces, is_raw=is_raw)
        if word.is_assignment:
            return ("assignment", *form)
        if self._is_spelled or ("@" in word.source and ('""' in word.source or "''" in word.source)):
            return ("source", word.source)
        return form

    def _pieces(self, pieces: Iterable[WordPiece], *, is_raw: bool = False) -> Form:
        """Return the form of the pieces of a word.

        A text is a text, a pattern is ("*", text), and an expansion is a tuple of its kind, quoting and content.
        """
        pieces = tuple(pieces)
        is_raw = is_raw or any(
            each.kind == "literal" and not each.quoted and _SPECIAL.search(each.text) for each in pieces
        )
        tokens: list[object] = []
        for piece in pieces:
            for token in self._tokens(piece, is_raw=is_raw):
                if isinstance(token, str) and tokens and isinstance(tokens[-1], str):
                    tokens[-1] += token
                else:
                    tokens.append(token)
        if any(token and _keeps_word(token) for token in tokens):
            tokens = [token for token in tokens if token != ""]
        return tuple(tokens)

    def _tokens(self, piece: WordPiece, *, is_raw: bool) -> Iterator[object]:
        match piece.kind:
            case "literal" if piece.quoted:
                yield piece.text
            case "literal" if is_raw:
                yield ("*", piece.text)
            case "literal":
                at = 0
                for pattern in _PATTERN.finditer(piece.text):
                    yield piece.text[at : pattern.start()]
                    yield ("*", pattern[0])
                    at = pattern.end()
                yield piece.text[at:]
            case "substitution" if piece.parts:
                yield ("substitution", piece.quoted, *map(self._part, piece.parts))
            case "process":
                yield (piece.text[:2], *map(self._part, piece.parts))
            case "array":
                yield ("array", *map(self._part, piece.parts))
            case kind:
                # An error message has the parameter as it is written.
                simple = None if self.facts.sees_errors else _SIMPLE_PARAMETER.match(piece.text)
                yield (kind, piece.quoted, f"${simple[1]}" if simple else piece.text)

    def _part(self, part: CommandList | BashWord) -> Form:
        return self.script(part) if isinstance(part, CommandList) else self.word(part)


def _keeps_word(token: object) -> bool:
    """Return whether a token alone keeps a word from vanishing when it is expanded."""
    if isinstance(token, tuple) and token[0] in ("parameter", "arithmetic", "substitution"):
        return token[1] is True and not (isinstance(token[2], str) and ("@" in token[2] or "*" in token[2]))
    return True


def _keeps_shell(script: CommandList, text: str) -> bool:
    """Return whether a script's last command runs beside the shell. Without a line behind it, it takes its place."""
    if not script.lines:
        return False
    pipeline = script.items[-1][0]
    is_simple = len(pipeline.commands) == 1 and isinstance(pipeline.commands[0], Simple)
    return not is_simple or bool(text[script.lines[-1].end :].partition("\n")[2])


def _braced_list(pipeline: Pipeline) -> CommandList | None:
    """Return the list in a pipeline that is nothing but a list in braces."""
    if pipeline.prefixes or len(pipeline.commands) != 1:
        return None
    (command,) = pipeline.commands
    if isinstance(command, Compound) and command.keyword == "{" and not command.redirections:
        (script,) = command.parts
        return script if isinstance(script, CommandList) and script.items[-1][1] == ";" else None
    return None


def _only_command(command: Compound) -> Simple | Compound | None:
    """Return the command in braces that hold nothing else."""
    script = _braced_list(Pipeline((), (command,)))
    if script is None or len(script.items) != 1:
        return None
    ((pipeline, _),) = script.items
    return pipeline.commands[0] if not pipeline.prefixes and len(pipeline.commands) == 1 else None


def _resolved(words: list[Form]) -> list[Form]:
    """Resolve `command` and the path of a program in the words of a command."""
    while len(words) > 1 and literal_of(words[0]) == "command":
        program = literal_of(words[1])
        if program is None or program.startswith("-") or program in BUILTINS:
            return words
        words = words[1:]
    program = literal_of(words[0]) if words else None
    if program is not None:
        for folder in PROGRAM_FOLDERS:
            name = program.removeprefix(folder)
            if name != program and name in PROGRAMS:
                shows = (_SHOWS_PATH.match(token) for word in words[1:] for token in word if isinstance(token, str))
                return words if any(shows) else [(name,), *words[1:]]
    return words
