"""Untrusted text in a comment is always rendered as code."""

from __future__ import annotations

import doctest
import re
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.github.comment import markdown
from evaluator.github.comment.body import PullRequestContext, render_comment
from evaluator.github.comment.markdown import cell, code, table
from evaluator.github.comment.state import ChangeKind
from evaluator.github.pulls import PullRequest
from evaluator.pipeline.pull_requests.classify import PullRequestChange
from evaluator.pipeline.pull_requests.merge_rules import decide
from evaluator.pipeline.submissions.ownership import Owner, OwnerKind
from evaluator.records import Preview, Rejection
from tests.doubles.hostile_boards import ATTACKS
from tests.github.preview_examples import contested, pieces, preview, problems, skeleton, spans
from tests.properties import examples

MARKUP = [
    "@everyone @org/team",
    "#1 GH-1 org/repo#1 org/repo@0123456789abcdef0123456789abcdef01234567",
    "https://evil.example www.evil.example mail@evil.example ftp://evil.example",
    "<img src=https://evil.example/x.png> <script>alert(1)</script> </details>",
    "![x](https://evil.example/x.png) [x](javascript:alert(1)) [x][y]\n\n[y]: https://evil.example",
    "<!-- bashboard:submission -->",
    "${{ secrets.TOKEN }} $`x`$ $$x$$ :tada: ~~x~~ **x** _x_",
    "\n\n# heading\n\n- list\n\n    block\n\n---\n| a | b |\n|---|---|\n> quote",
    "` `` ``` ```` x",
    "`" * 8,
    "`" * 9,
    "x" + "`" * 300,
    "\\",
    "\\`x\\`",
    "a|b\\|c\\\\|d",
    "::error::x\n::set-output name=x::y",
    " ",
    "  x  ",
    "\u202e\u2066\u200b\ufeff\u00ad\u2028\u2029\u00a0\x1b[31m\x00\x7f\r\n\t",
    "\u3164\u115f\u2800\U000e0041\U000e0100",
    "\ud800",
    "a\u0300\u0301\u0302\u0303",
    "x" * 100_000,
]
HOSTILE = [*MARKUP, *(each[:2000].decode("utf-8", "surrogateescape") for each in ATTACKS)]

TEXTS = st.one_of(
    st.text(min_size=1),
    st.text(st.sampled_from("`|\\@#<>[]()!*_~-= \n\t$:./&x1\u202e\u0301"), min_size=1),
    st.lists(st.sampled_from(MARKUP), min_size=1, max_size=3).map("".join),
)

hostile = pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))


def places(text: str) -> list[str]:
    """Return comments that contain the text in every place where untrusted text can be, twice."""
    record = contested()
    touched = tuple(each.model_copy(update={"paths": (text, text), "total": 2}) for each in record.touched)
    told = tuple(each.model_copy(update={"reason": text, "variant": text}) for each in record.open_verdicts)
    rivals = tuple(each.model_copy(update={"submission": text}) for each in record.rivals)
    alone = record.alone.model_copy(update={"tasks": (text,)})
    rejections = (Rejection(task="a", reason="").model_copy(update={"task": text, "reason": text}),)
    fields = {"touched": touched, "open_verdicts": told, "rivals": rivals, "alone": alone, "judge": text}
    fields["rejections"] = rejections
    forged = record.model_copy(update=fields)
    found = problems(3, f"submissions/{text}/core.jsonl".replace("\0", ""), text)
    return [
        render_comment("my-system", [], forged),
        render_comment(f"X{text}", found),
        render_comment(f"X{text}", [], None, PullRequestContext(missing=text)),
        *(refused(f"X{text}", text, change) for change in (ChangeKind.UPDATES, ChangeKind.RENAMES)),
    ]


def refused(slug: str, text: str, change: ChangeKind) -> str:
    """Return a comment with every reason, for a pull request whose names, paths, title and branches are this text."""
    offer = PullRequestChange(
        change,
        (slug, f"{slug}2"),
        earlier=slug,
        outside=(text, f"evaluator/{text}"),
        stray=(text,),
        derived={f"submissions/X{text}/x.verdicts.jsonl": True, f"submissions/x/X{text}.verdicts.jsonl": False},
        left=(text,),
        complete=False,
    )
    opened = datetime(2026, 1, 2, tzinfo=UTC)
    names = {"title": text, "login": text, "head_branch": text, "base_branch": f"X{text}"}
    pull = PullRequest(
        number=1,
        state="open",
        author=1,
        head="0" * 40,
        head_repository=1,
        base="1" * 40,
        created=opened,
        labels=frozenset({text}),
        newcomer=True,
        insider=False,
        **names,
    )
    decision = decide(offer, pull, Owner(OwnerKind.ACCOUNT, 2), address="https://github.example/a/b")
    context = PullRequestContext(change, decision.reasons, commit=pull.head)
    return render_comment(slug, problems(1, message=text), None, context)


