"""Find characters that a reader takes for others, or does not see, and that bash takes as part of a word.

Characters that a reader takes for others count only outside strings, comments and here-documents. Inside them they are
text. Characters that a reader does not see count in strings too, unless a pattern stands for them alone (`tr -d`,
`sed 's/…//'`). A character of the instruction never counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from evaluator.submissions.doubts.answer_doubt import AnswerDoubt
from evaluator.submissions.doubts.command_parts import CODE, COMMENT, DOCUMENT, ESCAPE, QUOTED, CommandParts, read_parts

_OUTSIDE: Final = CODE + ESCAPE
_WITH_STRINGS: Final = _OUTSIDE + QUOTED
_EVERYWHERE: Final = _WITH_STRINGS + COMMENT + DOCUMENT


class _Kind(NamedTuple):
    """Characters with one effect. They count in the parts `roles`, and if `pattern` matches at their position."""

    pattern: re.Pattern[str]
    roles: str
    effect: str


_DASHES: Final = "\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_WIDE: Final = (
    "\uff01-\uff0c\uff0e-\uff5e\u00a6\u01c0\u02cb\u02dc\u037e\u2044\u2215\u2217\u2223\u223c"
    "\ufe50-\ufe57\ufe59-\ufe62\ufe64-\ufe6b"
    "\ufb00-\ufb06\u210a-\u2113\u2160-\u217f\U0001d400-\U0001d7ff"
)
_CJK: Final = "\u3001-\u303f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_TWINS: Final = "АВЕКМНОРСТХаеорсухѕіјΑΒΕΖΗΙΚΜΝΟΡΤΧο"
"""Letters of Cyrillic and Greek that look like Latin ones."""
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f"
    "\u3164\ufeff\ufff9-\ufffb\uffa0"
)

_KINDS: Final = (
    _Kind(re.compile(r"\r"), _EVERYWHERE, "bash takes a carriage return as part of a word"),
    _Kind(re.compile("[\u202a-\u202e\u2066-\u2069]"), _EVERYWHERE, "a reader sees the text in another order than bash"),
    _Kind(
        re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]"),
        _EVERYWHERE,
        "a reader does not see this tag, and bash takes it as part of a word",
    ),
    _Kind(
        re.compile(f"[{_INVISIBLE}]|(?<![^\\x00-\\x7f])[\u200c\u200d\ufe00-\ufe0f](?!\u20e3)"),
        _WITH_STRINGS,
        "a reader does not see it, and bash takes it as part of a word",
    ),
    _Kind(
        re.compile(f"[\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800]|(?<![{_CJK}])\u3000"),
        _WITH_STRINGS,
        "bash does not take it as a blank, but as part of a word",
    ),
    _Kind(
        re.compile(
            "[\u201c-\u201f\u00ab\u00bb\u2033\u2036\u301d-\u301f\u2039\u203a]|[\u2018\u201a\u201b\u2032\u2035\u00b4]|(?<!\\w)\u2019|\u2019(?!\\w)"
        ),
        _OUTSIDE,
        "bash does not take it as a quote, but as part of a word",
    ),
    _Kind(
        re.compile(
            f"(?<![^\\s;|&(])[{_DASHES}](?=\\S)|(?<=[-{_DASHES}])[{_DASHES}](?=\\S)|(?<=[\\w])[{_DASHES}](?=\\w)"
        ),
        _OUTSIDE,
        "bash does not take it as a hyphen, but as part of a word",
    ),
    _Kind(
        re.compile(f"(?<!\\S)(?!\\S*(?:[{_CJK}]|<\uff5c))[^\\s{_WIDE}]*+([{_WIDE}])"),
        _OUTSIDE,
        "bash does not take it as the ASCII character that it resembles, but as part of a word",
    ),
    _Kind(
        re.compile(f"(?<=[A-Za-z])[{_TWINS}]|[{_TWINS}](?=[A-Za-z])"),
        _OUTSIDE,
        "it is not the Latin letter that it resembles, so bash takes another word",
    ),
    _Kind(
        re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]"),
        _OUTSIDE,
        "bash takes a control character as part of a word",
    ),
    _Kind(re.compile("\ufffd"), _WITH_STRINGS, "it stands for a character that was lost in a conversion"),
)
_PLAIN: Final = re.compile(r"[\n\t\x20-\x7e]*+")
_TEXT: Final = re.compile(r"[A-Za-z0-9 ]")


def odd_code_points(text: str, instruction: str) -> Iterator[AnswerDoubt]:
    """Yield one doubt for each kind of character in a command that a reader mistakes for another or does not see."""
    if _PLAIN.fullmatch(text):
        return
    parts = read_parts(text)
    for kind in _KINDS:
        for match in kind.pattern.finditer(text):
            position, character = match.start(match.lastindex or 0), match[match.lastindex or 0]
            if (
                parts.roles[position] in kind.roles
                and character not in instruction
                and not _is_pattern(parts, position)
            ):
                yield AnswerDoubt(kind.effect, f"{named(character)}: {kind.effect}", position)
                break


def named(character: str) -> str:
    """Return the code point of a character with its name, such as `U+00A0 NO-BREAK SPACE`."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name or _CONTROLS.get(character, 'control character')}"


_CONTROLS: Final = {"\r": "CARRIAGE RETURN", "\x0b": "LINE TABULATION", "\x0c": "FORM FEED", "\x1b": "ESCAPE"}


def _is_pattern(parts: CommandParts, position: int) -> bool:
    """Return whether a character in a string stands between signs of a pattern, as in `sed 's/X//'` or `[X-Y]`."""
    if parts.roles[position] != QUOTED:
        return False
    return not any(map(_TEXT.match, (parts.text[position - 1], parts.text[position + 1 : position + 2])))
