"""Write a manifest as the text of `submission.toml`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evaluator.records import SubmissionManifest


def manifest_toml(manifest: SubmissionManifest) -> str:
    """Return a manifest as TOML, without the fields that have their default value.

    The JSON form of a text is valid TOML, because TOML accepts all escapes of JSON. Dates become plain TOML dates.
    """
    values = manifest.model_dump(exclude_defaults=True, exclude={"authors", "suites"})
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    lines = [f"{name} = {_value(value)}" for name, value in values.items() if name not in tables]
    for author in manifest.authors:
        lines += ["", "[[authors]]", *_pairs(author.model_dump(exclude_none=True))]
    for name, table in tables.items():
        lines += ["", *toml_table(name, table)]
    lines += ["", "[suites]", *_pairs(manifest.suites)]
    return "".join(f"{line}\n" for line in lines)


def toml_table(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a TOML table and of its inner tables. All names must be bare keys."""
    yield f"[{name}]"
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    yield from _pairs({key: value for key, value in table.items() if key not in inner})
    for key, value in inner.items():
        yield ""
        yield from toml_table(f"{name}.{key}", value)


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key} = {_value(value)}" for key, value in values.items())


def _value(value: object) -> str:
    if hasattr(value, "isoformat"):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=list).replace("\x7f", "\\u007f")
