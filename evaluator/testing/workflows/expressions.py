"""Expressions of workflow files: what stands between `${{` and `}}`, and in an `if:`.

A grammar as small as our workflows need; whatever is not in it raises, so that a test fails where GitHub would have
evaluated what nobody looked at. From https://docs.github.com/en/actions/reference/workflows-and-actions/expressions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

Value = Any
"""None, bool, float, int, str, a list, or a mapping of these by name."""

STATUS: Final = frozenset({"always", "success", "failure", "cancelled"})
"""The functions that take the place of an `if:`'s implicit `success()`."""

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w-]))
      | (?P<string>'(?:[^']|'')*')
      | (?P<word>[A-Za-z_][\w-]*)
      | (?P<sign>==|!=|&&|\|\||[!().,])
    )""",
    re.VERBOSE,
)
_LITERALS: Final[Mapping[str, Value]] = {"null": None, "true": True, "false": False}
_PIECE: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


class WorkflowError(Exception):
    """A workflow file holds what this runner does not know, or what GitHub refuses."""


class Known(dict[str, Value]):
    """A context, or a part of one, where a name that it lacks is a slip of the pen. GitHub would say null."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may name where it stands: contexts and functions, by their names in lower case."""

    contexts: Mapping[str, Mapping[str, Value]]
    functions: Mapping[str, Callable[..., Value]]


class _Token(NamedTuple):
    kind: str
    text: str


_Asked = Callable[[], Value]


def evaluate(text: str, scope: Scope) -> Value:
    """The value of one expression, given without its braces. Raises WorkflowError with the expression in it."""
    try:
        return _Reader(_tokens(text), scope).whole()()
    except (WorkflowError, TypeError) as error:
        raise WorkflowError(f"expression {text.strip()!r}: {error}") from error


def condition(text: str, scope: Scope) -> bool:
    """Whether an `if:` holds, which means `success() && (…)` where it names none of the status functions."""
    bare = text.strip()
    whole = _PIECE.fullmatch(bare)
    if whole is None and "${{" in bare:
        raise WorkflowError(f"if: {bare!r} is a text around an expression, which is always true")
    bare = whole[1] if whole else bare
    named = {token.text.lower() for token in _tokens(bare) if token.kind == "word"}
    if named & STATUS:
        return truth(evaluate(bare, scope))
    return truth(evaluate("success()", scope)) and truth(evaluate(bare, scope))


def filled(value: Value, scope: Scope) -> Value:
    """A text with its expressions' values in their places; one that is a single expression becomes its value."""
    if not isinstance(value, str):
        return value
    whole = _PIECE.fullmatch(value.strip())
    if whole and whole[1].count("${{") == 0:
        return evaluate(whole[1], scope)
    return _PIECE.sub(lambda match: said(evaluate(match[1], scope)), value)


def filled_text(value: Value, scope: Scope) -> str:
    """What is put into a text's place, as a text."""
    return said(filled(value, scope))


def has_expression(text: str) -> bool:
    """Whether GitHub would put something into this text."""
    return "${{" in text


def said(value: Value) -> str:
    """A value as GitHub writes it into a text. Raises WorkflowError for a list or an object, which it cannot."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:.15g}"
    if isinstance(value, str):
        return value
    raise WorkflowError(f"{value!r} is no text")


def truth(value: Value) -> bool:
    """Whether a value counts as true: all but false, 0, the empty text, null and what is no number."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return value is not None and value is not False and value not in (0, "")


def equal(one: Value, other: Value) -> bool:
    """Equality as GitHub has it: texts without regard to case, different kinds as numbers, objects by identity."""
    if isinstance(one, str) and isinstance(other, str):
        return one.upper() == other.upper()
    if isinstance(one, list | Mapping) or isinstance(other, list | Mapping):
        return one is other
    if type(one) is type(other):
        return bool(one == other)
    return _number(one) == _number(other)


def _number(value: Value) -> float:
    if value is None or value == "":
        return 0.0
    if isinstance(value, str):
        try:
            return float(int(value, 16)) if value.startswith("0x") else float(value)
        except ValueError:
            return math.nan
    return float(value)


