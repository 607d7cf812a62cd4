"""The menu, and reading a reply against it. A reply off the menu is no vote, whatever words stand in it.

Nothing is searched for: `not yes` holds a `yes`. The whole reply is the object asked for, or one word of the
menu where the server knows no schema.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Final, NamedTuple


class Vote(StrEnum):
    """What a judge may say."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": [vote.value for vote in Vote]},
    },
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}
"""The reply as a strict JSON schema; the reason comes first, so that the verdict follows from it."""

_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_WORD: Final = re.compile(r"[\"'`*]*([a-z]+)[\"'`*]*[.!]?[\"'`*]*", re.IGNORECASE)


class ParsedReply(NamedTuple):
    """A vote, or None for a reply off the menu, and the reason that came with it."""

    vote: Vote | None
    reason: str = ""


def read_reply(text: str) -> ParsedReply:
    """What a reply votes."""
    body = text.strip()
    fenced = _FENCED.fullmatch(body)
    found = _object(fenced[1] if fenced else body)
    if found is not None:
        return _from_object(found)
    word = _WORD.fullmatch(body)
    return ParsedReply(_vote(word[1]) if word else None)


def _object(text: str) -> list[tuple[str, object]] | None:
    """The members of the outermost object, doubled names included; None where the text is none."""
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: pairs)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and all(isinstance(each, tuple) for each in value) else None


def _from_object(pairs: list[tuple[str, object]]) -> ParsedReply:
    members = dict(pairs)
    reason, verdict = members.get("reason", ""), members.get("verdict")
    if len(members) < len(pairs) or not members.keys() <= {"reason", "verdict"}:
        return ParsedReply(None)
    if not isinstance(reason, str) or not isinstance(verdict, str):
        return ParsedReply(None)
    return ParsedReply(_vote(verdict), reason)


def _vote(word: str) -> Vote | None:
    try:
        return Vote(word.casefold())
    except ValueError:
        return None
