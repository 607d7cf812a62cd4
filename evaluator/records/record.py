"""Define the building blocks of all records: bytes in JSON, names, digests, and the frozen base class."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)

FORMAT: Final = 1
"""Current version of the file formats, except for records with a `newest_format` of their own."""


def _bytes_of(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("a string with a lone surrogate: write such bytes as {'base64': '...'}") from error
    if isinstance(value, dict) and set(value) == {"base64"} and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from error
    raise ValueError(f"expected a string or {{'base64': '...'}}, found {type(value).__name__}")


_LONG: Final = 1 << 14


def _json_of(value: bytes) -> str | dict[str, str]:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
    if len(value) > _LONG and len(json.dumps(text, ensure_ascii=False)) > 1.4 * len(value):  # as in the runner
        return {"base64": base64.b64encode(value).decode()}
    return text


Bytes = Annotated[
    bytes,
    PlainValidator(_bytes_of),
    PlainSerializer(_json_of, when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"base64": {"type": "string"}},
                    "required": ["base64"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
"""Arbitrary bytes. In JSON they are a string if they are valid UTF-8, except for long texts of control characters."""

SLUG_PATTERN: Final = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
"""A name for folders, URLs and table cells: lower case, digits and inner dashes, at most 64 characters."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
"""A task's or world's name, unique in its suite."""

VersionText = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]


def version_numbers(version: str) -> tuple[tuple[int, str], ...]:
    """Return a version's three numbers in a form for sorting.

    Each number is a pair of its number of digits and its digits. It is not an integer, because Python refuses to
    convert very long texts to integers.
    """
    numbers = (number.lstrip("0") for number in version.split("."))
    return tuple((len(number), number) for number in numbers)


def _whole_second(value: datetime) -> datetime:
    if value.tzinfo is None or value.microsecond:
        raise ValueError("expected a whole second with a time zone, such as 2025-03-14T09:30:00Z")
    return value.astimezone(UTC)


WholeSecond = Annotated[datetime, AfterValidator(_whole_second)]
"""A time in UTC without a fraction of a second."""

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 in hexadecimal."""


def digest_of(*parts: bytes) -> str:
    """Return the SHA-256 of all parts together. Each part's length is hashed too, so (ab, c) differs from (a, bc)."""
    return hashlib.sha256(framed(*parts)).hexdigest()


def framed(*parts: bytes) -> bytes:
    """Return the parts one after another, each behind its length in 8 bytes. `digest_of` hashes these bytes."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "big"), part)])


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON of a value for cache keys and published lines: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Record(BaseModel):
    """Base class of all records. Instances are frozen and refuse unknown fields."""

    # a command uses few of the records, so Pydantic builds the validator of each when it is first used
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=True)
    newest_format: ClassVar[int] = FORMAT

    def to_json(self) -> str:
        """Return the record as one line of JSON, without the fields that have their default value."""
        return self.model_dump_json(exclude_defaults=True)


def read_format(value: object, reader: str, newest: int = FORMAT) -> None:
    """Check the `format` of a file's content. Raise ValueError if it is above `newest`, the newest readable format."""
    number = value.get("format") if isinstance(value, Mapping) else None
    if isinstance(number, int) and number > newest:
        readable = f"formats 1 to {newest}" if newest > 1 else "format 1"
        raise ValueError(f"{reader} has format {number}; this bashboard reads {readable}: upgrade bashboard")


def json_lines(records: Iterable[Record]) -> str:
    """Return records as JSON lines with a final newline."""
    return "".join(f"{record.to_json()}\n" for record in records)