def test_the_examples_in_the_documentation_are_so() -> None:
    assert doctest.testmod(markdown).failed == 0


@hostile
def test_a_hostile_text_is_code_wherever_it_stands(text: str) -> None:
    for shown, plain in zip(places(text), places("X"), strict=True):
        assert skeleton(shown) == skeleton(plain)


@settings(max_examples=examples(60))
@given(TEXTS)
def test_any_text_is_code_wherever_it_stands(text: str) -> None:
    for shown, plain in zip(places(text), places("X"), strict=True):
        assert skeleton(shown) == skeleton(plain)


@settings(max_examples=examples(100))
@given(TEXTS, st.integers(1, 60))
def test_a_span_is_one_span_in_prose_a_list_a_heading_and_a_table(text: str, length: int) -> None:
    for make, around in ((code, "a {} b"), (code, "- {}\n- x"), (code, "# {}: x"), (cell, "| {} | x |\n| - | - |")):
        written = around.format(make(text, length))
        assert len(spans(written)) == 1
        assert skeleton(written) == skeleton(around.format("`x`"))


@settings(max_examples=examples(100))
@given(TEXTS)
def test_nothing_in_a_span_is_unseen_or_moves_its_neighbours(text: str) -> None:
    (shown,) = spans(f"x {code(text)}")
    assert shown.isprintable()
    assert not any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in shown)


@settings(max_examples=examples(100))
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="`"), min_size=1, max_size=100))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert spans(code(text)) == [text]
    if "|" not in text:
        assert spans(cell(text)) == [text]


@hostile
def test_no_fence_is_longer_than_github_reads(text: str) -> None:
    """GitHub's parser takes a run of more than 80 backticks for text, so a span in such a fence would be markup."""
    assert max(len(run) for run in re.findall("`+", code(text))) <= 9


def test_two_texts_that_differ_only_in_blanks_look_different() -> None:
    """Texts that differ only in blanks look different, even in a browser that collapses and trims blanks."""
    texts = ["a b", "a  b", " a b", "a b ", "a\tb", "a\u00a0b", "a\nb"]
    assert len({" ".join(spans(f"x {code(each)}")[0].split()) for each in texts}) == len(texts)


@pytest.mark.parametrize("blank", "\u034f\u115f\u17b4\u180b\u200b\u2800\u3164\ufe0f\uffa0\U000e0100")
def test_a_character_that_shows_nothing_is_written_out(blank: str) -> None:
    assert blank not in code(f"a{blank}b")
    assert blank.encode("unicode_escape").decode() in code(f"a{blank}b")


def test_what_is_cut_says_how_much_is_missing() -> None:
    assert code("x" * 12, 10) == "`xxxxxxxxxx` … 2 more characters"
    assert code("x" * 11, 10) == "`xxxxxxxxxx` … 1 more character"
    assert code("x" * 10, 10) == "`xxxxxxxxxx`"
    assert code("\x1b" * 9, 10) == "`\\x1b\\x1b` … 7 more characters"


def test_a_table_has_a_cell_for_each_given() -> None:
    found = [
        each.content for each in pieces(table(["a", "b"], [[cell("x|y"), "1"]])) if each.kind in ("text", "code_inline")
    ]
    assert found == ["a", "b", "x\\x7cy", "1"]


def test_a_plain_comment_has_no_link_picture_or_markup_of_html_but_its_marker() -> None:
    """A plain comment has no HTML but its marker. Hostile text changes only code, so no comment has other HTML."""
    found: list[Preview | None] = [preview(), contested(), None]
    for each in found:
        tokens = pieces(render_comment("my-system", [] if each else problems(2), each))
        assert [token.content.strip() for token in tokens if "html" in token.kind] == ["<!-- bashboard:submission -->"]
        assert not {token.kind for token in tokens} & {"link_open", "image"}
        words = " ".join(token.content for token in tokens if token.kind == "text")
        assert not re.search(r"@\w|#\d|https?:|www\.|GH-\d|\b[0-9a-f]{7,40}\b|:\w+:", words)


def test_hostile_paths_of_problems_are_whole_on_one_line() -> None:
    text = render_comment("x", problems(1, "a\n# b|`c`", "d\ne"))
    assert "a\\n# b|`c`:1: d\\ne" in spans(text)
