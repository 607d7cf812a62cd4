"""Fuzz the readers of previews and of appeals, and the quotation of untrusted text in Markdown."""

from __future__ import annotations

from typing import Final

from markdown_it import MarkdownIt

from evaluator.errors import FormatError
from evaluator.github.comment.body import PullRequestContext, render_comment
from evaluator.github.comment.markdown import cell, code
from evaluator.pipeline.pull_requests.appeals import LABELS, Appeal, AppealError, parse_appeal
from evaluator.pipeline.pull_requests.report import read_preview
from evaluator.records import Preview
from tests.fuzz.target import target

PARSER: Final = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@target(
    "preview",
    *("evaluator.pipeline.pull_requests.report:read_preview", "evaluator.pipeline.pull_requests.report:_format_error"),
    *("evaluator.records.preview", "evaluator.github.comment.preview_sections"),
    planted=lambda preview: len(preview.rivals) == 2,
    refusals=(FormatError,),
    tokens=(b'"unranked":"', b'"rivals":[', b'"open_verdicts":[', b'"touched":[', b'"total":', b"null"),
    is_json=True,
    longest=8192,
)
def read_and_show_preview(data: bytes) -> Preview:
    """Read a preview and render the comment, which must not contain HTML except the comment's own."""
    preview = read_preview(data, "my-system")
    comment = render_comment("my-system", [], preview, PullRequestContext())
    kinds = {token.type for block in PARSER.parse(comment) for token in (block, *(block.children or ()))}
    assert "image" not in kinds, comment
    return preview


@target(
    "appeal",
    *("evaluator.github.form_body", "evaluator.pipeline.pull_requests.appeals:parse_appeal"),
    "evaluator.pipeline.pull_requests.appeals:_why_fault",
    planted=lambda appeal: appeal.rank > 2,
    tokens=(
        *(b"### " + label.encode() + b"\n" for label in LABELS.values()),
        *(b"_No response_", b"pass", b"fail", b"core", b"files-003", b"\r\n", b"\xe2\x80\xae", b"7"),
    ),
)
def read_appeal(data: bytes) -> Appeal | None:
    """Read the body of an issue. Its faults must be printable text."""
    faults: tuple[str, ...] = ()
    appeal = None
    try:
        appeal = parse_appeal(data.decode(errors="replace"))
    except AppealError as error:
        faults = error.faults
    assert all(fault.isprintable() for fault in faults), faults
    return appeal


@target(
    "markdown",
    *("evaluator.github.comment.markdown:code", "evaluator.github.comment.markdown:cell"),
    *("evaluator.github.comment.markdown:_span", "evaluator.github.comment.markdown:_escaped", "evaluator.escaping"),
    planted=lambda spans: any("````" in span and "\\u" in span for span in spans),
    tokens=(
        b"`",
        b"``````````",
        b"\\",
        b"  ",
        b"\xe2\x80\xae",
        b"\xcc\x81\xcc\x81\xcc\x81",
        b"|",
        b"\xd7\x90",
        b"<!--",
        b"\xff",
    ),
    longest=400,
)
def quote_text(data: bytes) -> list[str]:
    """Quote a text. A parser of Markdown must see a single code span and no other markup."""
    text = data.decode(errors="surrogateescape")
    spans = []
    for quoted, document in ((code(text), "{}"), (code(text, 20), "- {}"), (cell(text, 30), "|{}|\n|-|")):
        blocks = PARSER.parse(document.format(quoted))
        (inline,) = (block.children or [] for block in blocks if block.type == "inline")
        found = [token for token in inline if token.type == "code_inline"]
        assert len(found) == (1 if text else 0), quoted
        assert all(token.type in ("code_inline", "text") for token in inline), quoted
        assert quoted.isprintable(), quoted
        spans += [token.content for token in found]
    return spans
