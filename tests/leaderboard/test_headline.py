"""The headline of a board answers who leads, by how much, and what is best among open and small systems."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from evaluator.leaderboard.headline_part import ranking_judge, render_headline
from evaluator.leaderboard.held_back_errors import errors_of
from evaluator.leaderboard.leaderboard_view import BoardView
from evaluator.records import JudgeFigures, PairKind, Part, Standing, Tally, Validation
from evaluator.testing.boards import drawn_board

BOARD = drawn_board(6, 16, candidates=1, seed=7)
NOBODY = Validation(format=1)


def row(slug: str, accuracy: float, **fields: Any) -> Standing:
    """Return a standing with this name and accuracy, closed and without a size unless stated."""
    plain = {"open_weights": False, "parameters": None, "usd_per_task": None, "added": None, "tie_group": 1}
    names = {"submission": slug, "system": slug.capitalize(), "accuracy": accuracy}
    quiet = BOARD.standings[0].figures.model_copy(update={"latency_s": fields.pop("latency_s", None)})
    return BOARD.standings[0].model_copy(update={**plain, **names, "figures": quiet, "topics": {}, **fields})


def tallies(**passed: int) -> dict[str, Tally]:
    """Return the tallies of topics with four tasks each."""
    return {topic: Tally(asked=4, passed=count) for topic, count in passed.items()}


def headline(*rows: Standing, validation: Validation = NOBODY) -> str:
    """Return the text of the headline without markup."""
    html = render_headline(BOARD, BoardView.of(rows, "board/core"), "", validation)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", str(html)).replace("\n", " ").replace("&nbsp;", " "))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row("a", 0.9)], "A leads with 90.0 %."),
        (
            [row("a", 0.9), row("b", 0.8)],
            "10.0 points ahead of B. This is not significant: 1 system is tied with the leader.",
        ),
        ([row("a", 0.9), row("b", 0.8), row("c", 0.7)], "not significant: 2 systems are tied with the leader."),
        ([row("a", 0.9), row("b", 0.5, tie_group=2)], "40.0 points ahead of B. This is significant."),
        ([row("a", 0.9), row("b", 0.9)], "A leads with 90.0 %, like B. This is not significant"),
        ([row("a", 0.9), row("b", 0.8, open_weights=True)], "Best with open weights: B, 80.0 %."),
        ([row("a", 0.9, open_weights=True), row("b", 0.8)], "Its weights are open."),
        ([row("a", 0.9, open_weights=True, parameters=14_000_000_000)], "Its weights are open (14 B parameters)."),
        (
            [row("a", 0.9, usd_per_task=0.002, latency_s=2.0)],
            "The leader costs $2.00 per 1,000 tasks and answers in 2 s.",
        ),
        ([row("a", 0.9, latency_s=0.02)], "The leader answers in 20 ms."),
        (
            [row("a", 0.9, topics=tallies(files=3, text=2, system=2))],
            "The leader is weakest in system, text (50 %).",
        ),
        (
            [row("a", 0.9, open_weights=True), row("b", 0.8, open_weights=True, parameters=9_000_000_000)],
            "Best open model under 10 B parameters: B, 80.0 %.",
        ),
        (
            [row("a", 0.9), row("b", 0.8, open_weights=True, parameters=9_000_000_000)],
            "It is also the best open model under 10 B parameters.",
        ),
        (
            [row("a", 0.9, usd_per_task=0.002), row("b", 0.8, usd_per_task=0.001)],
            "Cheapest in the leader’s group: B, $1.00 per 1,000 tasks.",
        ),
        ([row("a", 0.9, latency_s=2.0), row("b", 0.8, latency_s=0.5)], "Fastest in the leader’s group: B, 0.5 s."),
        (
            [row("a", 0.9, added=date(2025, 1, 1)), row("b", 0.8, added=date(2025, 5, 1))],
            "Newest: B, added 2025-05-01.",
        ),
        (
            [row("a", 0.9, added=date(2025, 4, 20)), row("b", 0.8, added=date(2025, 5, 1))],
            "Newest: B, added 2025-05-01. 2 systems were added in the month up to this day.",
        ),
    ],
)
def test_the_headline_says(rows: list[Standing], sentence: str) -> None:
    assert sentence in headline(*rows)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("a", 0.9), row("b", 0.8)], "open weights"),
        ([row("a", 0.9, open_weights=True, parameters=10_000_000_000)], "under 10 B"),
        ([row("a", 0.9, usd_per_task=0.002), row("b", 0.8)], "Cheapest"),
        ([row("a", 0.9, latency_s=2.0), row("b", 0.8)], "Fastest"),
        ([row("a", 0.9)], "Newest"),
        ([row("a", 0.9)], "weakest"),
        ([row("a", 0.9, topics=tallies(files=2, text=2))], "weakest"),
        ([row("a", 0.9, usd_per_task=0.001), row("b", 0.8, usd_per_task=0.002)], "Cheapest"),
        ([row("a", 0.9, usd_per_task=9), row("b", 0.5, usd_per_task=1, tie_group=2)], "Cheapest"),
    ],
)
def test_the_headline_leaves_out_what_is_not_known(rows: list[Standing], words: str) -> None:
    assert words not in headline(*rows)


def test_a_name_is_only_text() -> None:
    html = str(render_headline(BOARD, BoardView.of([row("a", 0.9, system="<b>x</b>\u202e")], None), "", NOBODY))
    assert "<bdi>&lt;b&gt;x&lt;/b&gt;" in html
    assert "\u202e" not in html


def figures(**fields: Any) -> JudgeFigures:
    counts = {"equivalent_passed": 8, "equivalent_failed": 2, "equivalent_undecided": 0}
    wrong = {"wrong_passed": 1, "wrong_failed": 9, "wrong_undecided": 10, "infra_errors": 0}
    names = {"judge": "consensus", "version": 1, "suite": "core", "suite_version": "1.0.0", "seconds": 0.0, "usd": 0.0}
    kinds = {"kind": PairKind.MUTANTS, "part": Part.HELD_BACK}
    return JudgeFigures(**{**counts, **wrong, **names, **kinds, **fields})


def test_the_errors_of_the_ranking_judge_are_those_on_held_back_tasks_of_the_suite() -> None:
    rows = [
        figures(),
        figures(kind=PairKind.LABELLED),
        figures(part=Part.ALL, wrong_passed=7),
        figures(judge="exact"),
        figures(suite="other", wrong_passed=5),
    ]
    validation = NOBODY.model_copy(update={"figures": tuple(rows)})
    assert ranking_judge(BOARD) == "consensus"
    found = errors_of(validation, "consensus", "core")
    assert found is not None
    assert (found.false_passes, found.wrong, found.false_fails, found.right) == (2, 40, 4, 20)
    text = headline(row("a", 0.9), validation=validation)
    assert (
        "the judge passed 2 of 40 wrong commands, failed 4 of 20 right ones, and left 20 of these 60 undecided" in text
    )


def test_a_judge_without_a_measurement_on_the_suite_has_the_errors_on_another() -> None:
    validation = NOBODY.model_copy(update={"figures": (figures(suite="other", wrong_passed=5),)})
    found = errors_of(validation, "consensus", "core")
    assert found is not None
    assert found.false_passes == 5
    assert errors_of(NOBODY, "consensus", "core") is None
    assert "Can the judge be trusted?" in headline(row("a", 0.9))
