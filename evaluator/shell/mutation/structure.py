"""Mutate a command's shell syntax: pipelines, lists, negations, redirections, `[ ]` tests, expansions and loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tree_sitter import Node

from evaluator.shell.mutation.script import Edit, Edits, Script, removal, shifted

_STATEMENTS: Final = frozenset({"program", "do_group", "compound_statement", "subshell", "if_statement", "else_clause"})
_ENDS: Final = frozenset({";", "\n", "&"})
_KEYWORDS: Final = frozenset({"do", "done", "{", "}", "(", ")", "if", "then", "fi", "else"})
_ASIDE: Final = frozenset({"comment", "elif_clause", "else_clause", "heredoc_body"})

_COMPARED: Final[Mapping[str, str]] = {
    "-gt": "-ge", "-ge": "-gt", "-lt": "-le", "-le": "-lt", "-eq": "-ne", "-ne": "-eq",
    "==": "!=", "!=": "==", "=": "!=",
}  # fmt: skip
_ARITHMETIC: Final[Mapping[str, str]] = {">": ">=", ">=": ">", "<": "<=", "<=": "<", "+": "-", "-": "+", "&": "|"}
_TESTED: Final[Mapping[str, tuple[str, ...]]] = {
    "-f": ("-e", "-d"), "-d": ("-e", "-f"), "-e": ("-f", "-d"), "-L": ("-e",), "-h": ("-e",), "-z": ("-n",),
    "-n": ("-z",), "-r": ("-e",), "-x": ("-e",), "-w": ("-e",), "-s": ("-e",), "-u": ("-g",), "-g": ("-u",),
}  # fmt: skip
_EXPANDED: Final[Mapping[str, str]] = {"#": "##", "##": "#", "%": "%%", "%%": "%", "//": "/"}
_DROPPED_EXPANSIONS: Final = frozenset({"#", "##", "%", "%%", "/", "//", ",", ",,", "^", "^^"})
_REDIRECTED: Final[Mapping[str, str]] = {">": ">>", ">>": ">", "&>": "&>>", "&>>": "&>"}
_LOOPS: Final[Mapping[str, str]] = {"while": "until", "until": "while"}


_CLEANING_UP: Final = re.compile(r"rm (?:-\w+ )?(?:/tmp/\S+|\"\$(?:t|tmp|temp|dir)\")\Z")


def changes_of_structure(script: Script) -> Iterator[Edits]:
    """Yield every mutation of a command's shell syntax, in source order."""
    for node in script.nodes():
        if node.type in _STATEMENTS:
            yield from _statements(script, node)
        mutate = _BY_TYPE.get(node.type)
        if mutate is not None:
            yield from mutate(script, node)


def _change(operator: str, *edits: Edit) -> Edits:
    return Edits(operator, edits)


def _swap(operator: str, node: Node, text: str) -> Edits:
    return _change(operator, Edit(node.start_byte, node.end_byte, text))


