"""Find a command inside another command by their canonical forms.

A command may hide a reference in a spelling of its own: behind `sudo`, `time` or `LC_ALL=C`, in a text such as that of
`eval`, `bash -c` or a here-document, in a substitution, a loop or a function. So the statements of both commands are
compared without such wrappers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from evaluator.records import digest_of
from evaluator.shell.bash_parser import parse_bash
from evaluator.shell.bash_words import BashWord, CommandList, Compound, Pipeline, Redirection, Simple, children_of
from evaluator.shell.canonical import Form, FormWriter, canonical_form, form_digest
from evaluator.shell.options import UNKNOWN, Options, option_table
from evaluator.shell.syntax import MAX_DEPTH, UnreadableError
from evaluator.shell.utilities import EXECUTORS

MIN_LEAVES: Final = 5
"""The least number of words and operators of a command that is searched inside another one. Shorter commands are part
of many others by chance."""

MAX_STATEMENTS: Final = 20_000
"""The number of statements of a command up to which it is searched."""

_SHELLS: Final = frozenset(((name,),) for name in ("eval", "ash", "bash", "dash", "ksh", "sh", "zsh"))
"""The forms of the first word of a call that runs a text."""

_BLANK: Final = re.compile(r"\s")
_NAME: Final = re.compile(r"(?:--)?[A-Za-z_][\w-]*\+?=\Z|-[A-Za-z]\Z")
"""The name of an assignment, of a long option with a value, or of an option with an attached value."""


def repeats(command: bytes, other: bytes) -> bool:
    """Return whether two commands have the same canonical form.

    >>> repeats(b"{ ls -l; }", b"ls -l # all"), repeats(b"ls -l | wc", b"ls -l")
    (True, False)
    """
    form = canonical_form(command)
    return form is not None and form == canonical_form(other)


def contains(command: bytes, other: bytes) -> bool:
    """Return whether the statements of `other`, one after another, are somewhere in the command.

    The result is False if `other` is short, because short commands are part of many others by chance.

    >>> contains(b"if true; then sudo find . -type f | sort -u; fi", b"find . -type f | sort --unique")
    True
    """
    part = next(iter(_lists_of(other)), ())
    return bool(part) and _size_of(other) >= MIN_LEAVES and any(_has_run(run, part) for run in _lists_of(command))


def bare_digest(command: bytes) -> str:
    """Return the SHA-256 of a command's form without the wrappers around it, in hexadecimal digits.

    >>> bare_digest(b"LC_ALL=C bash -c 'time ls -l'") == bare_digest(b"ls  -l")
    True
    """
    lists = _lists_of(command)
    if not lists:
        return form_digest(command)
    wrapped = itertools.takewhile(_runs_a_text, lists[:-1])
    return digest_of(repr(lists[sum(1 for _ in wrapped)]).encode(errors="backslashreplace"))


def _runs_a_text(statements: tuple[Form, ...]) -> bool:
    """Return whether the statements are a subshell, or a shell with a text to run."""
    if len(statements) != 1:
        return False
    kind, *rest = statements[0]
    words = rest[1] if kind == "simple" else ()
    return kind == "(" or (isinstance(words, tuple) and words[1:2] in _SHELLS)


@lru_cache(maxsize=4096)
def _lists_of(command: bytes) -> tuple[tuple[Form, ...], ...]:
    """Return the forms of the statements of each list in a command, the outermost list first.

    The result is empty if no parser reads the command, or if it is too large.
    """
    try:
        script = parse_bash(command.decode(errors="surrogateescape"))
        found: list[tuple[Form, ...]] = []
        count = 0
        for statements in _lists(script, 0):
            found.append(tuple(statements))
            count += len(statements)
            if count > MAX_STATEMENTS:
                return ()
    except (UnreadableError, RecursionError):
        return ()
    return tuple(found)


def _lists(script: CommandList, depth: int) -> Iterator[list[Form]]:
    """Yield the statements of each list in a script: the script's own first, then those inside and in texts."""
    if depth > MAX_DEPTH:
        raise UnreadableError(f"nested deeper than {MAX_DEPTH}")
    # A writer for an empty script: what else is in the command must not hide a reference in another spelling.
    writer = FormWriter(CommandList(()))
    statements: list[Form] = []
    stages: list[list[Form]] = []
    inner: list[CommandList] = []
    for pipeline, _ in writer.statements(script):
        commands = []
        for command in pipeline.commands:
            bare, scripts = _unwrapped(command)
            commands.append(bare)
            inner += [*scripts, *_scripts_in([bare])]
            if len(pipeline.commands) > 1:
                stages.append([writer.pipeline(Pipeline((), (bare,)))])
        statements.append(writer.pipeline(Pipeline((), tuple(commands), pipeline.operators)))
    yield statements
    yield from stages
    for each in inner:
        yield from _lists(each, depth + 1)


