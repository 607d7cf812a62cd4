"""Mutate single words of a command, for any utility: change numbers, globs, paths and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from evaluator.shell.mutation.script import CallSite, Edit, Edits, Script, SourceWord, shifted

PROGRAM_RUNNERS: Final = frozenset({"awk", "gawk", "sed", "perl", "jq", "bc"})
"""Utilities that take a program in another language as a quoted word."""

PATTERN_READERS: Final = frozenset({"grep", "egrep", "zgrep", "pgrep", "pkill"})
"""Utilities that take a regular expression as a quoted word."""

_NUMBER: Final = re.compile(
    r"(?<![\w$.{%\\])\d+(?![\w%])|(?<=[,:=./@%-])\d+(?![\w%])|(?<=-[a-zA-Z])\d+|\d+(?=[cwbkMG]\Z)"
)
_EXTENSION: Final = re.compile(r"\*\.(?=\w)")
_CLASS: Final = re.compile(r"\[([A-Za-z]{2,4})\]")
_SAFE_UNQUOTED: Final = re.compile(r"[\w*?.\[\]/@%+=:,~-]+\Z")
_EXPANDING: Final = re.compile(r"[^\s;|&<>()'\\*?\[#]+\Z")
_SHELL_PART: Final = re.compile(r"\$\(.*\)|\$\{[^}]*\}|`[^`]*`", re.DOTALL)
_ONE_WORD: Final = re.compile(
    r"\d+|\{\d+\.\.\d+\}|\$\(\(.*\)\)|\$\(.*\| ?wc -[lcw]\)"
    r"|\$\((?:mktemp|date|seq|pgrep|wc|id -u|stat -c '?%[aus])\b[^|]*\)",
    re.DOTALL,
)
_OCTAL: Final = re.compile(r"[-/]?[0-7]{3,4}\Z")
_MODE_UTILITIES: Final = frozenset({"chmod", "install", "mkdir", "umask", "find"})
"""Utilities with octal modes. A wrong mode has a wrong bit, so modes are not changed by 1."""

_SORT_KEY: Final = re.compile(r"(?:-k)?(\d+)[.,\da-zA-Z]*\Z")
_IGNORED_NUMBERS: Final = frozenset({"sleep", "timeout", "exit", "return", "kill"})
"""Utilities for which another number does not change the evidence, or not enough to count as wrong."""


def changes_of_words(script: Script) -> Iterator[Edits]:
    """Yield every mutation of a single word in a command, first for the words of calls, then for all other words."""
    safe_names = _unsplit_variables(script)
    for call in script.calls:
        for word in call.words:
            yield from _word(call, word, safe_names)
    for word in script.loose_words:
        yield from (*_numbers(word), *_globs(word), *_paths(word), *_unquoted(word, safe_names))
    for word in _test_strings(script):
        yield from _unquoted(word, safe_names)


def _unsplit_variables(script: Script) -> frozenset[str]:
    """Return the names of a command's variables that need no quotes, because they hold one word, such as a number."""
    names = set()
    for node in script.nodes():
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if node.type == "variable_assignment" and name is not None and value is not None:
            if _ONE_WORD.fullmatch(script.source(value).strip('"')):
                names.add(script.source(name))
        elif node.type == "for_statement":
            values = map(script.source, node.children_by_field_name("value"))
            if all(map(_ONE_WORD.fullmatch, values)):
                names.add(script.source(node.children_by_field_name("variable")[0]))
    return frozenset(names)


def _test_strings(script: Script) -> Iterator[SourceWord]:
    """Yield the quoted strings in `[ ]` tests. Omit `[[ ]]` tests, because expansions in them need no quotes."""
    for node in script.nodes():
        if node.type != "test_command" or script.source(node).startswith("[["):
            continue
        stack = list(node.children)
        while stack:
            child = stack.pop()
            if child.type == "string":
                yield SourceWord(child.start_byte, child.end_byte, script.source(child))
            elif child.type.endswith("_expression"):
                stack.extend(child.children)


