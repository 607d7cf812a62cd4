"""Tell whether a command can be reconstructed from its syntax tree.

A tree that has every character of the command but blanks, comments and line ends was read completely. A parser that
skips a part without an error, or that misreads quotes, leaves characters outside of the tree.
"""

from __future__ import annotations

import re
from typing import Any, Final

from evaluator.shell.bashlex_reader import parse_trees
from evaluator.shell.syntax import UnreadableError

_COMMENT: Final = re.compile(r"(^|\s)#[^\n]*")
_LEAVES: Final = frozenset({"word", "assignment", "operator", "pipe", "reservedword", "heredoc", "parameter"})


def is_reconstructed(command: str) -> bool:
    """Return whether the leaves of bashlex's tree of a command, joined in order, are the command without its blanks."""
    try:
        trees = parse_trees(command)
    except UnreadableError:
        return False
    covered = bytearray(len(command))
    stack = list(trees)
    while stack:
        node = stack.pop()
        begin, end = node.pos
        if node.kind in _LEAVES:
            covered[begin:end] = b"x" * (end - begin)
        elif node.kind == "redirect":
            _cover_redirect(covered, node)
        else:
            stack += _children(node)
    rest = "".join("x" if covered[place] else letter for place, letter in enumerate(command))
    return not _COMMENT.sub(r"\1", rest).replace("x", "").strip()


def _cover_redirect(covered: bytearray, node: Any) -> None:
    begin, end = node.pos
    covered[begin:end] = b"x" * (end - begin)
    if node.heredoc is not None:
        begin, end = node.heredoc.pos
        covered[begin:end] = b"x" * (end - begin)


def _children(node: Any) -> list[Any]:
    children = list(getattr(node, "parts", ()) or ())
    children += list(getattr(node, "list", ()) or ())
    children += list(getattr(node, "redirects", ()) or ())
    for name in ("command", "body", "output"):
        child = getattr(node, name, None)
        if hasattr(child, "pos"):
            children.append(child)
    return children
