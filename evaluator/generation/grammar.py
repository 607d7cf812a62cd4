"""Hold a model to replies whose first word is an installed utility, with the grammar that its server offers.

Westenfelder et al. 2025 call this constrained decoding. Servers differ in the field of the request:

    llama.cpp   `grammar`: a grammar in the notation GBNF
    vLLM        `structured_outputs` (since 0.11) or `guided_grammar` (before): a grammar in GBNF
    others      `response_format`: a JSON schema of an object with the fields `utility` and `arguments`

The schema has two fields, because the tools that turn schemas into grammars know few patterns of strings: llama.cpp
accepts every string if it does not know a pattern, and says so only in its log.

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


_UTILITY: Final = "utility"
_ARGUMENTS: Final = "arguments"
_AFTER_NAME: Final = " \n;|&"
"""The characters that end the name of a utility."""
_NAME: Final = re.compile(rf"[^{_AFTER_NAME}]+")


def gbnf(names: Sequence[str]) -> str:
    """Return the grammar of a reply: a utility, then the rest of the reply in printable characters and line ends."""
    choices = " | ".join(json.dumps(name) for name in names)
    return f'root ::= utility rest\nutility ::= {choices}\nrest ::= "" | [ \\n;|&] [^\\x00-\\x08\\x0b-\\x1f]*\n'


def command_schema(names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a reply: one of the names, and the rest of the command."""
    utility = {"type": "string", "enum": list(names), "description": "The first word of the command."}
    rest = {"type": "string", "description": "The rest of the command, without its first word."}
    return {
        "type": "object",
        "properties": {_UTILITY: utility, _ARGUMENTS: rest},
        "required": [_UTILITY, _ARGUMENTS],
        "additionalProperties": False,
    }


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
            described = {"name": "command", "strict": True, "schema": command_schema(names)}
            return {"response_format": {"type": "json_schema", "json_schema": described}}


def command_of(field: GrammarField, reply: str) -> str | None:
    """Return the command of a reply that was held to a grammar, or None if the reply does not have the form."""
    if field is not GrammarField.JSON_SCHEMA:
        return reply.strip()
    try:
        value = json.loads(reply)
    except (ValueError, RecursionError):
        return None
    utility, rest = (value.get(_UTILITY), value.get(_ARGUMENTS)) if isinstance(value, dict) else (None, None)
    if not isinstance(utility, str) or not isinstance(rest, str):
        return None
    space = "" if rest[:1] in _AFTER_NAME else " "
    return f"{utility}{space}{rest}".strip()


def keeps_grammar(command: str | None, names: Collection[str]) -> bool:
    """Return whether a command begins with one of the names, as the grammar demands."""
    match = _NAME.match(command or "")
    return match is not None and match[0] in names


def is_beginning(field: GrammarField, reply: str, names: Collection[str]) -> bool:
    """Return whether a reply that was cut off, at the limit of its tokens, can begin one that keeps the grammar."""
    if field is GrammarField.JSON_SCHEMA:
        return reply.lstrip()[:1] in ("", "{")
    return any(name.startswith(reply) for name in names)
