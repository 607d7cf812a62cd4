"""`bashboard explain` says what a verdict follows from."""

from __future__ import annotations

import pytest

from evaluator.cli.app import console
from evaluator.cli.evidence_view import explanation_text
from evaluator.pipeline.boards.explain import Explanation
from evaluator.records import Finding, Outcome
from evaluator.testing.checkouts import small_task


@pytest.mark.parametrize("is_unreadable", [True, False])
def test_a_command_that_no_parser_reads_is_said_so(is_unreadable: bool, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = Explanation(small_task("files-1"), b"ls (", Finding(outcome=Outcome.INVALID), {}, (), is_unreadable)
    assert explanation.as_json()["unreadable"] is is_unreadable
    console().print(explanation_text(explanation, []))
    assert ("unreadable by our parsers" in capsys.readouterr().out) is is_unreadable
