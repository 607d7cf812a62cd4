"""Tests of the places that print untrusted text: all hide the same characters, and no two texts look alike."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.escaping import classify, is_hidden, printable, visible
from evaluator.github.comment.markdown import cell, code
from evaluator.judges.panel.untrusted_data import data_line
from evaluator.leaderboard.html_text import inline, plain_text

HIDDEN = (
    "\x00\x1b\x7f\x85\xad\u034f\u115f\u1160\u17b4\u180e\u200b\u202e\u2066\u2800\u3164\ufe0f\uffa0\ufeff\ue000"
    "\U000e0041\U000e0100\udcff"
)
SINKS: dict[str, Callable[[str], str]] = {
    "terminal": printable,
    "Markdown": lambda text: code(text, 10_000),
    "Markdown table": lambda text: cell(text, 10_000),
    "page": lambda text: html.unescape(re.sub("<[^>]*>", "", inline(text, 100_000))),
    "CSV and charts": plain_text,
    "prompt": lambda text: data_line([text]),
}
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from(HIDDEN + "\u0301\u0302\u093e\u20dd`|<& \n")), max_size=40)


@pytest.mark.parametrize("character", HIDDEN)
@pytest.mark.parametrize("name", SINKS)
def test_a_character_that_shows_nothing_is_written_out(name: str, character: str) -> None:
    assert is_hidden(character)
    assert character not in SINKS[name](f"a{character}b")


@pytest.mark.parametrize("name", SINKS)
@given(text=TEXTS)
def test_no_sink_lets_a_hidden_character_pass(name: str, text: str) -> None:
    """No sink prints a character that the classification hides, for example a third accent on one letter."""
    written = SINKS[name](f"a{text}")
    assert [character for character, hidden in classify(written) if hidden] == []


@pytest.mark.parametrize("name", ["terminal", "CSV and charts", "prompt"])
@given(text=TEXTS)
def test_a_sink_hides_no_more_than_the_classification(name: str, text: str) -> None:
    """A sink prints every character that the classification does not hide.

    The characters that Markdown, HTML and JSON must escape are excluded.
    """
    shown = [character for character, hidden in classify(f"a{text}") if not hidden and character not in '"\\<[']
    assert all(character in SINKS[name](f"a{text}") for character in shown)


@given(st.lists(TEXTS, min_size=2, max_size=2, unique=True))
def test_texts_that_differ_look_different_in_a_prompt_and_mean_the_same(texts: list[str]) -> None:
    assert data_line(texts[0]) != data_line(texts[1])
    assert [json.loads(data_line(text)) for text in texts] == texts


@pytest.mark.parametrize("text", ["naïve 日本語 שלום 🎉", "e\u0301\u0302", "क्षि", "plain"])
def test_living_scripts_are_shown(text: str) -> None:
    assert visible(text, lambda character: "?") == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [("e\u0301\u0302\u0303", "e\u0301\u0302?"), ("\u0301e", "?e"), ("a\u093e\u20dd\u0301", "a\u093e\u20dd?")],
)
def test_accents_that_are_stacked_or_on_no_letter_are_hidden(text: str, seen: str) -> None:
    """A third accent and an accent without a letter are hidden. Accents above, around and beside a letter count."""
    assert visible(text, lambda character: "?") == seen
