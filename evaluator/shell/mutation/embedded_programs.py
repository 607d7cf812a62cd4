"""Mutations inside quoted programs of other languages (awk, sed, perl, jq) and inside regular expressions.

These programs are not parsed but matched with patterns. Each rule uses syntax that the languages share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from evaluator.shell.mutation.script import CallSite, Edit, Edits, Script, Word
from evaluator.shell.mutation.word_mutations import PATTERN_READERS, PROGRAM_RUNNERS


class ProgramRule(NamedTuple):
    """A rule that replaces each match of `pattern` by each of `texts`, which are templates of the match."""

    operator: str
    pattern: re.Pattern[str]
    texts: tuple[str, ...]


_PROGRAM_RULES: Final = (
    ProgramRule("compare", re.compile(r"(?<=[\s\w)\]])(\s*)>(\s+|(?=\d))(?!=)(?![\"/&])"), (r"\1>=\2",)),
    ProgramRule("compare", re.compile(r"(?<=[\s\w)\]])(\s*)<(\s+|(?=\d))(?!=)"), (r"\1<=\2",)),
    ProgramRule("compare", re.compile(r">=(?!\w)"), (">",)),
    ProgramRule("compare", re.compile(r"(?<![$<])<=(?!\w)"), ("<",)),
    ProgramRule("compare", re.compile(r"(?<![!=<>])==(?!=)"), ("!=",)),
    ProgramRule("compare", re.compile(r"!="), ("==",)),
    ProgramRule("compare", re.compile(r"!~"), ("~",)),
    ProgramRule("and-or", re.compile(r"&&"), ("||",)),
    ProgramRule("and-or", re.compile(r"\|\|"), ("&&",)),
    ProgramRule(
        "drop-condition", re.compile(r"(?:[^\s{}()&|;]+ [^\s{}()&|;]+ [^\s{}()&|;]+|[^\s{}()&|;]+) && "), ("",)
    ),
    ProgramRule("drop-condition", re.compile(r" && [^\s{}()&|;]+(?: [^\s{}()&|;]+ [^\s{}()&|;]+)?(?= [{)]|\Z)"), ("",)),
    ProgramRule("drop-negation", re.compile(r"!(?=[\w(])"), ("",)),
    ProgramRule(
        "number", re.compile(r"(?<![\w$.{\[%\\@\"-])(?<!\d,)(?<![*/=] )(?<!\] = )\d{1,8}(?![\w\"\]-])"), ("+1", "-1")
    ),
    ProgramRule("number", re.compile(r"(?<=[<>!=]= )\d{1,8}(?![\w\"\]-])"), ("+1", "-1")),
    ProgramRule("number", re.compile(r"(?<=\([a-z] = )\d{1,8}"), ("+1", "-1")),
    ProgramRule("field", re.compile(r"(?<=\$)\d\b"), ("+1", "-1")),
    ProgramRule("field", re.compile(r"(?<=\$F\[)\d(?=\])"), ("+1",)),
    ProgramRule("increment", re.compile(r"\+\+"), ("",)),
    ProgramRule("arithmetic", re.compile(r"\+="), ("-=", "=")),
    ProgramRule("drop-statement", re.compile(r"; next\b"), ("",)),
    ProgramRule("format", re.compile(r"%0(\d)d"), ("%d",)),
    ProgramRule("format", re.compile(r"%\.(\d)f"), ("%d",)),
    ProgramRule("quantifier", re.compile(r"\b(any|all)\("), ("all(", "any(")),
)

_PATTERN_RULES: Final = (
    ProgramRule("anchor", re.compile(r"(?:(?<=\A)|(?<=[/(|'\s~]))\^(?=[^\]\s])"), ("",)),
    ProgramRule("anchor", re.compile(r"(?<![\s(])\$(?=\Z|[/)|,]|\\\))(?!['\"])"), ("",)),
    ProgramRule("regex", re.compile(r"(?<!\[)\\\.(?=\w|\()"), (".",)),
    ProgramRule("regex", re.compile(r"(?<=[\])}\w.])\+(?![+=\d\s])"), ("*",)),
    ProgramRule("regex", re.compile(r"(?<=[\])])\*"), ("",)),
    ProgramRule("regex", re.compile(r"(?<=\w)\?(?=\$|\Z)"), ("",)),
    ProgramRule("regex", re.compile(r"\{(\d)\}"), ("{+1}", "{-1}", "*")),
    ProgramRule("regex", re.compile(r"\[\[:(blank|space):\]\]"), (" ",)),
    ProgramRule("regex", re.compile(r"\[\^([^\]])\]\*"), (".*",)),
)

_SED_RULES: Final = (
    ProgramRule("sed-flag", re.compile(r"(?<=/)g(?=\Z|;)"), ("",)),
    ProgramRule("sed-flag", re.compile(r"(?<=[\d/])p(?=\Z|;)"), ("",)),
    ProgramRule("number", re.compile(r"(?<![\w\\{\[%:.-])\d{1,8}(?![\d\]}-])"), ("+1", "-1")),
)


def changes_of_languages(script: Script) -> Iterator[Edits]:
    """Yield every change inside a quoted program or pattern."""
    for call in script.calls:
        for word in _quoted(call):
            rules = [*(_PROGRAM_RULES if call.name in PROGRAM_RUNNERS - {"sed"} else ()), *_PATTERN_RULES]
            if call.name == "sed":
                rules += _SED_RULES
            strings = _strings(word) if call.name in PROGRAM_RUNNERS - {"sed"} else ()
            for rule in rules:
                changes = _matches(rule, word, len(word.quote))
                if rule.operator == "number":
                    yield from (each for each in changes if not any(each.edits[0].start in span for span in strings))
                else:
                    yield from changes
            if call.name in PATTERN_READERS:
                yield from _widened(word)
    for node in script.nodes():
        if node.type == "regex" and node.parent is not None and node.parent.type == "binary_expression":
            place = Word(node.start_byte, node.end_byte, script.source(node))
            for rule in _PATTERN_RULES:
                yield from _matches(rule, place, 0)


def _strings(word: Word) -> list[range]:
    """Return the positions of double-quoted texts inside a single-quoted program. Numbers in them are not code."""
    if word.quote != "'":
        return []
    found = re.finditer(r'"(?:\\.|[^"\\])*"', word.raw)
    return [range(word.start + each.start(), word.start + each.end()) for each in found]


def _quoted(call: CallSite) -> Iterator[Word]:
    """Yield the words that hold a program or a pattern: quoted words, and an unquoted first operand."""
    if call.name not in PROGRAM_RUNNERS | PATTERN_READERS:
        return
    operand = next((word for word in call.words if not word.raw.startswith("-")), None)
    for word in call.words:
        if (word.quote and len(word.raw) > 2) or (word is operand and word.is_plain):
            yield word


def _matches(rule: ProgramRule, word: Word, quote: int) -> Iterator[Edits]:
    inner = word.raw[quote : len(word.raw) - quote]
    for found in rule.pattern.finditer(inner):
        for template in rule.texts:
            text = _filled(found, template)
            if text is not None and text != found[0]:
                start = word.start + quote
                yield Edits(rule.operator, (Edit(start + found.start(), start + found.end(), text),))


def _filled(found: re.Match[str], template: str) -> str | None:
    """Expand a template with the groups of a match, or add or subtract 1 from the matched number.

    Return None if the number would be below zero.
    """
    step = re.search(r"([+-])1\Z|\{([+-])1\}", template)
    if step is None:
        return found.expand(template)
    digits = found[1] if found.re.groups else found[0]
    number = int(digits) + (1 if "+" in step[0] else -1)
    if number < 0:
        return None
    text = str(number).zfill(len(digits) if digits.startswith("0") and len(digits) > 1 else 0)
    return f"{{{text}}}" if template.startswith("{") else text


def _widened(word: Word) -> Iterator[Edits]:
    """Yield the pattern without its first character, and without its last."""
    quote = len(word.quote)
    if re.fullmatch(r"\"?[\w /:.-]{4,}\"?", word.raw[quote : len(word.raw) - quote]):
        yield Edits("pattern", (Edit(word.start + quote, word.start + quote + 1),))
        yield Edits("pattern", (Edit(word.end - quote - 1, word.end - quote),))
