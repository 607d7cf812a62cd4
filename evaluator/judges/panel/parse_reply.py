"""Parse the replies of a model. An invalid reply is not a vote, even if it contains a valid word.

The parser does not search for words, because `not yes` contains `yes`. The whole reply must be a JSON object that fits
the schema. If the server does not support schemas, the whole reply may be a single valid word. A published prompt asks
for one of the words true and false.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Final, NamedTuple


class ReplyForm(StrEnum):
    """The form of a reply: an object that fits the schema, or one of the words true and false."""

    VERDICT = "verdict"
    TRUTH = "true or false"


class Vote(StrEnum):
    """The valid votes of a model on a question."""

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
"""The reply as a strict JSON schema. The reason comes first, so that the model derives the verdict from it."""

_TRUTHS: Final = {"true": Vote.YES, "false": Vote.NO}
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_WORD: Final = re.compile(r"[\"'`*]*+([a-z]+)[\"'`*]*+[.!]?[\"'`*]*", re.IGNORECASE)


class ParsedReply(NamedTuple):
    """The vote in a reply and the model's reason. The vote is None if the reply is invalid."""

    vote: Vote | None
    reason: str = ""


def read_reply(text: str, form: ReplyForm = ReplyForm.VERDICT) -> ParsedReply:
    """Parse a reply into a vote and a reason."""
    body = text.strip()
    if form is ReplyForm.TRUTH:
        truth = _WORD.fullmatch(body)
        return ParsedReply(_TRUTHS.get(truth[1].casefold()) if truth else None)
    fenced = _FENCED.fullmatch(body)
    members = _object(fenced[1] if fenced else body)
    if members is not None:
        return _from_object(members)
    word = _WORD.fullmatch(body)
    return ParsedReply(_vote(word[1]) if word else None)


def _object(text: str) -> list[tuple[str, object]] | None:
    """Return the members of a JSON object as pairs of name and value. Keep a name that occurs twice.

    Return None if the text is not exactly one JSON object.
    """
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: pairs)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and all(isinstance(pair, tuple) for pair in value) else None


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
