"""Change an input as lines of JSON: replace, repeat, rename, remove or move a part of one line.

Most changes of single bytes make JSON invalid. These changes keep it valid, so that they reach the checks behind the
JSON parser.
"""

from __future__ import annotations

import json
import random
from typing import Any, Final

_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2, 100, 1_000_001, 2**63, -(2**70), 0.5, 1e308, 1e-9, float("nan"), float("inf")),
    *("", "a", "x" * 300, "\ud800", "\u202e", "\0", "\n", "é", "0" * 64, "files-003", "[", "pass", "2.0.0"),
    *([], {}, [[]], {"": None}, {"base64": "/w=="}, {"base64": "?"}),
)


def mutate_json(data: bytes, longest: int, seed: int) -> bytes | None:
    """Return a changed input, or None if no line of the input is JSON or the result is too long."""
    chance = random.Random(seed)  # noqa: S311 - chooses inputs of tests
    lines = data.split(b"\n")
    number = chance.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except (ValueError, RecursionError):
        return None
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        value = _changed(value, chance)
    lines[number] = json.dumps(value, separators=(",", ":")).encode()
    if chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    elif chance.random() < 0.1:
        del lines[chance.randrange(len(lines))]
    changed = b"\n".join(lines)
    return changed if len(changed) <= longest else None


def _changed(value: Any, chance: random.Random) -> Any:
    """Return a copy of the value with one change at a random depth."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        return _changed_object(value, chance)
    if isinstance(value, list) and value and chance.random() < 0.8:
        return _changed_array(value, chance)
    if isinstance(value, str) and value and chance.random() < 0.5:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(("", "\ud800", "\0", "z", value, "\n", "9")) + value[at + 1 :]
    if isinstance(value, int | float) and chance.random() < 0.5:
        return chance.choice((value + 1, value - 1, -value, value * 2, str(value)))
    return chance.choice(_VALUES)


def _changed_object(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    name = chance.choice(list(value))
    match chance.randrange(8):
        case 0:
            return {key: item for key, item in value.items() if key != name}
        case 1:
            return {**value, chance.choice(("", "x", "\ud800", f"{name}s")): value[name]}
        case 2:
            return {**value, name: value[chance.choice(list(value))]}
        case _:
            return {**value, name: _changed(value[name], chance)}


def _changed_array(value: list[Any], chance: random.Random) -> list[Any]:
    at = chance.randrange(len(value))
    match chance.randrange(6):
        case 0:
            return value[:at] + value[at + 1 :]
        case 1:
            return [*value, value[at]]
        case 2:
            return chance.sample(value, len(value))
        case _:
            return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
