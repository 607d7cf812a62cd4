"""Expressions of workflow files: the text between `${{` and `}}`, and the text of an `if:`.

The module knows only the parts of the language that the workflows of this repository use: look-ups such as
`steps.plan.outputs.sha256`, texts in single quotes, `false`, `==`, `!=`, `!`, `&&`, `||`, parentheses, `cancelled()`
and `fromJSON(…)`. Any other expression raises WorkflowError. So GitHub never evaluates an expression that no test has
evaluated. https://docs.github.com/en/actions/reference/workflows-and-actions/expressions describes the language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

Value = Any
"""None, bool, int, str, a list, or a mapping from names to such values."""

Contexts = Mapping[str, Mapping[str, Value]]
"""The contexts, by name, that an expression may use at its place in the file."""

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<name>[A-Za-z_][\w-]*)
      | (?P<sign>==|!=|&&|\|\||[!().])
    )""",
    re.VERBOSE,
)
_EMBEDDED: Final = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}", re.DOTALL)


class WorkflowError(Exception):
    """A workflow file has a part that this runner does not know or that GitHub refuses."""


class StrictDict(dict[str, Value]):
    """A context, or a part of one, in which a missing name raises WorkflowError. GitHub evaluates the name to null."""


class _Token(NamedTuple):
    kind: str
    text: str


def evaluate(text: str, contexts: Contexts) -> Value:
    """Return the value of an expression without its braces. Raises WorkflowError with the expression in the message."""
    try:
        return _Parser(_tokens(text), contexts).expression()
    except WorkflowError as error:
        raise WorkflowError(f"expression {text.strip()!r}: {error}") from error


def condition(text: str, contexts: Contexts, *, success: bool) -> bool:
    """Return whether an `if:` is true. As on GitHub, a condition without `cancelled()` also requires `success`."""
    bare = text.strip()
    if not bare:
        return success
    whole = _EMBEDDED.fullmatch(bare)
    if whole is None and "${{" in bare:
        raise WorkflowError(f"if: {bare!r} is a text around an expression, which is always true")
    bare = whole[1] if whole else bare
    holds = truth(evaluate(bare, contexts))
    return holds and (success or _Token("name", "cancelled") in _tokens(bare))


def filled(value: Value, contexts: Contexts) -> Value:
    """Return a text with its expressions replaced by their values. A single expression keeps the type of its value."""
    if not isinstance(value, str):
        return value
    whole = _EMBEDDED.fullmatch(value.strip())
    if whole:
        return evaluate(whole[1], contexts)
    return _EMBEDDED.sub(lambda match: as_text(evaluate(match[1], contexts)), value)


def filled_text(value: Value, contexts: Contexts) -> str:
    """Return the result of `filled` as text."""
    return as_text(filled(value, contexts))


def has_expression(text: str) -> bool:
    """Return whether GitHub would replace a part of this text."""
    return "${{" in text


def as_text(value: Value) -> str:
    """Return a value as GitHub writes it into a text. Raises WorkflowError for a list or a mapping."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise WorkflowError(f"{value!r} cannot be written into a text")


def truth(value: Value) -> bool:
    """Return whether a value counts as true. Null and the empty text count as false, and any other text as true."""
    if value is None or isinstance(value, bool | str):
        return bool(value)
    raise WorkflowError(f"{value!r} is used as a condition; this runner knows texts, booleans and null there")


def equal(left: Value, right: Value) -> bool:
    """Return whether two texts are equal without regard to case. Null equals the empty text, as on GitHub."""
    for value in (left, right):
        if not (value is None or isinstance(value, str)):
            raise WorkflowError(f"{value!r} is compared; this runner compares texts only")
    return (left or "").upper() == (right or "").upper()


def _tokens(text: str) -> list[_Token]:
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise WorkflowError(f"this runner does not know {text[position:].strip()!r}")
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind]))
        position = match.end()
    return tokens


class _Parser:
    """A parser that evaluates while it reads. It evaluates both sides of `&&` and `||`, so a wrong name raises."""

    def __init__(self, tokens: Sequence[_Token], contexts: Contexts) -> None:
        self._tokens, self._contexts, self._position = tokens, contexts, 0

    def expression(self) -> Value:
        value = self._or()
        if self._position < len(self._tokens):
            raise WorkflowError(f"this runner does not know {self._tokens[self._position].text!r} at its place")
        return value

    def _take(self, *signs: str) -> str | None:
        if self._position == len(self._tokens) or self._tokens[self._position].text not in signs:
            return None
        self._position += 1
        return self._tokens[self._position - 1].text

    def _next(self, expected: str) -> _Token:
        if self._position == len(self._tokens):
            raise WorkflowError(f"expected {expected}, found the end")
        self._position += 1
        return self._tokens[self._position - 1]

    def _close(self) -> None:
        token = self._next("')'")
        if token.text != ")":
            raise WorkflowError(f"expected ')', found {token.text!r}")

    def _or(self) -> Value:
        value = self._and()
        while self._take("||"):
            other = self._and()
            value = value if truth(value) else other
        return value

    def _and(self) -> Value:
        value = self._comparison()
        while self._take("&&"):
            other = self._comparison()
            value = other if truth(value) else value
        return value

    def _comparison(self) -> Value:
        value = self._negation()
        sign = self._take("==", "!=")
        return value if sign is None else equal(value, self._negation()) is (sign == "==")

    def _negation(self) -> Value:
        return not truth(self._negation()) if self._take("!") else self._operand()

    def _operand(self) -> Value:
        if self._take("("):
            value = self._or()
            self._close()
            return value
        token = self._next("a value")
        if token.kind == "text":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "sign":
            raise WorkflowError(f"expected a value, found {token.text!r}")
        if token.text == "false":
            return False
        return self._call(token.text) if self._take("(") else self._look_up(token.text)

    def _call(self, function: str) -> Value:
        if function == "cancelled":
            self._close()
            return False
        if function != "fromJSON":
            raise WorkflowError(f"this runner does not know the function {function!r}")
        argument = self._or()
        self._close()
        try:
            return json.loads(as_text(argument))
        except ValueError as error:
            raise WorkflowError(f"fromJSON: {argument!r} is not JSON") from error

    def _look_up(self, context: str) -> Value:
        if context not in self._contexts:
            raise WorkflowError(f"there is no {context!r} here, only {', '.join(sorted(self._contexts))}")
        value: Value = self._contexts[context]
        path = context
        while self._take("."):
            token = self._next("a name")
            if token.kind != "name":
                raise WorkflowError(f"expected a name after {path!r}, found {token.text!r}")
            value = _member(value, token.text, path)
            path += f".{token.text}"
        return value


def _member(value: Value, name: str, path: str) -> Value:
    """Return the value of a name in a context. A name that a part of an event lacks is null."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise WorkflowError(f"{path} is {value!r}, which has no {name!r}")
    if isinstance(value, StrictDict) and name not in value:
        raise WorkflowError(f"{path} has no {name!r}, only {', '.join(sorted(value))}")
    return value.get(name)
