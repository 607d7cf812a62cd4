"""Mutate the programs of other languages (awk, sed, perl, jq) and the regular expressions in a shell command.

This module finds the text to change with regular expressions, and not with a parser for each language. This is possible
because these languages share much of their syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from evaluator.shell.mutation.script import CallSite, Edits, Script, SourceWord, shifted
from evaluator.shell.mutation.word_mutations import PATTERN_READERS, PROGRAM_RUNNERS


class ProgramRule(NamedTuple):
    """A rule that makes mutations by replacing each match of `pattern` by each of `texts`.

    The texts are templates for `_expand_template`. `operator` is the name of the mutation operator.
    """

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


def changes_of_embedded_programs(script: Script) -> Iterator[Edits]:
    """Yield every change inside the programs (such as awk programs) and patterns that a command contains as words."""
    for call in script.calls:
        for word in _quoted(call):
            yield from _changes_of_word(call.name, word)
    for node in script.nodes():
        if node.type == "regex" and node.parent is not None and node.parent.type == "binary_expression":
            word = SourceWord(node.start_byte, node.end_byte, script.source(node))
            for rule in _PATTERN_RULES:
                yield from _matches(rule, word, 0)


def _changes_of_word(utility: str, word: SourceWord) -> Iterator[Edits]:
    is_program = utility in PROGRAM_RUNNERS - {"sed"}
    rules = (*(_PROGRAM_RULES if is_program else ()), *_PATTERN_RULES, *(_SED_RULES if utility == "sed" else ()))
    strings = _strings(word) if is_program else ()
    for rule in rules:
        for change in _matches(rule, word, len(word.quote)):
            if rule.operator != "number" or not any(change.edits[0].start in span for span in strings):
                yield change
    if utility in PATTERN_READERS:
        yield from _shortened_pattern(word)


def _strings(word: SourceWord) -> list[range]:
    """Return the positions of double-quoted texts in a single-quoted program.

    A number in such a text is data, and not part of the program.
    """
    if word.quote != "'":
        return []
    strings = re.finditer(r'"(?:\\.|[^"\\])*"', word.raw)
    return [range(word.start + string.start(), word.start + string.end()) for string in strings]


def _quoted(call: CallSite) -> Iterator[SourceWord]:
    """Yield the words of a call that may contain a program or a pattern.

    These are all quoted words, and the call's first operand if it is a plain word.
    """
    if call.name not in PROGRAM_RUNNERS | PATTERN_READERS:
        return
    operand = next((word for word in call.words if not word.raw.startswith("-")), None)
    for word in call.words:
        if (word.quote and len(word.raw) > 2) or (word is operand and word.is_plain):
            yield word


def _matches(rule: ProgramRule, word: SourceWord, quote: int) -> Iterator[Edits]:
    inner = word.raw[quote : len(word.raw) - quote]
    for match in rule.pattern.finditer(inner):
        for template in rule.texts:
            text = _expand_template(match, template)
            if text is not None and text != match[0]:
                yield Edits(rule.operator, (word.edit((quote + match.start(), quote + match.end()), text),))


def _expand_template(match: re.Match[str], template: str) -> str | None:
    """Return a template with the groups of a match inserted. A template with `+1` or `-1` changes the matched number.

    Return None if the number would be below zero.
    """
    step = re.search(r"([+-])1\Z|\{([+-])1\}", template)
    if step is None:
        return match.expand(template)
    text = shifted(match[1] if match.re.groups else match[0], 1 if "+" in step[0] else -1)
    return f"{{{text}}}" if text is not None and template.startswith("{") else text


def _shortened_pattern(word: SourceWord) -> Iterator[Edits]:
    """Yield changes that remove the first or the last character of a pattern, if the pattern is literal text."""
    quote = len(word.quote)
    if re.fullmatch(r"\"?[\w /:.-]{4,}\"?", word.raw[quote : len(word.raw) - quote]):
        last = len(word.raw) - quote
        yield Edits("pattern", (word.edit((quote, quote + 1)),))
        yield Edits("pattern", (word.edit((last - 1, last)),))
