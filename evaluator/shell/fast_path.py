"""Read plain commands, which need no parser: words, pipes, lists and redirections, with nothing in them that is run to
expand a word.

Four fifths of NL2Bash's commands are plain, and reading one takes a fiftieth of bashlex's time. What is plain is drawn
tightly, so that it is nowhere a matter of opinion: on everything that is read here bashlex reads the same, which tests
hold to it.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.shell.syntax import Call, Word
from evaluator.shell.words import unquoted

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
    """The words of each stage of a plain pipeline as they are written; None where the command is not plain."""
    command = command.rstrip(" \t")
    stages: list[tuple[str, ...]] = []
    words: list[str] = []
    at = 0
    while at < len(command):
        found = _TOKEN.match(command, at)
        if found is None:
            return None
        at = found.end()
        word = found["word"]
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
    """Whether a command is certainly several, one after the other: no parser that reads it can find anything else."""
    return _LIST.match(command) is not None


def _is_call(words: tuple[str, ...]) -> bool:
    return bool(words) and words[0] not in _NEVER_FIRST and not _ASSIGNMENT.match(words[0])


def expansion(source: str) -> str:
    """What bashlex expands first in a word of a plain command: "parameter", "tilde" or nothing.

    To it a dollar alone is a parameter.
    """
    if source[0] == "~":
        return "tilde"
    return "parameter" if "$" in source and source[0] != "'" else ""


def _is_half_quoted(word: str) -> bool:
    """Whether bashlex's way with a word depends on its quotes: it expands what is in single quotes, unless they are the
    whole word, and no home directory where there are any.
    """
    if word[0] == "~":
        return _QUOTING.search(word) is not None
    return "'" in word and ("$" in word or "`" in word) and (word[0] != "'" or word.find("'", 1) != len(word) - 1)


def read_calls(command: str) -> tuple[Call, ...] | None:
    """The calls of a plain command, or of several with redirections, one after the other; None where it is neither."""
    stages = plain_stages(command) or _script_stages(command)
    if stages is None:
        return None
    return tuple(Call(tuple(Word(_text(source)) for source in stage)) for stage in stages)


def _script_stages(command: str) -> tuple[tuple[str, ...], ...] | None:
    command = command.strip(" \t\n")
    stages: list[tuple[str, ...]] = []
    words: list[str] = []
    target, last = False, None
    at = 0
    while at < len(command):
        found = _SCRIPT_TOKEN.match(command, at)
        if found is None:
            return None
        at = found.end()
        word = found["word"]
        if word is not None and (word[0] == "#" or word in _NEVER or _is_half_quoted(word)):
            return None
        if target and word is None:
            return None
        last = found["separator"]
        if last:
            stages.append(tuple(words))
            words = []
        elif word is not None and not target:
            words.append(word)
        target = found["redirect"] is not None
    if words or last not in (";", "&"):
        stages.append(tuple(words))
    return tuple(stages) if not target and all(map(_is_call, stages)) else None


def _text(source: str) -> str:
    return unquoted(source) if _QUOTING.search(source) else source
