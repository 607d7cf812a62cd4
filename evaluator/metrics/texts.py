"""This module compares a command's text with references: equal bytes, equal normalised texts, or equal templates.

No command is executed, and no similarity is estimated: two texts are equal or not. Full-command and template accuracy
are those of Lin et al. 2018, "NL2Bash: A Corpus and Semantic Parser for Natural Language Interface to the Linux
Operating System" (LREC). This module does the automatic part of the paper's method, without human review. In a
template, the kind of an argument replaces the argument, and the order of flags does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from evaluator.metrics.bleu import bleu_counts
from evaluator.records import TextMetrics
from evaluator.shell import Utility, utilities_of
from evaluator.shell.bash_parser import without_bodies
from evaluator.shell.call_agreement import call_agreement
from evaluator.shell.programs import called_programs
from evaluator.shell.repeats import contains, repeats
from evaluator.shell.stored_output import has_encoded_literal
from evaluator.shell.utilities import EXECUTORS

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t\r]+|\\\n)
    | (?P<operator>\n+|\d*(?:&>>|&>|<<<|<<-?|<>|>>|>&|<&|>\||[<>])|\|\||&&|\|&|;;&?|;&|[|&;()])
    | (?P<single>'[^']*')
    | (?P<double>"(?:\\.|[^"\\])*")
    | (?P<plain>\\.|\$?[^ \t\r\n\\'"|&;()<>$]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_STATE_DESCRIPTOR: Final = re.compile(rb"(?<![0-9])251[<>]|[<>]&[ \t]*251(?![0-9])|/fd/251(?![0-9])")
"""A redirection of the descriptor 251, or its path. The runner's shell writes its state there, `STATE_FD`."""

_HERE_DOCUMENT: Final = re.compile(r"<<(?!<)")
_SPECIAL: Final = frozenset("\"'$`\\!")
"""Characters that have a meaning between one kind of quotes and none between the other."""

_BARE: Final = re.compile(r"[A-Za-z0-9_./,:@%+-]+")
"""A word that needs no quotes."""

_KINDS: Final = (
    ("Permission", re.compile(r"^[-/]?[ugoa]*[-+=][rwxXst]+(,[ugoa]*[-+=][rwxXst]+)*$")),
    ("Script", re.compile(r"[\s{}();=]|^[sy]([/|,#]).*\1.*\1")),
    ("Expansion", re.compile(r"[$`]")),
    ("Number", re.compile(r"^[+-]?\d+(\.\d+)?$")),
    ("Quantity", re.compile(r"^[+-]?\d+[A-Za-z%]{1,2}$")),
    ("Pattern", re.compile(r"[*?\[\]^|\\]")),
    ("Path", re.compile(r"/|^\.{1,2}$|^~")),
)
"""Kinds of arguments, first match wins. They follow the kinds of NL2Bash, as far as the text alone shows them."""


class Piece(NamedTuple):
    """A word or an operator of a command's text."""

    text: str
    is_operator: bool


def pieces(command: str) -> list[Piece]:
    """Return the words and operators of a command in order.

    Remove quotes if the meaning stays the same. If quotes are necessary, prefer single quotes.
    """
    found: list[Piece] = []
    word = ""
    for token in _TOKEN.finditer(command):
        kind, text = token.lastgroup, token[0]
        if kind in ("blank", "operator"):
            if word:
                found.append(Piece(word, is_operator=False))
            word = ""
            if kind == "operator":
                found.append(Piece("\n" if text.startswith("\n") else text, is_operator=True))
        else:
            word += text if kind == "plain" else _quoted(text)
    return [*found, Piece(word, is_operator=False)] if word else found


def _quoted(text: str) -> str:
    inner = text[1:-1]
    if _SPECIAL & set(inner):
        return text
    return inner if _BARE.fullmatch(inner) and not inner.isdigit() else f"'{inner}'"


