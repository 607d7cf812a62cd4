"""Hold a model to replies whose first word is an installed utility, with the grammar that its server offers.

Westenfelder et al. 2025 call this constrained decoding. Servers differ in the field of the request:

    llama.cpp   `grammar`: a grammar in the notation GBNF
    vLLM        `structured_outputs` (since 0.11) or `guided_grammar` (before): a grammar in GBNF
    others      `response_format`: a JSON schema whose field `command` matches a pattern

A server that knows none of them often ignores an unknown field. So each reply is checked against the same rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final


class GrammarField(StrEnum):
    """The field of a request that holds a grammar, by the server that knows it."""

    LLAMA_CPP = "llama.cpp"
    VLLM = "vllm"
    VLLM_GUIDED = "vllm-guided"
    JSON_SCHEMA = "json-schema"


COMMAND_FIELD: Final = "command"
_NAME: Final = re.compile(r"[A-Za-z0-9_.+-]+")


def allowed_names(utilities: Collection[str]) -> list[str]:
    """Return the names that a grammar can hold, the longest first, so that `grepdiff` is not read as `grep`."""
    return sorted((name for name in utilities if _NAME.fullmatch(name)), key=lambda name: (-len(name), name))


def gbnf(names: Sequence[str]) -> str:
    """Return the grammar of a reply: an utility, then the rest of the reply in printable characters and line ends."""
    choices = " | ".join(json.dumps(name) for name in names)
    return f'root ::= utility rest\nutility ::= {choices}\nrest ::= "" | [ \\n;|&] [^\\x00-\\x08\\x0b-\\x1f]*\n'


def command_pattern(names: Sequence[str]) -> str:
    """Return the regular expression of a reply."""
    return rf"^(?:{'|'.join(map(re.escape, names))})(?:[ \n;|&][\s\S]*)?$"


def grammar_fields(field: GrammarField, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields of a request that hold a reply to these names."""
    match field:
        case GrammarField.LLAMA_CPP:
            return {"grammar": gbnf(names)}
        case GrammarField.VLLM:
            return {"structured_outputs": {"grammar": gbnf(names)}}
        case GrammarField.VLLM_GUIDED:
            return {"guided_grammar": gbnf(names)}
        case GrammarField.JSON_SCHEMA:
            schema = {
                "type": "object",
                "properties": {COMMAND_FIELD: {"type": "string", "pattern": command_pattern(names)}},
                "required": [COMMAND_FIELD],
                "additionalProperties": False,
            }
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "command", "schema": schema}}}


def command_of(field: GrammarField, reply: str) -> str | None:
    """Return the command of a reply that was held to a grammar, or None if the reply does not have the form."""
    if field is not GrammarField.JSON_SCHEMA:
        return reply.strip()
    try:
        value = json.loads(reply)
    except (ValueError, RecursionError):
        return None
    command = value.get(COMMAND_FIELD) if isinstance(value, dict) else None
    return command.strip() if isinstance(command, str) else None


def keeps_grammar(command: str | None, names: Collection[str]) -> bool:
    """Return whether a command begins with one of the names, as the grammar demands."""
    if not command:
        return False
    match = _NAME.match(command)
    return match is not None and match[0] in names and (match.end() == len(command) or command[match.end()] in " \n;|&")
