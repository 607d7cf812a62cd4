"""TOML that costs Python's parser too much time or memory is refused before the parser reads it."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluator.submissions import check_submission
from evaluator.submissions.parsing.toml_nesting import nesting_faults
from tests.properties import examples
from tests.submissions.submission_folders import MANIFEST, SUITES, make_folder

SMALL = 3
MARKS = st.sampled_from([*"ab..=[]{}# ,\n\\", '"', "'", '"""', "'''"])


def parsed(text: str) -> tuple[object, int]:
    """Return the value that tomllib reads, or None for invalid TOML.

    Also return the number of parts of the longest key that tomllib began to parse.
    """
    parser, parts = importlib.import_module("tomllib._parser"), [0]
    key, part = parser.parse_key, parser.parse_key_part

    def parse_key(*arguments: Any) -> Any:
        parts.append(0)
        return key(*arguments)

    def parse_key_part(*arguments: Any) -> Any:
        position = part(*arguments)
        parts[-1] += 1
        return position

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "parse_key", parse_key)
        patch.setattr(parser, "parse_key_part", parse_key_part)
        try:
            return tomllib.loads(text), max(parts)
        except tomllib.TOMLDecodeError:
            return None, max(parts)


def depth_of(value: object) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if children is None else 1 + max(map(depth_of, children), default=0)


@example(text="a.b.a.b=1")
@example(text='a=""""b"""\na.b.a.b=1')
@example(text="a=''''b''''\na.b.a.b=1")
@example(text='a="\\"#"\n"a"."#".\'"\'.b=1')
@example(text='a="""\\"""" #"""\n"""\na.b.a.b=1')
@example(text="#'\na.b.a.b=1")
@given(text=st.lists(MARKS, max_size=60).map("".join))
@settings(max_examples=examples(800))
def test_no_key_reaches_the_parser_that_is_longer_than_allowed(text: str) -> None:
    """Every key with too many parts is reported, even before an error in the text. A valid flat text is not refused."""
    value, parts = parsed(text)
    messages = [message for _, message in nesting_faults(text, SMALL)]
    assert parts <= SMALL or any("parts between dots" in message for message in messages)
    assert value is None or depth_of(value) > SMALL or not messages


TOO_LONG = {
    "key": ("a." * 31_900 + "a = 1\n", "a key of 31,901 parts"),
    "table": ("[" + "a." * 31_900 + "a]\n", "a key of 31,901 parts"),
    "array of tables": ("[[" + "a." * 31_900 + "a]]\n", "a key of 31,901 parts"),
    "inline table": ("a = {" + "a." * 31_900 + "a = 1}\n", "a key of 31,901 parts"),
    "quoted": ('"a".' * 15_900 + "a = 1\n", "a key of 15,901 parts"),
    "spaced": ("a . " * 15_900 + "a = 1\n", "a key of 15,901 parts"),
    "arrays": ("a = " + "[" * 300 + "]" * 300 + "\n", "arrays or tables nested too deep"),
    "inline tables": ("a = " + "{a = " * 300 + "1" + "}" * 300 + "\n", "arrays or tables nested too deep"),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_what_is_nested_too_deep_is_named_at_its_line_and_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(f"parsed: {text[:100]}")

    monkeypatch.setattr(tomllib, "loads", refuse)
    text, message = TOO_LONG[case]
    folder = make_folder(tmp_path, b'# "a\n' + text.encode() + MANIFEST)
    (problem,) = (each for each in check_submission(folder, SUITES) if each.path.name == "submission.toml")
    assert problem.line == 2
    assert message in problem.message
    assert "at most 16" in problem.message


def test_dots_and_brackets_in_texts_and_comments_are_none(tmp_path: Path) -> None:
    dots = f"description = '''\n{'a.' * 500}{'[{' * 200}'''\n# {'a.' * 500}{'[' * 200}\n"
    folder = make_folder(tmp_path, dots.encode() + MANIFEST)
    assert check_submission(folder, SUITES) == []
