"""The values of expressions in workflow files, and the refusal of all syntax that the workflows do not use."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.doubles.workflows.expressions import (
    StrictDict,
    WorkflowError,
    as_text,
    condition,
    equal,
    evaluate,
    filled,
    truth,
)
from tests.workflows.workflow_yaml import ACTIONS, WORKFLOWS, read, texts

CONTEXTS: dict[str, Any] = {
    "github": StrictDict(event_name="push", event={"number": 7, "object": {"inner": "x"}}, ref="refs/heads/main"),
    "steps": StrictDict(cache=StrictDict(outputs={"cache-hit": "true"}, outcome="success")),
    "secrets": {},
    "env": {"EMPTY": "", "NAME": "it's"},
    "inputs": StrictDict(stale=True, plan_only=None),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("false", False),
        ("github.event_name", "push"),
        ("github.event.absent", None),
        ("github.event.absent.deeper", None),
        ("github.event.number", 7),
        ("steps.cache.outputs.cache-hit", "true"),
        ("secrets.UNSET", None),
        ("inputs.stale", True),
        ("github.event_name == 'PUSH'", True),
        ("github.event_name != 'push'", False),
        ("github.event.absent == ''", True),
        ("secrets.UNSET != 'x'", True),
        ("!github.event_name", False),
        ("!!'x'", True),
        ("'' || 'other'", "other"),
        ("'one' || 'other'", "one"),
        ("'one' && 'other'", "other"),
        ("'' && 'other'", ""),
        ("inputs.plan_only || false", False),
        ("inputs.stale && 'stale' || ''", "stale"),
        ("'a' || false && false", "a"),
        ("('a' || false) && false", False),
        ("!cancelled() && github.ref == 'refs/heads/main'", True),
        ('fromJSON(\'["a", {"b": [1]}]\')', ["a", {"b": [1]}]),
    ],
)
def test_values(text: str, value: Any) -> None:
    """An expression has the value that GitHub gives it."""
    result = evaluate(text, CONTEXTS)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a value, found the end"),
        ("1", "does not know '1'"),
        ("github.event.number < 2", "does not know '< 2'"),
        ("github['ref']", "does not know"),
        ("github.*", "does not know"),
        ('"text"', "does not know"),
        ("'open", "does not know"),
        ("true", "there is no 'true' here"),
        ("null", "there is no 'null' here"),
        ("always()", "does not know the function 'always'"),
        ("success()", "does not know the function 'success'"),
        ("format('x')", "does not know the function 'format'"),
        ("Cancelled()", "does not know the function 'Cancelled'"),
        ("vars.NAME", "no 'vars' here"),
        ("steps.cach.outputs.x", "steps has no 'cach'"),
        ("github.EVENT_NAME", "github has no 'EVENT_NAME'"),
        ("'x' || github.evnt_name", "github has no 'evnt_name'"),
        ("github.ref.deeper", "github.ref is 'refs/heads/main'"),
        ("github.'ref'", "expected a name after 'github'"),
        ("github.event.number == '7'", "7 is compared"),
        ("inputs.stale == 'true'", "True is compared"),
        ("github.event.object == github.event.object", "is compared"),
        ("!github.event.number", "7 is used as a condition"),
        ("('x'", r"expected '\)', found the end"),
        ("cancelled('x')", r"expected '\)', found \"'x'\""),
        ("'x' 'y'", "does not know \"'y'\" at its place"),
        ("'x' == 'y' == 'z'", "does not know '==' at its place"),
        ("== 'x'", "expected a value, found '=='"),
        ("fromJSON('[')", "is not JSON"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    """An expression with unsupported syntax or an unknown name raises an error that contains the expression."""
    with pytest.raises(WorkflowError, match=says) as error:
        evaluate(text, CONTEXTS)
    assert str(error.value).startswith(f"expression {text!r}: ")


@pytest.mark.parametrize(
    ("text", "after_success", "after_failure"),
    [
        ("", True, False),
        ("github.event_name == 'push'", True, False),
        ("${{ github.event_name == 'push' }}", True, False),
        ("github.event_name == 'issues'", False, False),
        ("github.event_name == 'cancelled'", False, False),
        ("!cancelled() && github.event_name == 'push'", True, True),
        ("${{ !cancelled() }}", True, True),
    ],
)
def test_conditions(text: str, after_success: bool, after_failure: bool) -> None:
    """A condition also requires success, unless the condition calls `cancelled()`."""
    results = (condition(text, CONTEXTS, success=True), condition(text, CONTEXTS, success=False))
    assert results == (after_success, after_failure)


def test_condition_in_a_text() -> None:
    """A condition with text around its expression is refused. On GitHub such a condition is always true."""
    with pytest.raises(WorkflowError, match="always true"):
        condition("${{ false }} == true", CONTEXTS, success=True)


@pytest.mark.parametrize(
    ("value", "put"),
    [
        (7, 7),
        ("plain", "plain"),
        ("${{ fromJSON('[1, 2]') }}", [1, 2]),
        ("a-${{ github.ref }}-${{ github.event.number }}-${{ secrets.UNSET }}", "a-refs/heads/main-7-"),
        ("${{ env.NAME }}${{ inputs.stale }}", "it'strue"),
    ],
)
def test_filling(value: Any, put: Any) -> None:
    """A value that is one expression keeps its type, and an expression within a text becomes text."""
    assert filled(value, CONTEXTS) == put


def test_an_object_is_not_a_text() -> None:
    with pytest.raises(WorkflowError, match="cannot be written into a text"):
        filled("x ${{ github.event.object }}", CONTEXTS)


@pytest.mark.parametrize(("value", "text"), [(None, ""), (True, "true"), (False, "false"), (3, "3"), ("x", "x")])
def test_writing(value: Any, text: str) -> None:
    """Values are written into texts as GitHub writes them."""
    assert as_text(value) == text


@pytest.mark.parametrize(("value", "counts"), [(None, False), (False, False), ("", False), (True, True), ("0", True)])
def test_truth(value: Any, counts: bool) -> None:
    assert truth(value) is counts


def test_null_is_the_empty_text() -> None:
    assert equal(None, "")
    assert not equal(None, "x")


def test_the_language_holds_nothing_that_the_workflows_do_not_use() -> None:
    """The workflow files use every operator and function that the evaluator of expressions supports."""
    written = [text for path in (*WORKFLOWS, *ACTIONS) for text in texts(read(path))]
    conditions = [
        part["if"]
        for path in WORKFLOWS
        for job in read(path)["jobs"].values()
        for part in (job, *job.get("steps", []))
        if "if" in part
    ]
    used = " ".join([*conditions, *(code for text in written for code in re.findall(r"\$\{\{(.*?)\}\}", text))])
    for part in ("==", "!=", "&&", "||", "!cancelled()", "fromJSON(", "'", " false", "(github"):
        assert part in used, part
