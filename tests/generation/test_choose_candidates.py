"""The order of candidates by agreement, as a table of samples and of the effects of their commands."""

from __future__ import annotations

import pytest

from evaluator.pipeline.generation.choose_candidates import ranked_by_agreement

CASES: dict[str, tuple[list[str], dict[str, str], list[tuple[str, float]]]] = {
    "one effect in three texts outranks a text that occurs twice": (
        ["x", "a", "b", "x", "c"],
        {"a": "right", "b": "right", "c": "right", "x": "wrong"},
        [("a", 0.6), ("x", 0.4)],
    ),
    "the most frequent text stands for its effect": (
        ["a", "b", "b"],
        {"a": "one", "b": "one"},
        [("b", 1.0)],
    ),
    "of equal numbers the earlier sample comes first": (
        ["b", "a", "a", "b"],
        {"a": "one", "b": "two"},
        [("b", 0.5), ("a", 0.5)],
    ),
    "a sample without a command lowers the others": (
        ["", "a", "", "a"],
        {"a": "one"},
        [("a", 0.5)],
    ),
    "at most five candidates": (
        list("abcdefg"),
        {letter: letter for letter in "abcdefg"},
        [(letter, 0.143) for letter in "abcde"],
    ),
    "no command at all": (["", ""], {}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_candidates_are_ranked_by_agreement(case: str) -> None:
    samples, effects, expected = CASES[case]
    ranked = ranked_by_agreement(samples, effects)
    assert [(each.command.decode(), each.confidence) for each in ranked] == expected
