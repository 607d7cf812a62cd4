"""Expressions of workflow files: what they come to, and what nobody may write."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluator.testing.workflows.expressions import (
    Known,
    Scope,
    WorkflowError,
    condition,
    evaluate,
    filled,
    from_json,
    said,
    truth,
)

OBJECT = {"inner": "x"}
CONTEXTS: dict[str, Any] = {
    "github": Known(event_name="push", event={"number": 7.0, "object": OBJECT}, ref="refs/heads/main"),
    "steps": Known(cache=Known(outputs={"cache-hit": "true"}, outcome="success")),
    "secrets": {},
    "env": {"EMPTY": "", "NAME": "it's"},
}


def scope(*, success: bool = True, never: Any = None) -> Scope:
    functions = {
        "success": lambda: success,
        "failure": lambda: not success,
        "always": lambda: True,
        "cancelled": lambda: False,
        "fromjson": from_json,
        "never": never,
    }
    return Scope(CONTEXTS, functions)


def _fail() -> None:
    raise AssertionError("it was asked")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("0x1F", 31),
        ("-2.5", -2.5),
        ("'it''s'", "it's"),
        ("github.event_name", "push"),
        ("github.EVENT_NAME", "push"),
        ("github.event.absent", None),
        ("github.event.absent.deeper", None),
        ("github.ref.deeper", None),
        ("steps.cache.outputs.cache-hit", "true"),
        ("secrets.UNSET", None),
        ("github.event_name == 'PUSH'", True),
        ("github.event_name != 'push'", False),
        ("github.event.number == '7'", True),
        ("null == 0", True),
        ("'' == false", True),
        ("'x' == 0", False),
        ("'true' == true", False),
        ("github.event.object == github.event.object", True),
        ("github.event.object == 'Object'", False),
        ("!github.event_name", False),
        ("!!'x'", True),
        ("'' || 'other'", "other"),
        ("'one' || 'other'", "one"),
        ("'one' && 'other'", "other"),
        ("0 && 'other'", 0),
        ("true || false && false", True),
        ("(true || false) && false", False),
        ("!false == true", True),
        ("true || never()", True),
        ("false && never()", False),
        ('fromJSON(\'["a", {"b": [1]}]\')', ["a", {"b": [1]}]),
        ("success() && !cancelled()", True),
    ],
)
def test_values(text: str, value: Any) -> None:
    """An expression has the value that GitHub gives it, and asks no further than it must."""
    found = evaluate(text, scope(never=_fail))
    assert (found, type(found) is bool) == (value, type(value) is bool)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "ends too early"),
        ("1 < 2", "does not know '< 2'"),
        ("github['ref']", r"does not know"),
        ("github.*", "does not know"),
        ('"text"', "does not know"),
        ("format('{0}', 1)", "no function 'format'"),
        ("vars.NAME", "no 'vars' here"),
        ("steps.cach.outputs.x", "steps has no 'cach'"),
        ("github.evnt_name", "github has no 'evnt_name'"),
        ("(true", r"expected '\)', found ''"),
        ("true true", "'true' is left over"),
        ("== 1", "stands where a value is expected"),
        ("fromJSON('[')", "is no JSON"),
        ("success(1)", "takes 0 positional arguments"),
        ("'open", "does not know"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    """What is not in the grammar, or is misspelt, raises, and the message holds the expression."""
    with pytest.raises(WorkflowError, match=says):
        evaluate(text, scope())


@pytest.mark.parametrize(
    ("text", "after_success", "after_failure"),
    [
        ("github.event_name == 'push'", True, False),
        ("${{ github.event_name == 'push' }}", True, False),
        ("github.event_name == 'issues'", False, False),
        ("always()", True, True),
        ("!cancelled() && github.event_name == 'push'", True, True),
        ("failure()", False, True),
        ("Always()", True, True),
    ],
)
def test_conditions(text: str, after_success: bool, after_failure: bool) -> None:
    """A condition asks for success too, unless it names a status function."""
    assert (condition(text, scope()), condition(text, scope(success=False))) == (after_success, after_failure)


def test_condition_in_a_text() -> None:
    """A condition with text around its expression is always true on GitHub, and an error here."""
    with pytest.raises(WorkflowError, match="always true"):
        condition("${{ false }} == true", scope())


@pytest.mark.parametrize(
    ("value", "put"),
    [
        (7, 7),
        ("plain", "plain"),
        ("${{ fromJSON('[1, 2]') }}", [1, 2]),
        ("a-${{ github.ref }}-${{ github.event.number }}-${{ secrets.UNSET }}", "a-refs/heads/main-7-"),
        ("${{ env.NAME }}${{ true }}", "it'strue"),
    ],
)
def test_filling(value: Any, put: Any) -> None:
    """A single expression keeps its kind; within a text it is written out."""
    assert filled(value, scope()) == put


def test_objects_are_no_text() -> None:
    """An object does not go into a text."""
    with pytest.raises(WorkflowError, match="is no text"):
        filled("x ${{ github.event.object }}", scope())


@pytest.mark.parametrize(("value", "text"), [(None, ""), (True, "true"), (3.0, "3"), (0.5, "0.5"), ("x", "x")])
def test_writing(value: Any, text: str) -> None:
    """Values are written into texts as GitHub writes them."""
    assert said(value) == text


@pytest.mark.parametrize("value", [None, False, 0, 0.0, "", math.nan])
def test_falsehood(value: Any) -> None:
    """What counts as false; an empty list does not."""
    assert not truth(value)
    assert truth([])
