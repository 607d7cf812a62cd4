"""Define the tree into which a command is read like in the NLC2CMD reference program, and list its calls and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

PLACEHOLDER: Final = "{}"
"""The argument of `xargs` and of `find -exec` that stands for a name."""


class ReferenceCall(NamedTuple):
    """A utility as the NLC2CMD reference program reads it: its name, its flags and those of all nested utilities."""

    utility: str
    flags: tuple[str, ...]


class TokenKind(StrEnum):
    """The kind of a token in a command. A reserved token is an operator, such as `|`, `$(`, `-or` or `\\;`."""

    UTILITY = "utility"
    FLAG = "flag"
    ARGUMENT = "argument"
    RESERVED = "reserved"


class Token2020(NamedTuple):
    """A token of a command, with its text as written. The letters in a cluster such as `-la` are two flags."""

    kind: TokenKind
    text: str


class CallNode(NamedTuple):
    """A utility in the NLC2CMD program's tree. A child is a flag, another utility, or a token that is neither."""

    name: str
    children: list[TreeChild]


TreeChild: TypeAlias = "str | CallNode | Token2020"
EXPANSION: Final = ""
"""An argument whose text is unknown before execution. It gives no token, but its utilities do."""


def flattened_calls(children: Iterable[TreeChild]) -> Iterator[ReferenceCall]:
    """Yield the utilities of a tree in pre-order, each with its flags and those of nested utilities."""
    for child in children:
        if isinstance(child, CallNode):
            yield ReferenceCall(child.name, tuple(_flags(child.children)))
            yield from flattened_calls(child.children)


def _flags(children: Iterable[TreeChild]) -> Iterator[str]:
    for child in children:
        if isinstance(child, CallNode):
            yield from _flags(child.children)
        elif child and isinstance(child, str):
            yield child


def tokens_of_tree(children: Iterable[TreeChild]) -> Iterator[Token2020]:
    """Yield the tokens of a tree in their order."""
    for child in children:
        if isinstance(child, CallNode):
            yield Token2020(TokenKind.UTILITY, child.name)
            yield from tokens_of_tree(child.children)
        elif isinstance(child, Token2020):
            yield child
        elif child:
            yield Token2020(TokenKind.FLAG, child.partition("::")[0])


def without_parentheses(children: list[TreeChild]) -> list[TreeChild]:
    """Return the children without `$(` and `)`, if they are one substitution."""
    is_substitution = children and children[0] == reserved_token("$(") and children.count(reserved_token("$(")) == 1
    return children[1:-1] if is_substitution else children


def reserved_token(text: str) -> Token2020:
    """Return the token of an operator."""
    return Token2020(TokenKind.RESERVED, text)


def argument_token(text: str) -> Token2020:
    """Return the token of an argument. A placeholder has no quotes."""
    return Token2020(TokenKind.ARGUMENT, PLACEHOLDER if text.strip("'\"") == PLACEHOLDER else text)
