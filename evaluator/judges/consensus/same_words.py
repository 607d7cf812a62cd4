"""Test whether the shell reads two commands as the same words. Such commands are two spellings of one command.

The test reads only the commands. So it also works if the evidence of their execution is empty or nondeterministic. The
parser accepts only simple cases: plain words, quotes around text that the shell would not change, and pipes.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    rb"(?P<blank>[ \t]+)|(?P<pipe>\|(?![|&]))|(?P<plain>[\w./:+,@%^=-]+)"
    rb"|'(?P<single>[^'\0]*)'|\"(?P<double>[^\"$`\\!\0]*)\""
)
_ACTS: Final = re.compile(rb"-(?:print.*|fprint.*|fls|ls|delete|prune|quit|exec|execdir|ok|okdir|o|or)|,")
_COMPLETE: Final = re.compile(rb"(?!-).*|-(?:empty|depth|xdev|mount|readable|writable|executable|nouser|nogroup|true)")
_KEYWORDS: Final = frozenset(
    b"if then elif else fi for while until do done case esac in function select time coproc".split()
)


def same_words(left: bytes, right: bytes) -> bool:
    """Return whether both commands pass the same words to the same utilities.

    Such commands are either both right or both wrong. The function uses only one fact about a utility: `find` without
    an action prints, as with `-print` (POSIX).
    """
    left_stages, right_stages = _stages(left), _stages(right)
    return left_stages is not None and left_stages == right_stages


def _stages(command: bytes) -> list[list[bytes]] | None:
    """Split a pipeline into the words of each stage. Return None if the command may contain any other syntax."""
    stages: list[list[bytes]] = [[]]
    position, continues_word = 0, False
    text = command.strip(b" \t\n")
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        position = token.end()
        if token["blank"] is not None:
            continues_word = False
        elif token["pipe"] is not None:
            stages.append([])
            continues_word = False
        else:
            part = next(part for part in (token["plain"], token["single"], token["double"]) if part is not None)
            if continues_word:
                stages[-1][-1] += part
            else:
                stages[-1].append(part)
            continues_word = True
    is_plain = all(stage and b"=" not in stage[0] and stage[0] not in _KEYWORDS for stage in stages)
    return [_without_default(stage) for stage in stages] if is_plain else None


def _without_default(words: list[bytes]) -> list[bytes]:
    actions = [word for word in words if _ACTS.fullmatch(word)]
    is_default = words[0] == b"find" and words[-1] == b"-print" and actions == [b"-print"]
    return words[:-1] if is_default and _COMPLETE.fullmatch(words[-2]) else words