def _word(call: CallSite, word: SourceWord, safe_names: frozenset[str]) -> Iterator[Edits]:
    is_language = (call.name in PROGRAM_RUNNERS | PATTERN_READERS and word.quote != "") or call.name == "sed"
    is_mode = call.name in _MODE_UTILITIES and _OCTAL.match(word.raw)
    if not is_language and call.name not in _IGNORED_NUMBERS and not is_mode:
        # Of a sort key, only the first field changes here. `utility_mutations` removes the last field.
        key = _SORT_KEY.match(word.raw) if call.name == "sort" else None
        end = word.start + key.end(1) if key else word.end
        yield from (change for change in _numbers(word) if change.edits[0].end <= end)
    if not is_language and call.name != "find":
        yield from _paths(word)
    if not is_language:
        yield from _globs(word)
    yield from _unquoted(word, safe_names)


def _change(operator: str, word: SourceWord, text: str) -> Edits:
    return Edits(operator, (Edit(word.start, word.end, text),))


def _numbers(word: SourceWord) -> Iterator[Edits]:
    """Yield changes that add 1 to a number or subtract 1 from it. A number with leading zeros keeps its width."""
    if not (word.is_plain or word.quote) or "$(" in word.raw:
        return
    for match in _NUMBER.finditer(word.raw):
        for step in (1, -1):
            text = shifted(match[0], step)
            if text is not None:
                yield Edits("number", (word.edit(match.span(), text),))


def _globs(word: SourceWord) -> Iterator[Edits]:
    """Yield changes that make a glob match more or fewer names."""
    raw, end = word.raw, -1 if word.quote else len(word.raw)
    if "*" not in raw and not _CLASS.search(raw):
        return
    for match in _EXTENSION.finditer(raw):
        yield Edits("glob", (word.edit((match.end() - 1, match.end())),))
    if _EXTENSION.search(raw):
        yield _change("glob", word, f"{raw[:end]}*{raw[end:] if word.quote else ''}")
    if raw.endswith("/*"):
        yield _change("glob", word, f"{raw}.*")
    if "**/" in raw:
        yield _change("glob", word, raw.replace("**/", "*/"))
        yield _change("glob", word, raw.replace("**/", ""))
    for match in _CLASS.finditer(raw):
        for letter in match[1]:
            yield Edits("glob", (word.edit(match.span(), letter),))


def _paths(word: SourceWord) -> Iterator[Edits]:
    """Yield changes that replace a path by its parent folder, or that remove the path's trailing slash."""
    raw = word.raw
    if not word.is_plain or "/" not in raw.strip("/") or any(letter in raw for letter in "*?[{=,:|"):
        if word.is_plain and re.fullmatch(r"[\w.][\w./-]*/", raw):
            yield _change("path", word, raw.rstrip("/"))
        return
    if raw.startswith("/dev/"):
        return
    parent = raw.rstrip("/").rpartition("/")[0]
    yield _change("path", word, parent)
    if raw.endswith("/"):
        yield _change("path", word, raw.rstrip("/"))


def _unquoted(word: SourceWord, safe_names: frozenset[str]) -> Iterator[Edits]:
    """Yield a change that removes a word's quotes, if the shell may then split the word or expand a glob in it."""
    inner = word.raw[1:-1]
    if not word.quote or not inner:
        return
    if "$" in inner and word.quote == '"':
        literal = _SHELL_PART.sub("", inner)
        names = re.findall(r"\$\{?(\w+)", inner)
        is_one_word = _ONE_WORD.fullmatch(inner) or (names and safe_names.issuperset(names))
        if not is_one_word and (not literal or _EXPANDING.match(literal)):
            yield _change("quotes", word, inner)
    elif re.search(r"[*?\[]", inner) and _SAFE_UNQUOTED.match(inner):
        yield _change("quotes", word, inner)
