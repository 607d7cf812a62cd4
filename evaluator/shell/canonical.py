"""Compute the canonical form of a command: equal for two spellings of one command.

    canonical_form(b'find . -name "*.c"|sort --unique # all\\n') == canonical_form(b"find . -name '*.c' | sort -u")

Two commands with one form have the same effect in every world. The form leaves out blanks, comments, the last line end,
braces round a list, and calls of `:` and `true` whose status nothing can see. It resolves quotes, backslashes, `$'…'`,
the path of a program and `command`, and splits options by the table of `canonical_options`. What Bash distinguishes
stays different: `"$x"` and `$x`, `'*'` and `*`, tildes, braces, and the quoting of a here-document with expansions. A
command that can see its own text or its processes has its bytes as form.
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
from evaluator.shell.syntax import UnreadableError

Form = tuple[object, ...]
"""A nested tuple of texts and numbers. It is hashable, and `repr` gives a text that depends on nothing else."""

PROGRAM_FOLDERS: Final = ("/usr/bin/", "/bin/")
"""Folders in which the shell finds a program that it calls by its name alone."""

BUILTINS: Final = frozenset(
    re.findall(
        r"\S+",
        ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown "
        "echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile "
        "popd printf pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true "
        "type typeset ulimit umask unalias unset wait",
    )
)
"""Builtins of Bash, and the keyword that is also a program. A program of the same name in a folder differs."""

_SEES_ITSELF: Final = frozenset(
    {"ps", "pgrep", "pkill", "pstree", "pidof", "top", "htop", "fuser", "lsof", "caller", "history", "fc", "times"}
    | {"jobs", "alias", "unalias"}
)
"""Programs that see the shell's processes or its text, or change how it is read."""

_SEEN: Final = re.compile(
    r"\$\{?[#!]?(?:_(?!\w)|LINENO|BASH_COMMAND|BASH_EXECUTION_STRING|BASH_SOURCE|BASH_LINENO|FUNCNAME|BASHPID|\$|!)"
)
"""Parameters that depend on the text of the script or on its processes."""

_STATUS: Final = re.compile(r"\$\{?[#!]?(?:\?|PIPESTATUS)")
_SPECIAL: Final = re.compile(r"[\[{~(]")
_PATTERN: Final = re.compile(r"[*?]+")
_SIMPLE_PARAMETER: Final = re.compile(r"\$\{([A-Za-z_]\w*|[0-9@*#?$!-])\}\Z", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9_.+-]+\Z", re.ASCII)
_REDEFINES: Final = frozenset({"alias", "enable", "eval", "hash", "source", ".", "shopt", "set", "declare", "export"})
_NOTHING: Final = frozenset({":", "true"})


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
        if writer.facts.sees_itself:
            return ("bytes", command)
        form = writer.script(script)
        # Error messages of the shell have the number of a line, so lines count if the script keeps or prints them.
        inner = command.lstrip(b"\n")
        lines = (len(command) - len(inner), inner.rstrip().count(b"\n")) if writer.facts.sees_errors else ()
        return (*form, lines) if lines else form
    except (UnreadableError, RecursionError):
        return None


def form_digest(command: bytes) -> str:
    """Return the SHA-256 of a command's canonical form, in hexadecimal digits.

    A command without a form has that of its text.
    """
    form = canonical_form(command)
    return text_digest(command) if form is None else digest_of(repr(form).encode(errors="backslashreplace"))


def text_digest(command: bytes) -> str:
    """Return the SHA-256 of a command's text without white space at both ends, in hexadecimal digits."""
    return digest_of(b"text", command.strip())


def form_keys(command: bytes) -> tuple[str, str]:
    """Return the digests by which equal commands are found: that of the form, and that of the text."""
    return form_digest(command), text_digest(command)


class _Facts:
    """What a whole script contains that decides which spellings are equal."""

    def __init__(self, script: CommandList) -> None:
        self.sees_itself = False
        self.sees_status = False
        self.sees_errors = False
        self.defined: set[str] = set()
        self.words: set[str] = set()
        self._scan([script])
        self.drops_nothing = self.sees_status or bool(self.words & {"trap", "set"} or self.defined & _NOTHING)
        self.keeps_paths = self.sees_errors or bool(self.defined or self.words & _REDEFINES or "PATH" in self.words)

    def _scan(self, nodes: Iterable[object]) -> None:
        stack = list(nodes)
        while stack:
            stack += self._scan_node(stack.pop())

    def _scan_node(self, node: object) -> Iterable[object]:
        """Take the facts of one node, and return the nodes in it."""
        match node:
            case CommandList():
                return [pipeline for pipeline, _ in node.items]
            case Pipeline():
                self.sees_errors |= "|&" in node.operators or any(each != "!" for each in node.prefixes)
                return node.commands
            case Simple():
                self._scan_simple(node)
                return [*node.assignments, *node.words, *node.redirections]
            case Compound():
                if node.keyword == "function" and isinstance(node.parts[0], BashWord):
                    self.defined.add(node.parts[0].text)
                return [*node.parts, *node.redirections]
            case Redirection():
                takes_errors = node.descriptor == "2" or node.operator in ("&>", "&>>", ">&")
                self.sees_errors |= takes_errors and node.target.text != "/dev/null"
                return [node.target, *node.body]
            case BashWord():
                return node.pieces
            case WordPiece():
                if node.kind != "literal":
                    self.sees_itself |= _SEEN.search(node.text) is not None
                    self.sees_status |= _STATUS.search(node.text) is not None
                return node.parts
        return ()

    def _scan_simple(self, command: Simple) -> None:
        self.words.update(word.source.partition("=")[0] for word in command.assignments)
        texts = [word.text for word in command.words]
        if texts[:1] and texts[0] in _NOTHING:
            return
        self.words.update(texts[:2] if texts[:1] and texts[0] in ("command", "builtin") else texts[:1])
        self.words.update(text.partition("=")[0] for text in texts if text.startswith(("PATH=", "POSIXLY_CORRECT=")))
        self.sees_itself |= any(text in _SEES_ITSELF or text.startswith("/proc") for text in texts)
        self.sees_itself |= any(text.rpartition("/")[2] in _SEES_ITSELF for text in texts[:1])
        self.sees_status |= texts in (["exit"], ["return"])


