"""Parser that converts a JSON text to a record, or reports every wrong field in words for contributors.

Pydantic finds the errors, but its messages use terms of Python. This module turns each error into one sentence with the
field's location in the record, the expected value and the actual value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from evaluator.escaping import printable
from evaluator.records import Record
from evaluator.submissions.messages import described, listed, nearest, quoted

MOST_FAULTS: Final = 20
"""The maximum number of errors reported for one record. A hostile line may have a hundred thousand."""

_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "tuple_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "string_too_short": "at least {min_length} character(s)",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length} item(s)",
    "too_long": "at most {max_length} items",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}

_PATTERNS: Final[Mapping[str, str]] = {
    "task": "a task's name: letters, digits, '_', '.' and '-', at most 64, a letter or digit first",
    "suites": "a suite's name (lower case, digits, '-') and its version, such as core = \"1.2.0\"",
    "version": "a version such as 1.2.0",
    "pairs": "a SHA-256 of 64 hexadecimal digits",
    "digest": "a SHA-256 of 64 hexadecimal digits",
}
"""What a text must be, by the first or the last name in the location of its field."""

_ARRAYS: Final[Mapping[str, str]] = {
    "authors": "an array of tables, each below its own line [[authors]]",
    "models": 'an array such as ["gpt-4o-mini"]',
    "training_data": 'an array such as ["NL2Bash"]',
}
"""The form of an array, by the name of its field."""

_PARTS: Final[Mapping[str, str]] = {"candidates": "a candidate, beside its command", "authors": "an author"}
"""What the items of a field are called in messages."""

AnyRecord = TypeVar("AnyRecord", bound=Record)

Location = tuple[str | int, ...]
"""The keys and indexes that lead to a field."""


class FieldError(NamedTuple):
    """The error of one field in a record: the location of the field, and a message for contributors."""

    location: Location
    message: str


def read_record(kind: type[AnyRecord], text: str) -> tuple[AnyRecord | None, list[FieldError]]:
    """Convert valid JSON text to a record. If fields are wrong, return None and the errors of these fields."""
    try:
        return kind.model_validate_json(text, strict=True), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    faults = [_fault(kind, detail) for detail in details[:MOST_FAULTS] if not _is_echo(detail)]
    if len(details) > MOST_FAULTS:
        faults.append(FieldError((), f"{len(details) - MOST_FAULTS:,} more fields are wrong here"))
    return None, faults


def _is_echo(detail: ErrorDetails) -> bool:
    """Return whether an error repeats another one.

    An array that is "too short" may be long enough, but have invalid items. `read_json` reports an integer that is too
    long.
    """
    if detail["type"] == "json_invalid":
        return "number out of range" in detail["msg"]
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _fault(kind: type[Record], detail: ErrorDetails) -> FieldError:
    location: Location = tuple(part for part in detail["loc"] if part != "[key]")
    return FieldError(location, f"{_place(location)}{_message(kind, location, detail)}")


def _place(location: Location) -> str:
    if not location:
        return ""
    steps = (f"[{part}]" if isinstance(part, int) else f".{printable(part[:60])}" for part in location)
    return "".join(steps).lstrip(".") + ": "


def _message(kind: type[Record], location: Location, detail: ErrorDetails) -> str:
    match detail["type"]:
        case "missing":
            return f"missing field: expected {_fields(kind, location)}"
        case "extra_forbidden":
            names = _part(kind, location).model_fields
            if owner := _owner(kind, location):
                return f"unknown field here: it belongs in {owner}"
            return f"unknown field{nearest(str(location[-1]), names) or f': expected {listed(names, 20)}'}"
        case "string_pattern_mismatch":
            form = _PATTERNS.get(str(location[0])) or _PATTERNS.get(str(location[-1]))
            return f"expected {form or detail['ctx']['pattern']}, found {described(detail['input'])}"
        case "json_invalid":
            return "half of a surrogate pair in a string: write the whole character, or bytes as base64"
        case "value_error":
            return printable(str(detail["ctx"]["error"]))
        case "tuple_type" if location[-1] in _ARRAYS:
            return f"expected {_ARRAYS[str(location[-1])]}, found {_found(detail)}"
        case kind_of_error if kind_of_error in _EXPECTED:
            expected = _EXPECTED[kind_of_error].format_map(detail.get("ctx", {}))
            return f"expected {expected}, found {_found(detail)}"
        case _:
            return printable(detail["msg"])


def _found(detail: ErrorDetails) -> str:
    value = detail["input"]
    if detail["type"] in {"string_too_long", "string_too_short"}:
        return f"{len(value):,}"
    return described(value)


def _part(kind: type[Record], location: Location) -> type[Record]:
    """Return the type of the record that directly contains a field. Indexes and keys of tables change no type."""
    part = kind
    for name in location[:-1]:
        field = part.model_fields.get(str(name))
        part = (field and _record_in(field.annotation)) or part
    return part


def _owner(kind: type[Record], location: Location) -> str:
    """Return the part of a record in which a misplaced field belongs, or "" if no part has a field of this name."""
    name = str(location[-1])
    if len(location) > 1:
        return f"the object around {quoted(str(location[0]))}" if name in kind.model_fields else ""
    parts = ((part, _record_in(field.annotation)) for part, field in kind.model_fields.items())
    owner = next((part for part, record in parts if record is not None and name in record.model_fields), "")
    return _PARTS.get(owner, owner and quoted(owner))


def _record_in(annotation: Any) -> type[Record] | None:
    """Return the record type in an annotation such as `tuple[Candidate, ...] | None`, or None without a record."""
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation
    return next((found for each in get_args(annotation) if (found := _record_in(each))), None)


def _fields(kind: type[Record], location: Location) -> str:
    record = _part(kind, location)
    required = [name for name, field in record.model_fields.items() if field.is_required()]
    return f"every one of {listed(required, 20)}" if len(required) > 1 else quoted(required[0])
