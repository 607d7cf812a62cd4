"""Read plain commands without a parser. A plain command has words, pipes, lists and redirections.

It has no other syntax, such as a command substitution. Four fifths of the commands in the data set NL2Bash are plain.
This module reads a plain command 50 times faster than the parser bashlex does. The definition of "plain" is narrow, so
that a plain command has only one meaning. Tests check that bashlex gives the same result for plain commands.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.shell.syntax import Call, Word
from evaluator.shell.words import remove_quotes

_TOKEN: Final = re.compile(
    r"""[ \t]*+(?:
      (?P<word>(?:~(?=[ \t|]|\Z)|~?+(?:
          [^\s'"\\$`<>&;|()~\x00-\x20]++
        | \\[^\n$`]
        | '[^'\n]*+'
        | "(?:[^"\\$`\n]|\\[^$`\n]|\$(?:[A-Za-z_0-9]|\{\w++\}|(?=")))*+"
        | \$(?:[A-Za-z_0-9]|\{\w++\}|(?=[ \t]|\Z))
      )++)(?=[ \t|]|\Z))
    | (?P<pipe>\|)(?![|&])
    )""",
    re.VERBOSE,
)
_SCRIPT_TOKEN: Final = re.compile(
    r"""[ \t]*+(?:
      (?P<redirect>(?:[0-9]*+(?:>>(?![&>|])|>(?![(>&|])|<(?![<(&>]))|&>>?+))[ \t]*+(?=[\w./'"$~*-])
    | (?P<copy>[0-9]*+>&[0-9]++)(?=[ \t\n|;&<>]|\Z)
    | (?P<word>(?:~(?=[ \t\n|;&<>]|\Z)|~?+(?:
          [^\s'"\\$`<>&;|()~\x00-\x20]++
        | \\[^\n$`]
        | '[^'\n]*+'
        | "(?:[^"\\$`\n]|\\[^$`\n]|\$(?:[A-Za-z_0-9]|\{\w++\}|(?=")))*+"
        | \$(?:[A-Za-z_0-9]|\{\w++\})
      )++)(?=[ \t\n|;&<>]|\Z))
    | (?P<separator>;(?![;&])|&&|\|\||&(?![>&])|\|(?!&)|\n)
    )""",
    re.VERBOSE,
)
_LIST: Final = re.compile(
    r"""(?:[ \t]*+(?:
      (?!\#)(?:
          [^\s'"\\$`<>&;|()\x00-\x20]++
        | \\[^\n]
        | '[^'\n]*+'
        | "(?:[^"\\$`\n]|\\[^\n]|\$[A-Za-z_0-9]|\$\{\w++\}|\$\([^()'"`\\$\n]*+\)|\$(?="))*+"
        | \$[A-Za-z_0-9]|\$\{\w++\}|\$\([^()'"`\\$\n]*+\)
      )++
    | \|(?![|&])
    | (?:>>|>&|>(?![(>&|])|<(?![<(&>]))
    ))++[ \t]*+(?:;(?![;&])|&&|\|\||(?<![<>&])&(?![>&]))[ \t]*+[\w.\-/'"$~]""",
    re.VERBOSE,
)
_RESERVED: Final = "! { } [[ ]] if then else elif fi for while until do done case esac select function time coproc in"
_NEVER_FIRST: Final = frozenset(_RESERVED.split())
_NEVER: Final = frozenset({"{", "}", "$"})
_ASSIGNMENT: Final = re.compile(r"[^\W\d]\w*(?:\[[^]]*\])?\+?=")
_QUOTING: Final = re.compile(r"['\"\\]")


def plain_stages(command: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the unchanged words of each stage of a pipeline, or None if the command is not a plain pipeline."""
    command = command.rstrip(" \t")
    stages: list[tuple[str, ...]] = []
    words: list[str] = []
    at = 0
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None:
            return None
        at = token.end()
        word = token["word"]
        if word is None:
            stages.append(tuple(words))
            words = []
        elif word[0] == "#" or word in _NEVER or _is_half_quoted(word):
            return None
        else:
            words.append(word)
    stages.append(tuple(words))
    return tuple(stages) if all(map(_is_call, stages)) else None


def is_list(command: str) -> bool:
    """Return whether a text is certainly a list: every parser reads the text as several commands in sequence."""
    return _LIST.match(command) is not None


def _is_call(words: tuple[str, ...]) -> bool:
    return bool(words) and words[0] not in _NEVER_FIRST and not _ASSIGNMENT.match(words[0])


def expansion(source: str) -> str:
    """Return the kind of the first expansion that bashlex finds in a plain word: "parameter", "tilde" or an empty text.

    bashlex treats even a dollar sign without a name as a parameter.
    """
    if source[0] == "~":
        return "tilde"
    return "parameter" if "$" in source and source[0] != "'" else ""


def _is_half_quoted(word: str) -> bool:
    """Return whether quotes in a word change the expansions that bashlex finds in the word.

    Unlike bash, bashlex expands inside single quotes unless these quotes enclose the whole word. bashlex does not
    expand `~` in a word with quotes. Return True for a process substitution, because bashlex may misread quotes in it.
    """
    if word[0] == "~":
        return _QUOTING.search(word) is not None
    if "<(" in word or ">(" in word:
        return True
    return "'" in word and ("$" in word or "`" in word) and (word[0] != "'" or word.find("'", 1) != len(word) - 1)


def read_calls(command: str) -> tuple[Call, ...] | None:
    """Return the calls of utilities in plain commands, with or without redirections. Return None for other text."""
    stages = plain_stages(command) or _script_stages(command)
    if stages is None:
        return None
    return tuple(
        Call(tuple(Word(remove_quotes(source) if _QUOTING.search(source) else source) for source in stage))
        for stage in stages
    )


def _script_stages(command: str) -> tuple[tuple[str, ...], ...] | None:
    command = command.strip(" \t\n")
    stages: list[tuple[str, ...]] = []
    words: list[str] = []
    is_target, separator = False, None
    at = 0
    while at < len(command):
        token = _SCRIPT_TOKEN.match(command, at)
        if token is None:
            return None
        at = token.end()
        word = token["word"]
        if word is not None and (word[0] == "#" or word in _NEVER or _is_half_quoted(word)):
            return None
        if is_target and word is None:
            return None
        separator = token["separator"]
        if separator:
            stages.append(tuple(words))
            words = []
        elif word is not None and not is_target:
            words.append(word)
        is_target = token["redirect"] is not None
    if words or separator not in (";", "&"):
        stages.append(tuple(words))
    return tuple(stages) if not is_target and all(map(_is_call, stages)) else None