@lru_cache(maxsize=16_384)
def normalised(command: str) -> str:
    """Return a command's text with one blank between its words and operators, and with the simplest quotes.

    Quotes are removed if the shell would read the same without them. Double quotes become single quotes if the meaning
    stays the same. From a text with a here-document or an unclosed quote, only blanks at both ends are removed.

    >>> normalised('find .  -name "*.txt"|wc -l ')
    "find . -name '*.txt' | wc -l"
    """
    text = command.strip()
    if _HERE_DOCUMENT.search(text) or any(token[0] in ("'", '"') for token in _TOKEN.finditer(text)):
        return text
    return " ".join(piece.text for piece in pieces(text)).strip("\n ")


def kind_of(argument: str) -> str:
    """Return the kind of a command's argument, or `Word` if its text shows no special kind.

    >>> [kind_of(each) for each in ("+7", "10M", "u+x", "*.txt", "/var/log", "s/a/b/", "$HOME", "notes.txt")]
    ['Number', 'Quantity', 'Permission', 'Pattern', 'Path', 'Script', 'Expansion', 'Word']
    """
    if argument in ("", "{}"):
        return argument
    return next((kind for kind, pattern in _KINDS if pattern.search(argument)), "Word")


@lru_cache(maxsize=16_384)
def template(command: str) -> str | None:
    """Return the template of a command: arguments become kinds, and flags are sorted. Return None on a parse error.

    The template lists the utilities in call order, with nested utilities in brackets, and then the operators between
    them. The predicates of `find` keep their order, because they form an expression.

    >>> template("tar -c -f a.tgz src/ | wc -c")
    'tar -c -f Word Path; wc -c; |'
    """
    utilities = utilities_of(command)
    if utilities is None:
        return None
    operators = " ".join(piece.text for piece in pieces(without_bodies(command.strip())) if piece.is_operator)
    return "; ".join([*map(_utility_template, utilities), operators])


def _utility_template(utility: Utility) -> str:
    # The terminator of `-exec` is not an argument: `;` runs a command for each file, `+` one for all.
    values = [flag.value if flag.name in EXECUTORS else kind_of(flag.value) for flag in utility.flags]
    flags = [f"{flag.name} {value}".rstrip() for flag, value in zip(utility.flags, values, strict=True)]
    words = [utility.name, *(flags if utility.name == "find" else sorted(flags)), *map(kind_of, utility.arguments)]
    nested = "; ".join(map(_utility_template, utility.nested))
    return " ".join([*words, f"[{nested}]"] if nested else words)


def _decoded(commands: Iterable[bytes]) -> list[str]:
    return [command.decode(errors="surrogateescape") for command in commands]


def compare_texts(command: bytes, references: Sequence[bytes]) -> TextMetrics:
    """Compare a command's text with a task's references. An empty command matches no reference.

    >>> found = compare_texts(b"head -n 9 a.txt", [b"head -n 5 a.txt"])
    >>> found.verbatim, found.full_command, found.template
    (False, False, True)
    """
    mine, *theirs = _decoded([command, *references])
    counts = bleu_counts(mine.split(), [each.split() for each in theirs])
    if not mine.strip():
        return TextMetrics(bleu=counts)
    same = any(repeats(command, reference) for reference in references)
    verbatim = same or mine.strip() in {each.strip() for each in theirs}
    full = verbatim or normalised(mine) in set(map(normalised, theirs))
    shape = template(mine)
    return TextMetrics(
        verbatim=verbatim,
        full_command=full,
        template=full or (shape is not None and shape in set(map(template, theirs))),
        calls=call_agreement(command, references),
        holds_reference=verbatim or any(contains(command, reference) for reference in references),
        encoded_literal=has_encoded_literal(command),
        state_descriptor=_STATE_DESCRIPTOR.search(command) is not None,
        bleu=counts,
    )


def calls_of_references(references: Sequence[bytes]) -> dict[str, float]:
    """Map each utility in a task's references to its mean number of calls per reference.

    Calls inside other calls also count. The result is sorted by name. A reference that cannot be parsed adds no calls.
    Names of functions, scripts and expansions are no utilities.

    >>> calls_of_references([b"sort a | uniq", b"sort -u a"])
    {'sort': 1.0, 'uniq': 0.5}
    """
    found: dict[str, int] = {}
    for reference in references:
        for name in called_programs(reference):
            found[name] = found.get(name, 0) + 1
    return {name: found[name] / len(references) for name in sorted(found)}
