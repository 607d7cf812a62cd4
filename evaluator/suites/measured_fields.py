"""Write measured values into the files of a suite: a task's wall-clock limit, and a world's order of variants.

People write these files. So only the measured value changes, and all other bytes, comments and the order of keys stay.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.errors import UsageError
from evaluator.json_lines import lines_with_ends
from evaluator.records import WorldManifest

ORDER_FORMAT: Final = 5
"""The lowest format of world.toml with an order of variants."""

_WALL: Final = re.compile(rb'(?<!\\)("wall_s": ?)[0-9]+')
_FORMAT: Final = re.compile(r"^format *= *[0-9]+", re.MULTILINE)
_ORDER: Final = re.compile(r"^order *= *\[[^][]*\]", re.MULTILINE)
_TABLE: Final = re.compile(r"^\[", re.MULTILINE)


def with_wall_limits(data: bytes, limits: Mapping[str, int]) -> bytes:
    """Return a file of tasks in which these tasks have these wall-clock limits in seconds.

    A line that has its limit already, or whose task is not in `limits`, keeps all bytes.
    """
    return b"".join(_with_limit(line, limits) for line in lines_with_ends(data))


def _with_limit(line: bytes, limits: Mapping[str, int]) -> bytes:
    task = json.loads(line)
    limit = limits.get(task["id"])
    if limit is None or limit == task.get("wall_s"):
        return line
    if "wall_s" in task:
        return _WALL.sub(rb"\g<1>%d" % limit, line, count=1)
    body, brace, end = line.rpartition(b"}")
    blank = b" " if b'"id": ' in body else b""
    return b'%b,%b"wall_s":%b%d%b%b' % (body, blank, blank, limit, brace, end)


def improved_order(manifest: WorldManifest, failures: Mapping[str, int]) -> tuple[str, ...]:
    """Return the order of variants to write into `world.toml`, or nothing if the present one stays.

    `failures` maps each variant to the number of wrong commands that fail in it. The variant with most of them comes
    first, and variants with equal numbers keep their order. A written order stays as long as its first variant does.
    """
    present = manifest.execution_order
    order = tuple(sorted(present, key=lambda name: -failures.get(name, 0)))
    is_kept = len(present) == 1 or (bool(manifest.order) and order[0] == present[0])
    return () if is_kept else order


def with_order(text: str, order: Sequence[str]) -> str:
    """Return the text of a `world.toml` with an order of variants. The format becomes 5 if it is lower.

    Raises UsageError if the text is written in a way that this function cannot edit.
    """
    before = tomllib.loads(text)
    line = f"order = [{', '.join(json.dumps(name) for name in order)}]"
    if "order" in before:
        edited = _ORDER.sub(line, text, count=1)
    elif table := _TABLE.search(text):
        head = text[: table.start()].rstrip("\n")
        edited = f"{head}\n{line}\n\n{text[table.start() :]}"
    else:
        edited = f"{text}{line}\n"
    number = max(before["format"], ORDER_FORMAT)
    edited = _FORMAT.sub(f"format = {number}", edited, count=1)
    if tomllib.loads(edited) != before | {"format": number, "order": list(order)}:
        raise UsageError(f"world.toml cannot be edited here: expected the lines format = {number} and {line} in it")
    return edited
