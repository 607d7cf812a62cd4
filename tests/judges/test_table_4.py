"""The text heuristics reproduce the published figures, if the paper's pairs are on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.judges import TextScorer, find_judge
from evaluator.judges.labelled_pairs import ROTATION, numbered
from evaluator.judges.threshold import THRESHOLD
from evaluator.suites.load import load_suite

SUITE = Path(__file__).parents[2] / "fixtures" / "nl2sh-alfa"


@pytest.mark.skipif(not (SUITE / "suite.toml").exists(), reason="not on this machine: bashboard suite add nl2sh-alfa")
@pytest.mark.parametrize(("name", "published"), [("bleu", 0.69), ("nl2cmd", 0.60), ("tfidf", 0.73)])
def test_accuracy_on_table_4_is_the_papers(name: str, published: float) -> None:
    """Accuracy is within .02 of Westenfelder et al. 2025. These judges use no evidence, so nothing is executed."""
    judge = find_judge(name)
    assert isinstance(judge, TextScorer)
    pairs = [[command.decode() for command in task.references[:2]] for task in numbered(load_suite(SUITE).tasks)]
    right = sum(judge.similarity(second, first) > THRESHOLD for first, second in pairs)
    for number, (first, _) in enumerate(pairs):
        _, other = pairs[(number + ROTATION) % len(pairs)]
        right += judge.similarity(other, first) <= THRESHOLD
    assert right / (2 * len(pairs)) == pytest.approx(published, abs=0.02)