def _unwrapped(command: Simple | Compound) -> tuple[Simple | Compound, list[CommandList]]:
    """Return a command without assignments and without programs that only run it, and the scripts in its words."""
    scripts: list[CommandList] = []
    while isinstance(command, Simple) and command.words:
        program = command.words[0].text.rpartition("/")[2]
        options = option_table().get(program, UNKNOWN)
        words = command.words[1:]
        if program == "find":
            scripts += _executed(words)
        if options.runs is None:
            return command._replace(assignments=()), scripts
        rest = words[_first_of_program(words, options) :]
        if options.joins:
            ends = (at for at, word in enumerate(rest) if word.text in options.ends)
            scripts += _parsed(" ".join(word.text for word in rest[: next(ends, len(rest))]))
        if options.joins or not rest:
            return command._replace(assignments=()), scripts
        command = Simple((), rest, command.redirections)
    return command, scripts


def _first_of_program(words: tuple[BashWord, ...], options: Options) -> int:
    """Return the place of the program that a wrapper such as `timeout -k 1 5 ls` runs."""
    at, operands = 0, options.runs or 0
    while at < len(words) and (words[at].text.startswith("-") or "=" in words[at].text or operands):
        text = words[at].text
        if text.startswith("--"):
            at += text[2:] in options.long_values
        elif text.startswith("-"):
            at += text[-1] in options.values and options.values.isdisjoint(text[1:-1])
        elif "=" not in text:
            operands -= 1
        at += 1
    return at


def _executed(words: tuple[BashWord, ...]) -> Iterator[CommandList]:
    """Yield the commands that `find` executes. Each begins at `-exec` or the like, and ends at `;` or at `{} +`."""
    start: int | None = None
    for at, word in enumerate(words):
        if start is None and word.text in EXECUTORS:
            start = at + 1
        elif start is not None and (word.text == ";" or (word.text == "+" and words[at - 1].text == "{}")):
            yield CommandList(((Pipeline((), (Simple((), words[start:at], ()),)), ";"),))
            start = None


def _parsed(text: str) -> Iterator[CommandList]:
    """Yield the script that a text is, if it is one."""
    try:
        yield parse_bash(text)
    except UnreadableError:
        return


def _scripts_in(nodes: Iterable[object]) -> Iterator[CommandList]:
    """Yield the outermost scripts in the nodes of a tree: bodies, substitutions, and texts that another shell may read.

    A text is a word, the value of an assignment or of an option, or a here-document. It has at least two words.
    """
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, CommandList):
            yield node
            continue
        pieces = node.body if isinstance(node, Redirection) else node.pieces if isinstance(node, BashWord) else ()
        if any(piece.kind == "literal" and _BLANK.search(piece.text) for piece in pieces):
            has_name = not pieces[0].quoted and _NAME.match(pieces[0].text) is not None
            yield from _parsed("".join(piece.text for piece in pieces[has_name:]))
        stack += children_of(node)


@lru_cache(maxsize=4096)
def _size_of(command: bytes) -> int:
    """Return the number of words, redirections and operators between commands. An unreadable command has none."""
    try:
        stack: list[object] = [parse_bash(command.decode(errors="surrogateescape"))]
    except UnreadableError:
        return 0
    size = 0
    while stack:
        node = stack.pop()
        size += isinstance(node, BashWord | Redirection | str)
        stack += children_of(node)
    return size


def _has_run(run: tuple[Form, ...], part: tuple[Form, ...]) -> bool:
    return any(run[at : at + len(part)] == part for at in range(len(run) - len(part) + 1))
