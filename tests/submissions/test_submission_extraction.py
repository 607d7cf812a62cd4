"""The extraction of a command from a model's raw text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.records import Extraction
from evaluator.submissions.extraction import command_in

MARKDOWN = {
    "no fence": ("ls -l", "ls -l"),
    "a fence": ("Try:\n```\nls -l\n```\nDone.", "ls -l"),
    "a language": ("```bash\nls -l\n```", "ls -l"),
    "several lines": ("```sh\ncd /tmp\nls\n```\n", "cd /tmp\nls"),
    "the first of two": ("```\none\n```\n```\ntwo\n```", "one"),
    "tildes": ("~~~\nls\n~~~", "ls"),
    "backticks inside tildes": ("~~~\n```\n~~~", "```"),
    "a longer fence holds a shorter one": ("````\n```\nls\n```\n````", "```\nls\n```"),
    "never closed": ("```\nls\n", "ls\n"),
    "an empty block": ("```\n```\nls", ""),
    "indented under a list item": ("1. So:\n   ```bash\n   for f in *; do\n     echo\n   done\n   ```",
                                   "for f in *; do\n  echo\ndone"),
    "less indented content": ("  ```\nls\n  ```", "ls"),
    "carriage returns": ("```bash\r\nls\r\npwd\r\n```", "ls\npwd"),
    "backticks on one line are no fence": ("```ls```", "```ls```"),
    "inline code is no fence": ("Use `ls`.", "Use `ls`."),
    "two backticks are no fence": ("``\nls\n``", "``\nls\n``"),
    "a closing fence has no words": ("```\nls\n``` x\npwd\n```", "ls\n``` x\npwd"),
}  # fmt: skip


@pytest.mark.parametrize("case", MARKDOWN)
def test_markdown_takes_the_first_fenced_block_or_the_whole_text(case: str) -> None:
    text, command = MARKDOWN[case]
    assert command_in(text, Extraction.MARKDOWN) == command


@given(st.text())
def test_none_takes_the_whole_text(text: str) -> None:
    assert command_in(text, Extraction.NONE) == text


@given(st.text(st.characters(exclude_characters="`\r", exclude_categories=["Cs"])), st.text("ab\n "))
def test_what_is_fenced_is_found_whatever_stands_round_it(block: str, before: str) -> None:
    assert command_in(f"{before}\n```\n{block}\n```\n{before}", Extraction.MARKDOWN) == block
