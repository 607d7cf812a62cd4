"""No regular expression takes more than time in proportion to the text, because the text can be a contributor's.

The analysis reads the patterns and measures no time. Pydantic checks the patterns of records, in linear time.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.documents.pattern_finder import patterns_of
from tests.documents.pattern_paths import Use, text_with_many_paths

PACKAGE: Final = Path(__file__).parents[2] / "evaluator"

NOT_FOR_CONTRIBUTORS: Final = {
    "evaluator/judges/consensus/words_of_form.py": "reads instructions of tasks, which maintainers write",
    "evaluator/shell/mutation/": "mutates references, which maintainers write",
    "evaluator/submissions/baselines/": "reads instructions of tasks, which maintainers write",
    "evaluator/suites/audit_report.py": "reads tasks and the evidence of references",
    "evaluator/suites/importers/": "reads a data set that a maintainer chooses",
}
"""Folders and files whose patterns see no text of a contributor, each with the reason."""

NOT_CONSTANT: Final = {
    ("evaluator/judges/side_effects.py", "_NamedPaths"): "the globs are those of a suite, and their stars are atomic",
    ("evaluator/leaderboard/site_pages.py", "Shells"): "the pattern is a choice of fixed texts",
    ("evaluator/pipeline/pull_requests/appeals.py", "parse_appeal"): "the patterns are names of at most 64 characters",
    ("evaluator/shell/options.py", "_options"): "the patterns are in a table of ours and match two characters at most",
}
"""Patterns that only a call builds, each with the reason why it may see a contributor's text."""

EXCEPTIONS: Final = {
    ("evaluator/metrics/texts.py", "_TOKEN"): "if a quote or a number fails, the text after it has another token",
    ("evaluator/metrics/texts.py", "_KINDS"): "the pattern fails only if the text has at most one more separator",
    ("evaluator/sandbox/docker_client.py", "_WORK"): "the text is the path of a request of ours",
    ("evaluator/shell/fast_path.py", "_LIST"): "the outer loop gets only text that the possessive inner loop refused",
    ("evaluator/submissions/parsing/toml_nesting.py", "_TEXT"): "a string without an end is one match up to the end",
}
"""Patterns for which the analysis finds more paths than the matcher tries, each with the reason."""

SLOW: Final = [
    (r"a*a*b", 0, Use.AT_ONE_PLACE),
    (r"(a*)*b", 0, Use.AT_ONE_PLACE),
    (r"(?:ab|a|b)*c", 0, Use.COMPLETE),
    (r"(?:a{0,3})*b", 0, Use.COMPLETE),
    (r"(?:(\w+) ?)*$", 0, Use.AT_ONE_PLACE),
    (r"a*a*", 0, Use.COMPLETE),
    (r"a*b", 0, Use.FIRST),
    (r"a*+b", 0, Use.FIRST),
    (r"\d+%|\d", 0, Use.ALL),
    (r"\s*\n\s*", 0, Use.ALL),
    (r"\$\{[^}]*\}", 0, Use.FIRST),
    (r"<!--.*?-->", re.DOTALL, Use.ALL),
    (rb"'(.+)': No such file$", re.MULTILINE, Use.ALL),
    (r"trap -- '\{ builtin printf (.|\n)*? EXIT", 0, Use.FIRST),
]
"""Patterns with many paths through one text."""

FAST: Final = [
    (r"a*b", 0, Use.AT_ONE_PLACE),
    (r"(a*)(a*)", 0, Use.AT_ONE_PLACE),
    (r"a*+a*+b", 0, Use.COMPLETE),
    (r"a*.*", re.DOTALL, Use.COMPLETE),
    (r"[a-z]+(,[a-z]+)*", 0, Use.COMPLETE),
    (r"'(?:[^'\\]|\\.)*+'", re.DOTALL, Use.AT_ONE_PLACE),
    (r"(?:[^,;]++|;[^,]|,)++(?=\s|\Z)", 0, Use.AT_ONE_PLACE),
    (r"[^ ]+", 0, Use.ALL),
    (r"a{1,30}b", 0, Use.FIRST),
    (r"^a*b", 0, Use.ALL),
    (r"^a*b", re.MULTILINE, Use.ALL),
    (r"\ba+!", 0, Use.FIRST),
    (r"(?<!a)a*b", 0, Use.FIRST),
    (r"(?<!\s)[^\S\n]*+\n\s*", 0, Use.ALL),
    (r"\$\{(?:[^}$]|\$(?!\{))*+\}", 0, Use.FIRST),
]
"""Similar patterns for which the matcher's work is in proportion to the text."""


@pytest.mark.parametrize(("pattern", "flags", "use"), SLOW)
def test_a_slow_pattern_is_found(pattern: str | bytes, flags: int, use: Use) -> None:
    assert text_with_many_paths(pattern, flags, use) is not None


@pytest.mark.parametrize(("pattern", "flags", "use"), FAST)
def test_a_fast_pattern_is_accepted(pattern: str | bytes, flags: int, use: Use) -> None:
    assert text_with_many_paths(pattern, flags, use) is None


@pytest.mark.slow
def test_no_pattern_has_many_paths_through_one_text() -> None:
    found = [pattern for pattern in patterns_of(PACKAGE) if not pattern.module.startswith(tuple(NOT_FOR_CONTRIBUTORS))]
    constant = [(pattern, pattern.pattern) for pattern in found if pattern.pattern is not None]
    assert len(constant) > 100
    assert {(pattern.module, pattern.place) for pattern in found if pattern.pattern is None} == NOT_CONSTANT.keys()
    slow = {
        (pattern.module, pattern.place): (use.value, text)
        for pattern, value in constant
        for use in pattern.uses
        if (text := text_with_many_paths(value, pattern.flags, use))
    }
    assert {place: fault for place, fault in slow.items() if place not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() <= slow.keys()
