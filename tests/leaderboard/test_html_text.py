"""Hostile text becomes HTML that shows the whole text and contains no markup of it."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.escaping import is_hidden
from evaluator.leaderboard.html_text import command, inline, plain_text, web_link

MARKS = re.compile(r'<span class="(?:mark|cut|empty)">|</span>|<br>')


def text_of(markup: str) -> str:
    """Return the text that a reader sees: remove our own marks and decode entities."""
    return html.unescape(MARKS.sub("", markup))


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (b"<b>&'\"", "<b>&'\""),
        (b"&lt;", "&lt;"),
        (b"\x1b[31m", "<ESC>[31m"),
        (b"a\tb\rc\x00\x7f", "a<TAB>b<CR>c<NUL><U+007F>"),
        (b"a\nb", "a↵b"),
        (b"\xff\xc3(", "<0xFF><0xC3>("),
        ("\u202e\u2066\u200b\ufeff\u00ad".encode(), "<U+202E><U+2066><U+200B><U+FEFF><U+00AD>"),
        ("\u00a0\u2028\u3000\ue000\U000e0041".encode(), "<U+00A0><U+2028><U+3000><U+E000><U+E0041>"),
        ("e\u0301\u0302\u0303\u0304".encode(), "e\u0301\u0302<U+0303><U+0304>"),
        ("naïve 日本語 שלום 🎉".encode(), "naïve 日本語 שלום 🎉"),
    ],
)
def test_what_cannot_be_seen_is_written_out_and_the_rest_is_shown(given: bytes, seen: str) -> None:
    assert text_of(inline(given)) == seen


@given(st.binary(max_size=3000), st.integers(40, 500))
def test_markup_holds_our_marks_alone_and_keeps_to_its_limit(data: bytes, limit: int) -> None:
    shown = inline(data, limit)
    rest = MARKS.sub("", shown)
    assert not set(rest) & set("<>\"'")
    assert len(re.sub(r'<span class="cut">.*', "", shown)) <= limit


@given(
    st.text(st.characters(categories=["L", "N", "P", "S"]).filter(lambda letter: not is_hidden(letter)), max_size=60)
)
def test_visible_text_is_shown_as_it_is(text: str) -> None:
    assert text_of(inline(text, 1000)) == text


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_commands_that_differ_look_different(one: bytes, other: bytes) -> None:
    assert (inline(one, 4000) == inline(other, 4000)) == (one == other)


@pytest.mark.parametrize("size", [401, 1000, 100_000])
def test_a_cut_says_how_much_is_missing(size: int) -> None:
    assert f"… {size - 400:,} more byte" in inline(b"x" * size, 400)


def test_a_cut_never_splits_a_character() -> None:
    assert "0x" not in inline("é日🎉".encode() * 500, 100)


def test_an_empty_command_is_said_to_be_empty() -> None:
    assert text_of(command(b"")) == "(empty)"


def test_plain_text_needs_no_markup_to_be_safe_to_read() -> None:
    assert plain_text("a\x1b[1m\u202eb\n") == "a<ESC>[1m<U+202E>b↵"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "https://a b", "ftp://x"]
)
def test_an_address_that_is_not_plain_web_is_no_link(address: str) -> None:
    assert "<a" not in web_link(address)


def test_a_link_out_vouches_for_nothing() -> None:
    assert 'rel="nofollow ugc noopener"' in web_link("https://example.org/?a=1&b=2")
    assert 'href="https://example.org/?a=1&amp;b=2"' in web_link("https://example.org/?a=1&b=2")