def _tokens(text: str) -> list[_Token]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise WorkflowError(f"this runner does not know {text[at:].strip()!r}")
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind]))
        at = match.end()
    return tokens


class _Reader:
    """Reads an expression into a function without parameters: what stands behind `&&` and `||` may never be asked."""

    def __init__(self, tokens: Sequence[_Token], scope: Scope) -> None:
        self._tokens, self._scope, self._at = tokens, scope, 0

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _next(self) -> _Token:
        if self._at == len(self._tokens):
            raise WorkflowError("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, *signs: str) -> str | None:
        found = self._peek()
        if found not in signs:
            return None
        self._at += 1
        return found

    def _must(self, sign: str) -> None:
        if self._take(sign) is None:
            raise WorkflowError(f"expected {sign!r}, found {self._peek()!r}")

    def whole(self) -> _Asked:
        asked = self._either()
        if self._at < len(self._tokens):
            raise WorkflowError(f"{self._peek()!r} is left over")
        return asked

    def _either(self) -> _Asked:
        asked = self._both()
        while self._take("||"):
            asked = _first(asked, self._both(), stop=True)
        return asked

    def _both(self) -> _Asked:
        asked = self._same()
        while self._take("&&"):
            asked = _first(asked, self._same(), stop=False)
        return asked

    def _same(self) -> _Asked:
        asked = self._not()
        while sign := self._take("==", "!="):
            asked = _compared(asked, self._not(), wanted=sign == "==")
        return asked

    def _not(self) -> _Asked:
        if not self._take("!"):
            return self._value()
        asked = self._not()
        return lambda: not truth(asked())

    def _value(self) -> _Asked:
        if self._take("("):
            asked = self._either()
            self._must(")")
            return asked
        token = self._next()
        if token.kind == "word":
            return self._called(token.text) if self._take("(") else self._named(token.text)
        if token.kind == "sign":
            raise WorkflowError(f"{token.text!r} stands where a value is expected")
        return lambda: _literal(token)

    def _named(self, word: str) -> _Asked:
        if word in _LITERALS:
            return lambda: _LITERALS[word]
        if word not in self._scope.contexts:
            raise WorkflowError(f"there is no {word!r} here, only {', '.join(sorted(self._scope.contexts))}")
        names = [word]
        while self._take("."):
            name = self._next()
            if name.kind != "word":
                raise WorkflowError(f"{name.text!r} stands where a name is expected")
            names.append(name.text)
        return lambda: _found(self._scope.contexts, names)

    def _called(self, word: str) -> _Asked:
        function = self._scope.functions.get(word.lower())
        if function is None:
            raise WorkflowError(f"there is no function {word!r} here")
        given: list[_Asked] = []
        while not self._take(")"):
            if given:
                self._must(",")
            given.append(self._either())
        return lambda: function(*(each() for each in given))


def _first(one: _Asked, other: _Asked, *, stop: bool) -> _Asked:
    """The first value, or the other one where the first is not as `stop` says."""

    def asked() -> Value:
        value = one()
        return value if truth(value) is stop else other()

    return asked


def _compared(one: _Asked, other: _Asked, *, wanted: bool) -> _Asked:
    return lambda: equal(one(), other()) is wanted


def _literal(token: _Token) -> Value:
    if token.kind == "string":
        return token.text[1:-1].replace("''", "'")
    return float(int(token.text, 16)) if "x" in token.text else float(token.text)


def _found(contexts: Mapping[str, Value], names: Sequence[str]) -> Value:
    value: Value = contexts
    for at, name in enumerate(names):
        value = _part(value, name, ".".join(names[:at]))
    return value


def _part(value: Value, name: str, place: str) -> Value:
    """A name's value in a context. Names are compared without regard to case."""
    if not isinstance(value, Mapping):
        return None
    for each, part in value.items():
        if each.lower() == name.lower():
            return part
    if isinstance(value, Known):
        raise WorkflowError(f"{place} has no {name!r}, only {', '.join(sorted(value))}")
    return None


def from_json(text: Value) -> Value:
    """`fromJSON`: what a text says in JSON. Raises WorkflowError for one that does not."""
    try:
        return json.loads(said(text))
    except ValueError as error:
        raise WorkflowError(f"fromJSON: {text!r} is no JSON") from error