def _statements(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes to a block of statements, such as a loop's body.

    Each change removes one of several statements, or the `&` after a statement.
    """
    children = node.children
    conditions = node.children_by_field_name("condition")
    statements = [
        child for child in children if child.type not in _ENDS | _KEYWORDS | _ASIDE and child not in conditions
    ]
    for child in statements if len(statements) > 1 else ():
        if is_cleaning_up(script.source(child)):
            continue
        after = child.next_sibling
        end = after.end_byte if after is not None and after.type in _ENDS else child.end_byte
        yield _change("drop-command", removal(script.text, child.start_byte, end))
    for child in children:
        if child.type == "&":
            yield _change("drop-background", removal(script.text, child.start_byte, child.end_byte))


def is_cleaning_up(source: str) -> bool:
    """Return whether a statement only removes temporary files.

    No mutation removes such a statement, because judges ignore temporary files.
    """
    return _CLEANING_UP.match(source) is not None


def _pipeline(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes that remove one stage of a pipeline, except the first stage.

    Without the first stage, the second stage would have no input. This is not a plausible mistake.
    """
    for bar, stage in zip(node.children, node.children[1:], strict=False):
        if bar.type in ("|", "|&"):
            yield _change("drop-stage", removal(script.text, bar.start_byte, stage.end_byte))


def _list(script: Script, node: Node) -> Iterator[Edits]:
    left, operator, right = node.children[0], node.children[1], node.children[-1]
    if is_cleaning_up(script.source(right)):
        return
    yield _swap("and-or", operator, "||" if operator.type == "&&" else "&&")
    yield _change("drop-command", Edit(left.start_byte, right.start_byte))
    yield _change("drop-command", removal(script.text, operator.start_byte, right.end_byte))


def _negated(script: Script, node: Node) -> Iterator[Edits]:
    yield _change("drop-negation", Edit(node.children[0].start_byte, node.children[-1].start_byte))


def _redirect(script: Script, node: Node) -> Iterator[Edits]:
    for child in node.children:
        if child.type in _REDIRECTED and "/dev/" not in script.source(node):
            yield _swap("append", child, _REDIRECTED[child.type])
    targets = node.children_by_field_name("destination")
    if targets:
        yield _change("drop-redirect", removal(script.text, node.start_byte, targets[0].end_byte))


def _assignment(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes to the assignment of a variable.

    They remove an assignment before a command (`IFS= read line`), or reorder an assigned list such as PATH.
    """
    after = node.next_sibling
    if node.parent is not None and node.parent.type == "command" and after is not None:
        yield _change("drop-assignment", Edit(node.start_byte, after.start_byte))
    yield from _reversed(script, node)


def _declaration(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes to a declaration such as `local a b`. Each removes one of several names, or the keyword `local`."""
    keyword, *words = node.children
    if words:
        yield _change("drop-declaration", Edit(keyword.start_byte, words[0].start_byte))
    for word in words if len(words) > 1 else ():
        yield _change("drop-assignment", removal(script.text, word.start_byte, word.end_byte))


def _reversed(script: Script, node: Node) -> Iterator[Edits]:
    """Yield a change to an assigned list with colons, such as PATH. It moves the list's first entry to the end."""
    value = node.child_by_field_name("value")
    first, colon, rest = script.source(value).partition(":") if value is not None else ("", "", "")
    if value is not None and colon and rest and "'" not in rest and '"' not in rest:
        yield _swap("order", value, f"{rest}:{first}")


def _unary(script: Script, node: Node) -> Iterator[Edits]:
    first = node.children[0]
    if first.type == "!":
        yield _change("drop-negation", Edit(first.start_byte, node.children[1].start_byte))
    for text in _TESTED.get(script.source(first), ()):
        yield _swap("test", first, text)


def _binary(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes to an expression with two sides. They replace the operator, or remove one side of `&&` or `||`."""
    left, operator, right = node.children[0], node.children[1], node.children[-1]
    text = script.source(operator)
    if text in ("&&", "||"):
        yield _swap("and-or", operator, "||" if text == "&&" else "&&")
        yield _change("drop-condition", Edit(left.start_byte, right.start_byte))
        yield _change("drop-condition", removal(script.text, operator.start_byte, right.end_byte))
    elif text in _COMPARED:
        yield _swap("compare", operator, _COMPARED[text])
    elif _is_arithmetic(node) and text in _ARITHMETIC:
        yield _swap("compare" if text[0] in "<>" else "arithmetic", operator, _ARITHMETIC[text])
    elif text in ("<", ">"):
        yield _swap("compare", operator, "<" if text == ">" else ">")


def _is_arithmetic(node: Node | None) -> bool:
    while node is not None and node.type not in ("test_command", "command_substitution"):
        if node.type == "arithmetic_expansion" or (node.children and node.children[0].type == "(("):
            return True
        node = node.parent
    return False


def _number(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes that add 1 to a number or subtract 1 from it.

    Omit numbers in the words of a call. An assignment such as `found=1` does not become `found=2`, because both values
    mean true.
    """
    text = script.source(node)
    parent = node.parent
    if parent is None or parent.type in ("command", "file_redirect") or not text.isdigit() or _is_factor(script, node):
        return
    is_truth = parent.type == "variable_assignment" and text == "1"
    for step in (1, -1):
        number = shifted(text, step)
        if number is not None and not (is_truth and step == 1):
            yield _swap("number", node, number)


def _is_factor(script: Script, node: Node) -> bool:
    """Return whether a number follows `*` or `/`. People rarely write such a number wrong by 1."""
    before = node.prev_sibling
    return before is not None and script.source(before) in ("/", "*")


def _expansion(script: Script, node: Node) -> Iterator[Edits]:
    """Yield changes to the operator in a variable's expansion. For example, `${f##*/}` becomes `${f#*/}` or `${f}`."""
    for child in node.children[2:]:
        if child.type in _EXPANDED:
            yield _swap("expansion", child, _EXPANDED[child.type])
        if child.type in _DROPPED_EXPANSIONS:
            yield _change("expansion", Edit(child.start_byte, node.end_byte - 1))
            return


def _loop(script: Script, node: Node) -> Iterator[Edits]:
    keyword = node.children[0]
    yield _swap("loop", keyword, _LOOPS[keyword.type])


def _case_item(script: Script, node: Node) -> Iterator[Edits]:
    yield _change("drop-branch", Edit(node.start_byte, node.end_byte))


def _branch(script: Script, node: Node) -> Iterator[Edits]:
    yield _change("drop-branch", removal(script.text, node.start_byte, node.end_byte))


def _leave(script: Script, node: Node) -> Iterator[Edits]:
    text = script.source(node)
    if text in ("continue", "break"):
        yield _swap("loop", node, "break" if text == "continue" else "continue")


_BY_TYPE: Final[Mapping[str, Callable[[Script, Node], Iterator[Edits]]]] = {
    "pipeline": _pipeline,
    "list": _list,
    "negated_command": _negated,
    "file_redirect": _redirect,
    "variable_assignment": _assignment,
    "declaration_command": _declaration,
    "unary_expression": _unary,
    "binary_expression": _binary,
    "number": _number,
    "expansion": _expansion,
    "while_statement": _loop,
    "case_item": _case_item,
    "else_clause": _branch,
    "elif_clause": _branch,
    "command": _leave,
}
