"""Submissions are grouped by declared model, method and run, and methods are compared with the model's baseline."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.pipeline.boards.group_runs import method_runs
from evaluator.records import Method, MethodRuns, SubmissionManifest
from tests.doubles.method_boards import manifest, method_board, recipe

BASE = "+++-------"
RUNS = {"icl-1": "+++++-----", "icl-2": "+-+++++---", "icl-3": "++-++-----"}
ICL: dict[str, Any] = {"shots": 25, "examples": "clusters", "runs": 3}
TUNING = {"base_model": "small", "data": "pairs", "pairs": "0" * 64}


def grouped(answers: dict[str, tuple[SubmissionManifest, str]], **owners: int) -> tuple[MethodRuns, ...]:
    return method_runs(method_board(answers), owners)


def runs_of_icl(**changed: Any) -> dict[str, tuple[SubmissionManifest, str]]:
    """Return three runs of one recipe. `changed` are other fields of the second run."""
    return {
        slug: (manifest(recipe("small", "icl", **ICL | {"run": number} | (changed if number == 2 else {}))), marks)
        for number, (slug, marks) in enumerate(RUNS.items(), start=1)
    }


def test_three_runs_have_one_accuracy_and_the_difference_of_their_mean() -> None:
    """5, 6 and 4 of 10 tasks: mean 0.5, deviation 0.1. The baseline passes 3 of 10, so the difference is 0.2.

    The mean counts are 7/3, 8/3, 2/3 and 13/3. Newcombe's interval for them was computed with the paper's formula.
    """
    icl, base = grouped(runs_of_icl() | {"base": (manifest(recipe("small")), BASE)})
    assert (icl.methods, icl.submissions, icl.declared) == (("icl",), ("icl-1", "icl-2", "icl-3"), 3)
    assert (icl.accuracy, icl.lowest, icl.highest) == pytest.approx((0.5, 0.4, 0.6))
    assert icl.deviation == pytest.approx(0.1)
    assert (icl.accuracy_low, icl.accuracy_high) == pytest.approx((0.237, 0.763), abs=5e-4)
    assert icl.baseline == "base"
    assert icl.difference == pytest.approx(0.2)
    assert (icl.difference_low, icl.difference_high) == pytest.approx((-0.1716, 0.5026), abs=5e-5)
    assert (base.methods, base.accuracy, base.deviation, base.difference) == (("baseline",), 0.3, None, None)
    assert (base.accuracy_low, base.accuracy_high) == pytest.approx((0.108, 0.603), abs=5e-4)


def test_the_interval_of_single_runs_is_that_of_the_comparison_page() -> None:
    """Both pass 1 task, parser alone 7, baseline alone 1, neither 12: the example of `difference_interval`."""
    parser, _ = grouped(
        {
            "parser": (manifest(recipe("small", "parser")), "+-+++++++" + 12 * "-"),
            "base": (manifest(recipe("small")), "++" + 19 * "-"),
        }
    )
    found = (parser.difference, parser.difference_low, parser.difference_high)
    assert found == pytest.approx((0.286, 0.026, 0.507), abs=5e-4)


@pytest.mark.parametrize(
    "changed",
    [{"shots": 5}, {"prompt": "question"}, {"runs": 4}, {"decoding": {"temperature": 0.5}}, {"base_model": "large"}],
    ids=lambda changed: next(iter(changed)),
)
def test_another_parameter_makes_another_system(changed: dict[str, Any]) -> None:
    found = grouped(runs_of_icl(**changed))
    assert sorted(runs.submissions for runs in found) == [("icl-1", "icl-3"), ("icl-2",)]


def test_the_seed_and_the_texts_for_readers_may_differ_between_runs() -> None:
    answers = runs_of_icl(decoding={"seed": 7})
    answers["icl-3"] = (answers["icl-3"][0].model_copy(update={"system": "The third"}), answers["icl-3"][1])
    assert [runs.submissions for runs in grouped(answers)] == [("icl-1", "icl-2", "icl-3")]


def test_nobody_adds_a_run_to_a_system_of_others() -> None:
    owned = {"icl-1": 11, "icl-2": 22, "icl-3": 11}
    board = method_board(runs_of_icl())
    assert sorted(runs.submissions for runs in method_runs(board, owned)) == [("icl-1", "icl-3"), ("icl-2",)]
    answers = runs_of_icl()
    answers["icl-2"] = (manifest(recipe("small", "icl", **ICL, run=2), author="Others"), RUNS["icl-2"])
    assert len(grouped(answers)) == 2


def test_submissions_that_declare_a_single_run_are_never_runs_of_each_other() -> None:
    own = manifest(recipe("small"))
    assert len(grouped({"one": (own, BASE), "two": (own, BASE)})) == 2


def test_a_submission_without_a_rank_does_not_count() -> None:
    answers = runs_of_icl()
    answers["icl-2"] = (answers["icl-2"][0], "?" + RUNS["icl-2"][1:])
    answers["control"] = (manifest(recipe("small"), method=Method.CONTROL), BASE)
    (icl,) = grouped(answers)
    assert (icl.submissions, icl.declared) == (("icl-1", "icl-3"), 3)
    assert icl.accuracy == pytest.approx(0.45)


def test_a_submission_that_declares_no_model_is_left_out() -> None:
    assert grouped({"plain": (manifest(), BASE)}) == ()


@pytest.mark.parametrize(
    ("own", "methods"),
    [
        (manifest(recipe("small", "parser", "few-shot", shots=5, examples="seed")), ("few-shot", "parser")),
        (manifest(None, TUNING, Method.FINE_TUNED), ("fine-tuned",)),
        (manifest(recipe("small-tuned"), TUNING, Method.FINE_TUNED), ("fine-tuned",)),
        (manifest(recipe("small-tuned", "parser"), TUNING, Method.FINE_TUNED), ("fine-tuned", "parser")),
    ],
)
def test_a_fine_tuned_model_is_a_method_of_the_model_before(own: SubmissionManifest, methods: tuple[str, ...]) -> None:
    base = manifest(recipe("Small "))
    found, other = grouped({"own": (own, "++++"), "base": (base, "+---")})
    assert (found.methods, found.model, other.model, found.baseline) == (methods, "small", "small", "base")


def test_the_baseline_with_the_same_prompt_goes_before_a_better_one() -> None:
    answers = {
        "better": (manifest(recipe("small", prompt="question")), "++++--"),
        "same": (manifest(recipe("small")), "+++---"),
        "parser": (manifest(recipe("small", "parser")), "++----"),
        "third": (manifest(recipe("small", "parser", prompt={"name": "a-paper", "digest": "0" * 64})), "+-----"),
    }
    found = {runs.submissions[0]: runs.baseline for runs in grouped(answers)}
    assert found == {"better": None, "same": None, "parser": "same", "third": "better"}


def test_a_model_without_a_baseline_has_no_differences() -> None:
    answers = {
        "icl": (manifest(recipe("small", "icl", shots=1, examples="nearest")), "++--"),
        "parser": (manifest(recipe("small", "parser")), "+---"),
        "base": (manifest(recipe("large")), "----"),
    }
    assert [runs.difference for runs in grouped(answers)] == [None, None, None]
