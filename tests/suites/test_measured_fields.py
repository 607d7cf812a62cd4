"""Measured values are written into files that people write: only the value changes."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import UsageError
from evaluator.records import WorldManifest
from evaluator.suites.measured_fields import improved_order, with_order, with_wall_limits

WORLD = """# a hall with three gates
format = 4
title = "A hall"
names = [
  "gate",  # of the hall
]

[[variants]]  # the first one
name = "hall"
seed = 1

[[variants]]
name = "annex"
seed = 2

[[variants]]
name = "depot"
seed = 3
"""
NAMES = ("hall", "annex", "depot")


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (b'{"id": "a", "nl": "x"}\n', 10, b'{"id": "a", "nl": "x", "wall_s": 10}\n'),
        (b'{"id":"a","nl":"x"}\n', 10, b'{"id":"a","nl":"x","wall_s":10}\n'),
        (b'{"id": "a", "nl": "x"}', 20, b'{"id": "a", "nl": "x", "wall_s": 20}'),
        (b'{"id": "a", "wall_s": 10, "nl": "x"}\r\n', 30, b'{"id": "a", "wall_s": 30, "nl": "x"}\r\n'),
        (
            b'{"nl": "\\"wall_s\\": 9}", "id": "a", "wall_s": 10}',
            20,
            b'{"nl": "\\"wall_s\\": 9}", "id": "a", "wall_s": 20}',
        ),
        (
            b'{"id": "a", "nl": "\\u00e9 \xc3\xa9  }"  }\n',
            10,
            b'{"id": "a", "nl": "\\u00e9 \xc3\xa9  }"  , "wall_s": 10}\n',
        ),
        (b'{"id": "a",  "wall_s": 10}\n', 10, b'{"id": "a",  "wall_s": 10}\n'),
        (b'{"id": "b",  "nl": "y"}\n', 10, b'{"id": "b",  "nl": "y"}\n'),
    ],
)
def test_a_limit_changes_no_other_byte(line: bytes, limit: int, expected: bytes) -> None:
    assert with_wall_limits(line, {"a": limit}) == expected


texts = st.text(max_size=20) | st.sampled_from(['"wall_s": 10', "}", '\\"wall_s": 20'])


@given(st.dictionaries(st.text(max_size=5) | st.just("wall_s "), texts), st.sampled_from([None, 10, 30]), st.booleans())
def test_a_limit_is_the_only_value_that_changes(fields: dict[str, str], before: int | None, compact: bool) -> None:
    task = {"id": "a", **{key: value for key, value in fields.items() if key not in ("id", "wall_s")}}
    task |= {} if before is None else {"wall_s": before}  # type: ignore[dict-item]
    line = json.dumps(task, separators=(",", ":") if compact else None, ensure_ascii=compact).encode()
    edited = json.loads(with_wall_limits(line, {"a": 20}))
    assert edited == {**task, "wall_s": 20}
    assert list(edited) == list({**task, "wall_s": 20})


def manifest(order: tuple[str, ...] = ()) -> WorldManifest:
    return WorldManifest.model_validate({**tomllib.loads(WORLD), "format": 5, "order": order})


@pytest.mark.parametrize(
    ("present", "failures", "expected"),
    [
        ((), {"hall": 3, "annex": 3, "depot": 3}, NAMES),
        ((), {"hall": 3, "annex": 5, "depot": 4}, ("annex", "depot", "hall")),
        (("annex", "hall", "depot"), {"hall": 5, "annex": 5, "depot": 4}, ()),
        (("annex", "hall", "depot"), {"hall": 1, "annex": 5, "depot": 4}, ()),
        (("annex", "hall", "depot"), {"hall": 4, "annex": 4, "depot": 5}, ("depot", "annex", "hall")),
        ((), {}, NAMES),
    ],
    ids=["equal", "none yet", "a tie keeps", "a later place keeps", "another first one", "no wrong command"],
)
def test_the_variant_in_which_most_commands_fail_comes_first(
    present: tuple[str, ...], failures: dict[str, int], expected: tuple[str, ...]
) -> None:
    assert improved_order(manifest(present), failures) == expected


def test_a_world_with_one_variant_needs_no_order() -> None:
    only = WorldManifest.model_validate({"format": 1, "title": "x", "variants": [{"name": "a", "seed": 1}]})
    assert improved_order(only, {"a": 3}) == ()


def test_an_order_is_written_before_the_variants_and_raises_the_format() -> None:
    edited = with_order(WORLD, ("depot", "hall", "annex"))
    added = 'order = ["depot", "hall", "annex"]\n'
    assert edited == WORLD.replace("format = 4", "format = 5").replace("]\n\n[[", f"]\n{added}\n[[", 1)


def test_an_order_replaces_the_earlier_one_alone() -> None:
    spread = WORLD.replace("format = 4", 'format = 5\norder = [\n  "annex", "hall",\n  "depot",\n]')
    edited = with_order(spread, NAMES)
    assert edited == WORLD.replace("format = 4", 'format = 5\norder = ["hall", "annex", "depot"]')
    assert with_order(edited, NAMES) == edited


def test_a_text_that_cannot_be_edited_is_refused() -> None:
    """The pattern of the format does not match this spelling."""
    with pytest.raises(UsageError, match=r"expected the lines format = 5 and order = \["):
        with_order(WORLD.replace("format = 4", '"format" = 4'), NAMES)
