"""The five variations of the retrieval baseline: what each step adds, and the confidence by logistic regression."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.corpus.list_confidence import ListConfidence, list_features, list_score
from evaluator.corpus.retrieval_steps import RETRIEVAL_STEPS, Retrieval
from evaluator.submissions.baselines import TrainingPair, read_pairs
from evaluator.submissions.baselines.retrieval import RetrievedCommand
from evaluator.submissions.baselines.tfidf_index import most_similar
from evaluator.testing.checkouts import small_task

ROOT: Final = Path(__file__).parents[2]
PAIRS: Final = read_pairs((ROOT / "fixtures" / "train" / "pairs.jsonl").read_bytes())
TASKS: Final = [
    small_task(f"files-{number}", nl=instruction)
    for number, instruction in enumerate(
        ("Count the lines of /var/log/syslog", "List all .conf files under /etc larger than 10 kB", "Sing a song")
    )
]


def pair(nl: str, command: str) -> TrainingPair:
    return TrainingPair(nl=nl, command=command)


def commands(retrieval: Retrieval, instruction: str, pairs: Sequence[TrainingPair]) -> list[str]:
    (answer,) = retrieval.answer([instruction], retrieval.training(pairs))
    return [command for command, _ in answer]


def test_each_step_adds_one_thing_to_the_step_before() -> None:
    switches = [asdict(step) for step in RETRIEVAL_STEPS.values()]
    added = [[name for name in one if one[name] != other[name]] for one, other in pairwise(switches)]
    assert added == [["clean"], ["more_data"], ["mask"], ["regression"]]
    assert switches[0] == asdict(Retrieval())


@pytest.mark.slow
def test_every_step_gives_the_same_answers_in_another_process() -> None:
    program = (
        "import pickle, sys; from evaluator.corpus.retrieval_steps import RETRIEVAL_STEPS; "
        "given = pickle.load(sys.stdin.buffer); "
        "sys.stdout.buffer.write(pickle.dumps([each.answer(*given) for each in RETRIEVAL_STEPS.values()]))"
    )
    given_data = ([task.nl for task in TASKS], PAIRS[::16])
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(given_data),
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    answers = pickle.loads(ran.stdout)  # noqa: S301 - written by our own process
    assert answers == [each.answer(*given_data) for each in RETRIEVAL_STEPS.values()]


REPEATED: Final = [
    *(pair("show the date", "date") for _ in range(5)),
    pair("show the date please", "date -R"),
    pair("show the date of the file", "if then"),
]


def test_raw_pairs_fill_the_list_with_one_command_and_cleaned_pairs_do_not() -> None:
    assert commands(RETRIEVAL_STEPS["raw"], "show the date", REPEATED) == ["date"]
    assert commands(RETRIEVAL_STEPS["cleaned"], "show the date", REPEATED) == ["date", "date -R"]


def test_a_pair_that_differs_in_letter_case_of_the_command_is_not_repeated() -> None:
    pairs = [pair("list the files", "ls -R"), pair("List the files.", "ls  -R"), pair("list the files", "ls -r")]
    assert [each.command for each in RETRIEVAL_STEPS["cleaned"].training(pairs)] == ["ls -R", "ls -r"]


@pytest.mark.parametrize(("step", "used"), [("raw", 1), ("cleaned", 1), ("more data", 2), ("confidence", 2)])
def test_further_pairs_are_used_from_the_third_step_on(step: str, used: int) -> None:
    assert len(RETRIEVAL_STEPS[step].training([pair("a b", "ls")], [pair("c d", "pwd")])) == used


def test_literals_are_masked_in_the_comparison_and_filled_in_the_command() -> None:
    pairs = [pair("count the lines of a.txt", "wc -l a.txt"), pair("what is in b.md", "cat b.md")]
    assert commands(RETRIEVAL_STEPS["more data"], "count the words of b.md", pairs)[-1] == "cat b.md"
    assert commands(RETRIEVAL_STEPS["literals"], "count the lines of b.md", pairs)[0] == "wc -l b.md"


@given(st.lists(st.integers(0, 9).map(lambda value: value / 8), max_size=200))
def test_the_most_similar_comes_first_and_of_equal_ones_the_earlier(values: list[float]) -> None:
    expected = [place for place in sorted(range(len(values)), key=lambda place: -values[place]) if values[place] > 0]
    assert list(most_similar(np.array(values))) == expected


def retrieved(*texts: str, similarity: float = 0.5) -> list[RetrievedCommand]:
    return [RetrievedCommand(text, similarity) for text in texts]


def test_the_features_of_a_list_are_its_similarities_and_its_agreement() -> None:
    found = [RetrievedCommand("ls -l", 0.75), RetrievedCommand("ls -la", 0.5), RetrievedCommand("date", 0.25)]
    assert list_features(found) == pytest.approx((0.75, 0.5, (0.5 - 1) / 2))
    assert list_features(found[:1]) == (0.75, 0.75, 0.0)
    assert list_features([]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("texts", "references", "score"),
    [
        (("date", "ls -l"), ("cal", "ls -la"), 0.5),
        (("date", "ls -l"), ("ls",), -0.5),
        ((), ("ls",), -1.0),
    ],
)
def test_the_score_of_a_list_is_that_of_the_organisers(
    texts: tuple[str, ...], references: tuple[str, ...], score: float
) -> None:
    assert list_score(retrieved(*texts), references) == score


def test_a_list_is_trusted_if_its_expected_score_is_above_zero() -> None:
    near, far = retrieved("ls", "ls -l", similarity=0.9), retrieved("ls", "date", similarity=0.1)
    learned = ListConfidence([near] * 30 + [far] * 30, [0.9] * 30 + [-1.0] * 30)
    assert learned.probability(near) > 0.75 > 0.25 > learned.probability(far)
    assert (learned.confidence(near), learned.confidence(far)) == (1.0, 0.0)


@pytest.mark.parametrize(("scores", "confidence"), [([0.5, 1.0], 1.0), ([-1.0, 0.0], 0.0), ([0.0, 0.0], 0.0)])
def test_without_both_kinds_of_lists_all_lists_have_one_confidence(scores: list[float], confidence: float) -> None:
    assert ListConfidence([retrieved("ls"), retrieved("date")], scores).confidence(retrieved("cal")) == confidence


def test_a_rare_but_large_gain_does_not_outweigh_a_likely_loss() -> None:
    same = retrieved("ls")
    assert ListConfidence([same] * 10, [1.0] * 4 + [-1.0] * 6).confidence(same) == 0.0
    assert ListConfidence([same] * 10, [1.0] * 4 + [-0.5] * 6).confidence(same) == 1.0


def test_the_regression_does_not_learn_from_a_pair_itself() -> None:
    """Each training instruction is unlike the others, so what is left without the pair itself is always wrong."""
    programs = {"alpha": "ls", "bravo": "date", "charlie": "cal", "delta": "pwd", "echo": "id", "foxtrot": "env"}
    pairs = [pair(f"run {word}", program) for word, program in programs.items()]
    (answer,) = RETRIEVAL_STEPS["confidence"].answer(["run alpha"], pairs)
    assert answer[0] == ("ls", 0.0)
