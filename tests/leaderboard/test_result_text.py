"""Results as texts: they equal the JSON of the records, and give the records back."""

from __future__ import annotations

import pytest

from evaluator.leaderboard.result_text import packed_texts, result_texts, unpacked_texts
from evaluator.records import Candidate, Finding, Outcome, Result, Usage
from evaluator.testing.boards import drawn_board, result_of

NUMBERS = (0.0, 1.0, 0.1, 1e-5, 1e-7, 5e-324, 0.30000000000000004)
COMMANDS = (
    None,
    b"",
    b"ls 'a\"b'",
    b"\xff\x00",
    b"\xe2\x80\xa8\x7f",
    b"\x01" * 20_000,
    b'{"submission":"x"}\n',
)


def results() -> list[Result]:
    """Return results of a drawn board, and results with unusual commands and numbers."""
    failed = Finding(outcome=Outcome.FAIL, reason="a\u2028b </script>", place=b"\xfe", variant="odd")
    unusual = [result_of("a", "t-1", command, failed, nlc2cmd=-0.5) for command in COMMANDS]
    usage = Usage(latency_s=1e-7, energy_j=1e22, input_tokens=3)
    unusual += [
        result_of("a", "t-1", b"x", failed).model_copy(update={"confidence": number, "usage": usage})
        for number in NUMBERS
    ]
    return [*drawn_board(2, 8, candidates=3, seed=5).results, *unusual]


def test_a_line_is_the_json_of_the_record() -> None:
    every = results()
    assert [text.line(each.submission, each.suite) for text, each in zip(result_texts(every), every, strict=True)] == [
        each.to_json() for each in every
    ]


def test_a_text_gives_the_record_back() -> None:
    every = results()
    for text, each in zip(result_texts(every), every, strict=True):
        assert text.result(each.submission, each.suite) == each


def test_packed_texts_are_the_same_texts() -> None:
    first = {text.task: text for text in result_texts(results()) if text.rank == 1}
    assert unpacked_texts(packed_texts(first.values())) == first


@pytest.mark.parametrize("command", [b"\x01" * 20_000, b"\xff"])
def test_a_command_is_written_as_in_a_submission(command: bytes) -> None:
    (text,) = result_texts([result_of("a", "t", command, Finding(outcome=Outcome.PASS))])
    assert f'"command":{text.command}' in Candidate(command=command).to_json()
