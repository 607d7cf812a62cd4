"""Find a command inside another command by their syntax trees.

Comments, braces round a list of commands, and calls of `:` change nothing that a command does. So they are left out of
both trees, and a command that repeats another one with such additions is still found.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from tree_sitter import Node

from evaluator.shell.syntax import MAX_DEPTH
from evaluator.shell.treesitter_reader import parse_bytes

MIN_LEAVES: Final = 5
"""The least number of words and operators of a command that is searched inside another one. Shorter commands are part
of many others by chance."""

MAX_NODES: Final = 20_000
"""The size of a tree, in nodes, up to which it is compared."""

_LISTS: Final = frozenset({"program", "compound_statement"})
_SEPARATORS: Final = frozenset({";", "\n", "{", "}", "&&", ";;"})
_NOTHING: Final = b":"

Tree = tuple[object, ...]
"""A node: its type and its children. A leaf is a type and its text."""


@lru_cache(maxsize=4096)
def statements_of(command: bytes) -> tuple[Tree, ...]:
    """Return the trees of a command's statements, without comments, braces and calls of `:`.

    The result is empty if the command has a syntax error, or is too large or too deep.

    >>> statements_of(b": a; { ls -l; } # list") == statements_of(b"ls -l")
    True
    """
    root = parse_bytes(command)
    if root.has_error or root.descendant_count > MAX_NODES:
        return ()
    try:
        return tuple(_statements(root, 0))
    except RecursionError:
        return ()


def repeats(command: bytes, other: bytes) -> bool:
    """Return whether two commands have the same statements.

    >>> repeats(b"{ ls -l; }", b"ls -l # all"), repeats(b"ls -l | wc", b"ls -l")
    (True, False)
    """
    mine = statements_of(command)
    return bool(mine) and mine == statements_of(other)


def contains(command: bytes, other: bytes) -> bool:
    """Return whether the statements of `other`, one after another, are somewhere in the command.

    The result is False if `other` is short, because short commands are part of many others by chance.

    >>> contains(b"if true; then find . -type f | sort -u; fi", b"find . -type f | sort -u")
    True
    """
    part = statements_of(other)
    if sum(map(_count_leaves, part)) < MIN_LEAVES:
        return False
    return any(_has_run(run, part) for run in _runs(statements_of(command)))


def _statements(node: Node, depth: int) -> Iterator[Tree]:
    """Yield the statements of a list of commands. A list in braces gives its own statements."""
    if depth > MAX_DEPTH:
        raise RecursionError
    for child in node.children:
        if child.type == "comment" or child.type in _SEPARATORS or _is_nothing(child):
            continue
        if child.type in _LISTS or (child.type == "list" and any(map(_is_nothing, child.named_children))):
            yield from _statements(child, depth + 1)
        else:
            yield _tree(child, depth + 1)


def _is_nothing(node: Node) -> bool:
    """Return whether a node is a call of `:` without an effect: without a substitution or a redirection."""
    if node.type != "command" or not node.named_children or node.named_children[0].text != _NOTHING:
        return False
    return all(child.type in {"word", "raw_string", "number"} for child in node.named_children[1:])


def _tree(node: Node, depth: int) -> Tree:
    if depth > MAX_DEPTH:
        raise RecursionError
    if not node.children:
        return node.type, node.text
    kept = (child for child in node.children if child.type not in {"comment", ";", "\n"} and not _is_nothing(child))
    parts: list[Tree] = []
    for child in kept:
        parts += _statements(child, depth + 1) if child.type in _LISTS else [_tree(child, depth + 1)]
    return node.type, *parts


def _count_leaves(tree: Tree) -> int:
    return sum(_count_leaves(part) for part in tree[1:] if isinstance(part, tuple)) or 1


def _runs(statements: tuple[Tree, ...]) -> Iterator[tuple[Tree, ...]]:
    """Yield each sequence of neighbouring trees: the statements, and the children of every node."""
    stack = [statements]
    while stack:
        run = stack.pop()
        yield run
        stack.extend(tuple(part for part in tree[1:] if isinstance(part, tuple)) for tree in run if len(tree) > 1)


def _has_run(run: tuple[Tree, ...], part: tuple[Tree, ...]) -> bool:
    return any(run[at : at + len(part)] == part for at in range(len(run) - len(part) + 1))
