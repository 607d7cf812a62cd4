"""Find the command in a model's raw reply.

The steps, in this order (the parser of Westenfelder et al. 2025 takes code blocks and inline code):

1. The text of a reasoning model at the start is removed.
2. The first fenced code block is taken. Without one, the first inline code is taken if the text around it is prose.
   Otherwise the whole text is taken.
3. Prompt signs (`$ `, `# `, `> `) and the output lines of a copied terminal session are removed.
4. Bash's own parser reads the rest, and refuses a text that is no command. `bash -n` executes nothing.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from enum import StrEnum
from typing import Final, NamedTuple

from evaluator.submissions.extraction import first_block, without_reasoning

_BACKQUOTES: Final = re.compile(r"`+")
_LANGUAGE: Final = re.compile(r"\A(?:bash|sh|shell|zsh|console|terminal)\s+")
_WORD: Final = re.compile(r"[A-Za-z0-9_./+-]+")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_SESSION: Final = re.compile(r"(?:[\w.@~:/-]*[\w~/:-])?[$#] (.*)")
_BUILTINS: Final = """
alias bg bind break builtin caller case cd command compgen complete coproc continue declare dirs disown do echo
enable eval exec exit export false fc fg for function getopts hash help history if jobs kill let local logout
mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test time
times trap true type typeset ulimit umask unalias unset until wait while . : [ [[ (( ( { !
"""
_SHELL_WORDS: Final = frozenset(_BUILTINS.split())
"""Builtins and reserved words of bash."""
_LONGEST: Final = 1_000_000
_PARSE_TIMEOUT_S: Final = 5.0
_PARSER: Final = "ulimit -v 524288 2>/dev/null; exec bash --norc --noprofile -O extglob -n"
"""Bash limits its own memory in kB, because Python's hook before the start of a process is not safe beside threads."""


class Found(StrEnum):
    """The part of a reply that became the command."""

    BLOCK = "code block"
    INLINE = "inline code"
    TEXT = "whole text"
    NOTHING = "nothing"


class ReplyCommand(NamedTuple):
    """The command in a reply, the part it was found in, and whether prompt signs were removed."""

    command: str
    found: Found
    has_prompt_sign: bool = False


def parse_reply_text(text: str, utilities: Collection[str]) -> ReplyCommand:
    """Return the command in a reply. `utilities` are the names of the programs of the machine on which it will run."""
    answer = (without_reasoning(text[:_LONGEST]) or "").strip("\r\n\t ")
    if not answer:
        return ReplyCommand("", Found.NOTHING)
    block = first_block(answer)
    if block is not None:
        return _without_signs(block, Found.BLOCK, utilities)
    inline = _inline_code(answer)
    if inline is not None and not _begins_with_command(answer, utilities):
        return _without_signs(inline, Found.INLINE, utilities)
    return _without_signs(answer, Found.TEXT, utilities)


def _inline_code(text: str) -> str | None:
    """Return the first text between two equal runs of backquotes, or None.

    A fence that opens and closes in one line may have the name of the language.
    """
    runs = list(_BACKQUOTES.finditer(text))
    seen: dict[int, re.Match[str]] = {}
    closings: dict[re.Match[str], re.Match[str]] = {}
    for run in runs:
        if opening := seen.get(len(run[0])):
            closings.setdefault(opening, run)
        seen[len(run[0])] = run
    for opening in runs:
        if closing := closings.get(opening):
            code = text[opening.end() : closing.start()]
            return _LANGUAGE.sub("", code) if len(opening[0]) > 2 else code
    return None


def _begins_with_command(text: str, utilities: Collection[str]) -> bool:
    """Return whether the first word of a text is a command: a utility, a word of the shell, a path or an assignment.

    Prose can begin with such a word too (`Find all files`), but then in upper case.
    """
    first = text.split(maxsplit=1)[0]
    if first.startswith(("$", "#", "(", "{", "./", "/")) or _ASSIGNMENT.match(first):
        return True
    word = _WORD.match(first)
    name = word[0] if word else first
    return name in utilities or name in _SHELL_WORDS


def _without_signs(text: str, found: Found, utilities: Collection[str]) -> ReplyCommand:
    """Remove prompt signs. If one line has the sign `$ `, lines without a sign are the output of an earlier command."""
    lines = text.strip("\r\n").splitlines()
    first = next((line for line in lines if line.strip()), "")
    session = _SESSION.fullmatch(first.strip())
    if session is None or not _is_prompt(first.strip(), session[1], lines, utilities):
        return ReplyCommand(text.strip("\r\n\t "), found)
    sign = first.strip()[: -len(session[1])] if session[1] else first.strip()
    kept: list[str] = []
    continued = False
    for line in lines:
        if line.strip().startswith(sign):
            kept.append(line.strip()[len(sign) :])
        elif continued:
            kept.append(line.removeprefix("> "))
        else:
            continue
        continued = kept[-1].endswith("\\")
    return ReplyCommand("\n".join(kept).strip(), found, has_prompt_sign=True)


def _is_prompt(line: str, rest: str, lines: list[str], utilities: Collection[str]) -> bool:
    """Return whether a line has a prompt sign. `# text` is a comment, unless it is the only line and a command."""
    if not rest.strip():
        return False
    if not line.startswith("#"):
        return True
    return sum(bool(each.strip()) for each in lines) == 1 and _begins_with_command(rest, utilities)


def bash_error(command: str) -> str | None:
    """Return the message of bash's parser about a text that is no command, or None if bash can read it.

    Nothing is executed. The text has a limit of five seconds and 512 MB.
    """
    if not command.strip():
        return "the reply contains no command"
    if "\0" in command:
        return "the command contains a NUL byte"

    try:
        done = subprocess.run(
            ["/usr/bin/env", "bash", "--norc", "--noprofile", "-c", _PARSER],
            input=f"{command}\n".encode(errors="surrogatepass"),
            capture_output=True,
            timeout=_PARSE_TIMEOUT_S,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"bash cannot read the command in {_PARSE_TIMEOUT_S:g} s"
    if done.returncode == 0:
        return None
    message = done.stderr.decode(errors="replace").strip().splitlines()
    return message[0].removeprefix("bash: ") if message else f"bash's parser ends with {done.returncode}"
