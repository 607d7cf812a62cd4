"""Agreement with the competition organisers' own program, if its scores are available."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evaluator.metrics.nlc2cmd import score_task
from evaluator.shell.nlc2cmd.score import reading_of, score_pair

DATA = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data"))
PAIRS, PARSES, LISTS = (DATA / f"nlc2cmd_{name}_dev.jsonl" for name in ("oracle", "parse", "top5"))
pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in (PAIRS, PARSES, LISTS)),
    reason="the organisers' scores are not here: set BASHBOARD_ORACLES to a folder with them",
)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_read(row: dict[str, Any]) -> bool:
    return row["pred_utils"] is not None and row["ref_utils"] is not None


def test_pairs_score_as_theirs() -> None:
    """At least 99.5 % of the pairs whose two sides the program reads have the same score."""
    read = [row for row in rows(PAIRS) if is_read(row)]
    equal = sum(
        score_pair(row["pred"], row["ref"]) * row["confidence"] == pytest.approx(row["score"], abs=1e-9) for row in read
    )
    assert equal >= 0.995 * len(read)


def test_pairs_that_they_refused_score_as_theirs_when_read_strictly() -> None:
    """At least 99 % of the pairs with a refused side have the same score in the strict reading."""
    refused = [row for row in rows(PAIRS) if not is_read(row)]
    equal = sum(
        score_pair(row["pred"], row["ref"], strict_2020=True) * row["confidence"] == pytest.approx(row["score"])
        for row in refused
    )
    assert equal >= 0.99 * len(refused)


def test_utilities_and_flags_are_theirs() -> None:
    """At least 99 % of the commands that both programs read have the same utilities and flags, in the same order."""
    read = [(row["utils"], reading_of(row["cmd"]).called) for row in rows(PARSES) if row["utils"] is not None]
    both = [(theirs, mine) for theirs, mine in read if mine is not None]
    assert len(both) >= 0.999 * len(read)
    assert sum([[name, list(flags)] for name, flags in mine] == theirs for theirs, mine in both) >= 0.99 * len(both)


def test_what_is_refused_is_what_they_refused() -> None:
    """At least 99.5 % of all commands are refused if and only if the program refused them."""
    commands = rows(PARSES)
    equal = sum((reading_of(row["cmd"]).refused is None) == (row["utils"] is not None) for row in commands)
    assert equal >= 0.995 * len(commands)


@pytest.mark.parametrize("strict_2020", [False, True])
def test_lists_score_as_theirs(strict_2020: bool) -> None:
    """Both aggregations over lists of candidates equal the program's on at least 99 % of the lists."""
    lists = rows(LISTS)
    mine = [score_task(row["preds"], row["confidences"], row["refs"], strict_2020=strict_2020) for row in lists]
    for name, key in (("organisers", "score_code"), ("paper", "score_paper")):
        equal = sum(
            getattr(score, name) == pytest.approx(row[key], abs=1e-9) for score, row in zip(mine, lists, strict=True)
        )
        assert equal >= 0.99 * len(lists), name
