"""Example previews, and functions that parse a comment as GitHub's Markdown parser does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from evaluator.errors import Problem, Severity
from evaluator.records import Preview

TASKS = [f"text-{number:03d}" for number in range(1, 41)]


def tasks(total: int, first: int = 0) -> dict[str, Any]:
    """Return the JSON of a task list with this many tasks, from the index `first`."""
    return {"total": total, "tasks": TASKS[first : first + total]}


def rival(slug: str, *roles: str, passed: int, gained: int, lost: int, **fields: Any) -> dict[str, Any]:
    """Return the JSON of another submission on the board, with 40 tasks."""
    return {
        "submission": slug,
        "roles": roles,
        "asked": 40,
        "passed": passed,
        "topics": {"text": {"asked": 30, "passed": passed - 10}, "files": {"asked": 10, "passed": 10}},
        "difference": (gained - lost) / 40,
        "difference_low": -0.5,
        "difference_high": 0.5,
        "p_value": 0.0414,
        "gained": tasks(gained),
        "lost": tasks(lost, 20),
        **fields,
    }


def document(**fields: Any) -> dict[str, Any]:
    """Return the JSON of a valid preview with 24 of 40 tasks passed and rank 2 to 4 of 9. `fields` overrides fields."""
    return {
        "format": 1,
        "submission": "my-system",
        "suite": "core",
        "suite_version": "2.0.0",
        "judge": "consensus",
        "judge_version": 4,
        "asked": 40,
        "passed": 24,
        "failed": 12,
        "timeout": 1,
        "invalid": 1,
        "unanswered": 2,
        "undecided": 0,
        "infra_errors": 0,
        "not_asked": 0,
        "collateral": 0,
        "accuracy": 0.6,
        "accuracy_low": 0.446,
        "accuracy_high": 0.737,
        "accuracy_upper": 0.6,
        "unranked": None,
        "ranked": 9,
        "rank_low": 2,
        "rank_high": 4,
        "tie_group": 2,
        "topics": {"text": {"asked": 30, "passed": 16}, "files": {"asked": 10, "passed": 8}},
        "rivals": [
            rival("best", "leader", passed=35, gained=1, lost=12),
            rival("better", "better", passed=26, gained=3, lost=5),
            rival("worse", "worse", passed=20, gained=6, lost=2),
        ],
        "alone": tasks(1),
        "touched": [],
        "open_verdicts": [],
        **fields,
    }


def preview(**fields: Any) -> Preview:
    """Return the JSON of `document` as a record."""
    return Preview.model_validate(document(**fields))


def contested() -> Preview:
    """Return a preview with three open verdicts and collateral damage."""
    reason = "prints fields that no reference shows: '4096'"
    open_verdicts = [{"task": each, "step": "output", "reason": reason, "variant": "crowded"} for each in TASKS[30:32]]
    open_verdicts.append({"task": TASKS[32], "step": "equal", "reason": "neither shows anything"})
    touched = [
        {"task": "files-002", "total": 7, "paths": ["/srv/a", "/srv/b"]},
        {"task": "files-003"},
    ]
    return preview(
        undecided=3, failed=9, accuracy_upper=27 / 40, open_verdicts=open_verdicts, collateral=2, touched=touched
    )


def problems(count: int, path: str = "submissions/my-system/core.jsonl", message: str = "expected") -> list[Problem]:
    """Return this many errors in one file."""
    return [Problem(Path(path), line, message) for line in range(1, count + 1)]


def warning(message: str = "2 tasks without a line") -> Problem:
    """Return a warning."""
    return Problem(Path("submissions/my-system/core.jsonl"), 0, message, Severity.WARNING)


PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_CUT = re.compile(r" … [\d,]+ more characters?")


class Piece(NamedTuple):
    """A token of a Markdown text."""

    kind: str
    tag: str
    attributes: tuple[tuple[str, Any], ...]
    content: str


def pieces(markdown: str) -> list[Piece]:
    """Return the tokens of a Markdown text. A block with inline tokens is replaced by those tokens."""
    blocks = PARSER.parse(markdown)
    return [_piece(token) for block in blocks for token in (block.children if block.children is not None else [block])]


def _piece(token: Token) -> Piece:
    return Piece(token.type, token.tag, tuple(sorted(token.attrs.items())), token.content)


def spans(markdown: str) -> list[str]:
    """Return the contents of the code spans in a Markdown text."""
    return [each.content for each in pieces(markdown) if each.kind == "code_inline"]


def skeleton(markdown: str) -> list[Piece]:
    """Return the tokens of a Markdown text, without the contents of code spans and without notes about cut spans."""
    kept = (
        each._replace(content="" if each.kind == "code_inline" else _CUT.sub("", each.content))
        for each in pieces(markdown)
    )
    return [each for each in kept if each.kind != "text" or each.content]
