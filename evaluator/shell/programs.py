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

_NAME: Final = re.compile(r"\[\[?|:|\.|[A-Za-z][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9]+)*")
_SCRIPT: Final = re.compile(r"\.(?:sh|bash|ksh|py|pl|rb|js|php|awk|sed|out|exe|txt|log|csv|conf|xml|html?)\Z")
_ARITHMETIC: Final = re.compile(r"\(\((?:[^()]|\([^()]*\))*\)\)")
_QUOTES: Final = re.compile(r"[\\'\"]")
_VARIABLE: Final = re.compile(r"\bfor\s+(\w+)|\b(\w+)\+?=")
_FUNCTION: Final = re.compile(r"(?:^|[\s;&|({])(?:function\s+([\w-]+)|([\w-]+)\s*\(\s*\))")
_PROGRAM_FOLDER: Final = r"(?<![\w./~$}-])(?:/usr(?:/local)?)?/s?bin/"


def called_programs(command: bytes | str) -> Iterator[str]:
    """Yield the name of each program or builtin that a command calls, in source order, with repetitions.

    >>> list(called_programs("check() { test -f a; }; check && sudo bin/deploy; /usr/bin/wc -l <(sort a)"))
    ['test', 'sudo', 'wc', 'sort']
    """
    text = command.decode(errors="replace") if isinstance(command, bytes) else command
    defined = {name for found in (*_FUNCTION.findall(text), *_VARIABLE.findall(text)) for name in found} - {
        *option_table()
    }
    for utility in utilities_of(command) or ():
        for each in utility.walk():
            if each.name not in defined and _is_program(each.name, text):
                yield each.name


def _is_program(name: str, text: str) -> bool:
    if not _NAME.fullmatch(name) or _SCRIPT.search(name):
        return False
    if not name[0].isalpha():
        return True
    # in an arithmetic expression, only a substitution can call a program
    word = rf"(?:(?<![\w./~$#{{}}-])|{_PROGRAM_FOLDER}){re.escape(name)}(?![\w./=-])"
    plain, substituted = _QUOTES.sub(" ", _ARITHMETIC.sub(" ", text)), _QUOTES.sub(" ", text)
    return bool(re.search(word, plain) or re.search(rf"(?:\$\(|[|;&`])\s*{word}", substituted))