class FormWriter:
    """Writes the form of each part of a script."""

    def __init__(self, script: CommandList) -> None:
        self.facts = _Facts(script)

    def script(self, script: CommandList) -> Form:
        """Return the form of a list: its pipelines, each with the operator after it."""
        return ("script", *((self.pipeline(pipeline), operator) for pipeline, operator in self.statements(script)))

    def statements(self, script: CommandList) -> list[tuple[Pipeline, str]]:
        """Return a list's pipelines and operators, without braces round a list and without calls of `:` and `true`."""
        items: list[tuple[Pipeline, str]] = []
        pending = list(reversed(script.items))
        while pending:
            pipeline, operator = pending.pop()
            inner = _braced_list(pipeline)
            if inner is not None and operator == ";" and not (items and items[-1][1] in ("&&", "||")):
                # The list in the braces is a part of this one. Its last operator is the one after the braces.
                pending += reversed(inner.items)
                continue
            if self._is_nothing(pipeline) and self._is_unseen(operator, items, pending):
                if operator == ";" and items and items[-1][1] == "&&":
                    items[-1] = (items[-1][0], ";")
                continue
            items.append((pipeline, operator))
        return items

    def _is_unseen(self, operator: str, items: list[tuple[Pipeline, str]], pending: list[tuple[Pipeline, str]]) -> bool:
        """Return whether nothing sees that a call of `:` or `true` ran, so that the form leaves it out."""
        if self.facts.drops_nothing:
            return False
        before = items[-1][1] if items else ";"
        if before == "&&":
            # The status of `a && true` is that of `a`.
            return operator == ";"
        return before == ";" and bool(pending) and operator in (";", "&&")

    def _is_nothing(self, pipeline: Pipeline) -> bool:
        if pipeline.prefixes or len(pipeline.commands) != 1:
            return False
        (command,) = pipeline.commands
        if not isinstance(command, Simple) or command.assignments or not command.words:
            return False
        if literal_of(self.word(command.words[0])) not in _NOTHING:
            return False
        if any(piece.kind != "literal" for word in command.words for piece in word.pieces):
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
        only = _only_command(command)
        if only is not None:
            return self._command(only)
        redirections = tuple(map(self._redirection, command.redirections))
        parts: list[object] = []
        is_regex = False
        for part in command.parts:
            match part:
                case CommandList():
                    parts.append(self.script(part))
                case BashWord():
                    parts.append(self.word(part, is_raw=is_regex))
                case WordPiece():
                    parts.append(part.text)
                case _:
                    parts.append(part)
            is_regex = isinstance(part, BashWord) and part.source == "=~"
        return (command.keyword, tuple(parts), redirections)

    def _simple(self, command: Simple) -> Form:
        words = [self.word(word) for word in command.words]
        if not self.facts.keeps_paths:
            words = _resolved(words)
        return (
            "simple",
            tuple(map(self.word, command.assignments)),
            canonical_words(words) if "POSIXLY_CORRECT" not in self.facts.words else ("raw", *words),
            tuple(map(self._redirection, command.redirections)),
        )

    def _redirection(self, redirection: Redirection) -> Form:
        default = "0" if redirection.operator.startswith("<") else "1"
        descriptor = redirection.descriptor or ("" if redirection.operator.startswith("&") else default)
        descriptor = descriptor.lstrip("0") or "0" if descriptor.isdigit() else descriptor
        if redirection.operator in ("<<", "<<-"):
            return (descriptor, "<<", self._pieces(redirection.body))
        return (descriptor, redirection.operator, self.word(redirection.target))

    def word(self, word: BashWord, *, is_raw: bool = False) -> Form:
        """Return the form of a word: texts, patterns and expansions. With `is_raw`, quotes matter everywhere."""
        form = self._pieces(word.pieces, is_raw=is_raw)
        if word.is_assignment:
            return ("assignment", *form)
        if "@" in word.source and ('""' in word.source or "''" in word.source):
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
                simple = _SIMPLE_PARAMETER.match(piece.text)
                yield (kind, piece.quoted, f"${simple[1]}" if simple else piece.text)

    def _part(self, part: CommandList | BashWord) -> Form:
        return self.script(part) if isinstance(part, CommandList) else self.word(part)


def _keeps_word(token: object) -> bool:
    """Return whether a token alone keeps a word from vanishing when it is expanded."""
    if isinstance(token, tuple) and token[0] in ("parameter", "arithmetic", "substitution"):
        return token[1] is True and not (isinstance(token[2], str) and ("@" in token[2] or "*" in token[2]))
    return True


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
            if name != program and _NAME.match(name) and name not in BUILTINS:
                return [(name,), *words[1:]]
    return words
