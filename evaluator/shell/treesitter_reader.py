"""Parse commands with tree-sitter, for edits of their source and for the texts in them.

tree-sitter parses a usual command in 0.02 ms, and even a hostile command in linear time. Its tree has the position of
each part, also of a command with errors. Its grammar differs from the grammar of Bash, so `bash_parser` reads commands
for everything that depends on their meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse_bytes(source: bytes) -> Node:
    """Parse a command with tree-sitter and return the root node."""
    return _parser().parse(source).root_node


def joined_nodes(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    """Group the syntax nodes of a call by word: adjacent nodes form one word.

    This is necessary because tree-sitter may split a word such as `$a/$b` into several nodes.
    """
    at = 0
    while at < len(nodes):
        end = at + 1
        while end < len(nodes) and nodes[end].start_byte == nodes[end - 1].end_byte:
            end += 1
        yield nodes[at:end]
        at = end
