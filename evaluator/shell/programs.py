"""Decide which names in a command are programs or builtins that every machine can have.

A reader lists each call in a command. Some called names say nothing about a system's skill: an expansion, a number in
an arithmetic expression, a function or variable that the command defines, and a script of the task's world. Figures for
each utility leave these names out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from evaluator.shell import option_table, utilities_of

_SYMBOLS: Final = frozenset({"[", "[[", ":", "."})
_SCRIPT: Final = re.compile(r"\.(?:sh|bash|ksh|py|pl|rb|js|php|awk|sed|out|exe|txt|log|csv|conf|xml|html?)\Z")
_ARITHMETIC: Final = re.compile(r"\(\((?:[^()]|\([^()]*\))*\)\)")
_QUOTES: Final = re.compile(r"[\\'\"]")
_VARIABLE: Final = re.compile(r"\bfor\s+(\w+)|\b(\w+)\+?=")
_FUNCTION: Final = re.compile(r"(?:^|[\s;&|({])(?:function\s+([\w-]+)|([\w-]+)\s*\(\s*\))")
_WORD: Final = re.compile(
    r"(?<![\w./~$#{}+-])(?:(?:/usr(?:/local)?)?/s?bin/)?([A-Za-z][A-Za-z0-9_+-]*+(?:\.[A-Za-z0-9]++)*+)(?![\w./=-])"
)
_FIRST: Final = re.compile(r"(?:\$\(|[|;&`]) *+([A-Za-z][A-Za-z0-9_+-]*+)")
"""The first word of a substitution or of a stage. In an arithmetic expression, only such a word is a program."""


def called_programs(command: bytes | str) -> Iterator[str]:
    """Yield the name of each program or builtin that a command calls, in source order, with repetitions.

    >>> list(called_programs("check() { test -f a; }; check && sudo bin/deploy; /usr/bin/wc -l <(sort a)"))
    ['test', 'sudo', 'wc', 'sort']
    """
    text = command.decode(errors="replace") if isinstance(command, bytes) else command
    defined = {name for found in (*_FUNCTION.findall(text), *_VARIABLE.findall(text)) for name in found}
    plain, substituted = _QUOTES.sub(" ", _ARITHMETIC.sub(" ", text)), _QUOTES.sub(" ", text)
    words = {*_WORD.findall(plain), *_FIRST.findall(substituted)} - (defined - {*option_table()})
    for utility in utilities_of(command) or ():
        for each in utility.walk():
            if each.name in _SYMBOLS or (each.name in words and not _SCRIPT.search(each.name)):
                yield each.name
