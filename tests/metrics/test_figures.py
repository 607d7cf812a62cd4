"""The figures beside accuracy: worked examples, and laws that hold for all of them."""

from __future__ import annotations

import random

import polars as pl
import pytest
import scipy  # imports `scipy.stats` at its first use
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics.accuracy import wilson_interval
from evaluator.metrics.calibration import calibration
from evaluator.metrics.frames import utilities_frame
from evaluator.metrics.judge_error import JudgeError, judge_range, measured_error, rogan_gladen
from evaluator.metrics.matching import mark_rates, matched_at, verbatim_rate
from evaluator.metrics.ranking import ranking
from evaluator.metrics.running import running_rates
from evaluator.metrics.slices import accuracy_by, accuracy_by_utility, utility_weighted_accuracy
from evaluator.metrics.summary import summary
from evaluator.metrics.usage import reported_usage
from evaluator.records import (
    CallAgreement,
    JudgeFigures,
    Outcome,
    Result,
    RunMetrics,
    SubmissionMetrics,
    TextMetrics,
    Usage,
)
from tests.metrics.graded import TASKS, frame_of, result, submissions
from tests.properties import examples

PASS, FAIL = Outcome.PASS, Outcome.FAIL
CALLS = utilities_frame(TASKS)
ERROR = JudgeError((0.9, 1.0), (0.8, 1.0))
SHARES = (
    *("judge_low", "judge_high", "verbatim", "bleu", "mrr", "ece", "brier", "valid", "runnable"),
    *("exit_zero", "clean_stderr", "utility_weighted", "stateful_accuracy", "dangerous", "session_score"),
)


def figures(results: list[Result]) -> SubmissionMetrics:
    """Return the figures of the one submission in these results."""
    (row,) = summary(frame_of(results), CALLS, ERROR).to_dicts()
    return SubmissionMetrics.model_validate(row["figures"])


def test_text_matches_count_at_the_first_candidate_that_has_one() -> None:
    """One task matches with its second candidate and one never, so the shares at k are 0, 1/2 and 1/2."""
    full = TextMetrics(full_command=True, template=True)
    other = TextMetrics()
    frame = frame_of([result("t0", text=other), result("t0", rank=2, text=full), result("t1", text=other)])
    assert [point["share"] for point in matched_at(frame, "full_command")["full_command"][0]] == [0, 0.5, 0.5]
    assert verbatim_rate(frame)["verbatim"].to_list() == [0]


def test_first_answers_that_no_parser_reads_are_counted() -> None:
    """Answers whose text was not measured give no number, and not 0."""
    unread, read = TextMetrics(calls=CallAgreement.UNREADABLE), TextMetrics()
    frame = frame_of([result("t0", text=unread), result("t0", rank=2, text=unread), result("t1", text=read)])
    assert mark_rates(frame)["unreadable"].to_list() == [1]
    assert mark_rates(frame_of([result("t0")]))["unreadable"].to_list() == [None]


def test_ranking_is_that_of_the_first_pass() -> None:
    """Fail, pass, not run gives 1/2. A task without a pass adds 0 to the mean."""
    one = [result("t0", outcome, rank) for rank, outcome in enumerate((FAIL, PASS, Outcome.NOT_RUN), start=1)]
    (row,) = ranking(frame_of([*one, result("t1", FAIL)])).to_dicts()
    assert row["mrr"] == pytest.approx(1 / 4)


def test_calibration_is_of_candidates_with_a_verdict() -> None:
    """Confidence 0.9 passed, 0.9 and 0.4 failed. Unanswered tasks and infra-errors do not count."""
    stated = [("t0", PASS, 0.9), ("t1", FAIL, 0.9), ("t2", FAIL, 0.4)]
    silent = [("t3", Outcome.UNANSWERED, 0.0), ("t4", Outcome.INFRA_ERROR, 0.7)]
    results = [result(task, outcome, confidence=confidence) for task, outcome, confidence in [*stated, *silent]]
    (row,) = calibration(frame_of(results)).to_dicts()
    assert (row["ece"], row["brier"]) == (pytest.approx(0.4), pytest.approx(0.98 / 3))
    assert row["calibrated_on"] == 3


def test_confidences_on_the_border_of_two_bins_are_in_the_lower() -> None:
    """0.5 is in another bin than 0.55. Errors cancel within a bin, but not across two bins."""
    two = [result("t0", PASS, confidence=0.5), result("t1", FAIL, confidence=0.5)]
    assert calibration(frame_of(two))["ece"].to_list() == [0]
    apart = [result("t0", PASS, confidence=0.5), result("t1", FAIL, confidence=0.55)]
    assert calibration(frame_of(apart))["ece"].to_list() == pytest.approx([(0.5 + 0.55) / 2])


def test_running_rates_are_of_what_was_measured() -> None:
    """Three commands are measured and one has no evidence, so the rates are thirds."""
    good = RunMetrics(valid=True, runnable=True, exit_zero=True, clean_stderr=True)
    lacking = RunMetrics(valid=True, runnable=False, exit_zero=False, clean_stderr=False)
    nothing = RunMetrics(valid=False, runnable=False, exit_zero=False, clean_stderr=False)
    results = [result(f"t{number}", run=run) for number, run in enumerate((good, lacking, nothing, None))]
    (row,) = running_rates(frame_of(results)).to_dicts()
    assert [row[name] for name in ("valid", "runnable", "exit_zero", "clean_stderr")] == pytest.approx(
        [2 / 3, 1 / 3, 1 / 3, 1 / 3]
    )
    assert row["measured"] == 3


def test_reported_usage_is_a_median_of_what_was_reported() -> None:
    """Three of four tasks report a latency. Later candidates of a task do not count again."""
    results = [result(f"t{number}", usage=Usage(latency_s=s)) for number, s in enumerate((0.2, 0.4, 9.0))]
    results += [result("t3"), result("t2", rank=2, usage=Usage(latency_s=9.0))]
    (row,) = reported_usage(frame_of(results)).to_dicts()
    assert (row["latency_s"], row["latency_s_reported"]) == (0.4, 3)
    assert (row["energy_j"], row["energy_j_reported"]) == (None, 0)


def test_a_task_counts_for_every_utility_its_references_call() -> None:
    """Every task calls find, and tasks with an odd number also call sort."""
    frame = frame_of([result("t0", FAIL), result("t1", PASS), result("t3", PASS)])
    assert accuracy_by_utility(frame, CALLS, 1).rows() == [("core", "one", "find", 3, 2), ("core", "one", "sort", 2, 2)]
    assert accuracy_by_utility(frame, CALLS, 3)["utility"].to_list() == ["find"]
    assert [row[2:] for row in accuracy_by(frame, "difficulty").rows()] == [(1, 2, 1), (2, 1, 1)]


def test_common_utilities_weigh_more() -> None:
    """find has weight 2 + 1 and half of its tasks pass. sort has weight 1/2 and passes: (3 / 2 + 1 / 2) / 3.5."""
    frame = frame_of([result("t0", FAIL), result("t1", PASS)])
    assert utility_weighted_accuracy(frame, CALLS)["utility_weighted"].to_list() == pytest.approx([2 / 3.5])


def judged(**counts: int) -> JudgeFigures:
    fields = {
        "equivalent_passed": 0,
        "equivalent_failed": 0,
        "equivalent_undecided": 0,
        "wrong_passed": 0,
        "wrong_failed": 0,
        "wrong_undecided": 0,
    }
    place = {"judge": "consensus", "version": 2, "suite": "core", "suite_version": "1.0.0", "kind": "table-4"}
    rest = {"part": "all", "infra_errors": 0, "seconds": 0, "usd": 0}
    return JudgeFigures.model_validate({**place, **rest, **fields, **counts})


def test_a_judges_error_is_the_range_of_its_rates_over_all_sets() -> None:
    """Undecided pairs are no errors, and a set without wrong pairs gives no specificity."""
    sets = [judged(equivalent_passed=26, equivalent_undecided=4), judged(equivalent_passed=9, equivalent_failed=1)]
    assert measured_error(sets) is None
    error = measured_error([*sets, judged(wrong_failed=8, wrong_passed=2)])
    assert error == JudgeError((0.9, 1.0), (0.8, 0.8))


@pytest.mark.parametrize(
    ("share", "sensitivity", "specificity", "true"),
    [(0.7, 0.95, 0.9, 0.6 / 0.85), (0.05, 1, 0.9, 0), (0.95, 0.9, 1, 1), (0.4, 1, 1, 0.4), (0.5, 0.5, 0.5, None)],
)
def test_rogan_gladen(share: float, sensitivity: float, specificity: float, true: float | None) -> None:
    """The estimate matches worked values and is clipped to [0, 1]. A judge that guesses gives no estimate."""
    found = rogan_gladen(share, sensitivity, specificity)
    assert found == (None if true is None else pytest.approx(true))


def test_the_judges_range_counts_the_undecided_both_ways() -> None:
    """0.7 passed and 0.1 undecided, so the observed share lies between 0.7 and 0.8."""
    scores = pl.DataFrame({"suite": ["core"], "submission": ["one"], "accuracy": [0.7], "accuracy_upper": [0.8]})
    (row,) = judge_range(scores, ERROR).to_dicts()
    assert (row["judge_low"], row["judge_high"]) == (pytest.approx(0.5 / 0.8), pytest.approx(0.8 / 0.9))
    (row,) = judge_range(scores, None).to_dicts()
    assert (row["judge_low"], row["judge_high"]) == (None, None)


@given(st.integers(1, 400).flatmap(lambda asked: st.tuples(st.integers(0, asked), st.just(asked))))
@settings(max_examples=examples(60))
def test_wilson_intervals_are_scipys(counts: tuple[int, int]) -> None:
    """The formula over columns gives the same interval as SciPy does for each proportion."""
    passed, asked = counts
    low, high = wilson_interval(pl.col("passed"), pl.col("asked"))
    frame = pl.DataFrame({"passed": [passed], "asked": [asked]})
    bounds = frame.select(low.alias("low"), high.alias("high")).row(0)
    assert bounds == pytest.approx(tuple(scipy.stats.binomtest(passed, asked).proportion_ci(0.95, "wilson")), abs=1e-12)


def test_what_was_not_measured_is_none_and_never_zero() -> None:
    """Without execution, text metrics and utilities, each figure that needs them is None."""
    (row,) = summary(frame_of([result("t0")])).to_dicts()
    found = SubmissionMetrics.model_validate(row["figures"])
    absent = (
        *("verbatim", "bleu", "valid", "runnable", "utility_weighted", "latency_s", "judge_low"),
        *("stateful_accuracy", "dangerous"),
    )
    assert [getattr(found, name) for name in absent] == [None] * len(absent)
    assert (found.full_command_at, found.measured, found.utilities) == ({}, 0, {})


@given(submissions())
@settings(max_examples=examples(25))
def test_figures_are_bounded_and_ordered(results: list[Result]) -> None:
    """Shares are in [0, 1], a stricter figure is never above a weaker one, and accuracy at k never falls."""
    found = figures(results)
    (scores,) = summary(frame_of(results)).to_dicts()
    assert all(0 <= value <= 1 for name in SHARES if (value := getattr(found, name)) is not None)
    for at in (found.full_command_at, found.template_at):
        assert list(at.values()) == sorted(at.values())
    assert all(found.full_command_at[k] <= found.template_at[k] for k in (1, 3, 5))
    assert found.verbatim is not None
    assert found.verbatim <= found.full_command_at[1]
    assert scores["accuracy"] <= (found.mrr or 0) + 1e-12
    assert (found.mrr or 0) <= scores["accuracy_at"][-1]["accuracy"] + 1e-12
    if found.runnable is not None and found.valid is not None:
        assert found.runnable <= found.valid
    assert found.judge_low is not None
    assert found.judge_high is not None
    assert found.judge_low <= found.judge_high
    assert (found.stateful_accuracy or 0) <= scores["accuracy"] + 1e-12
    assert sum(found.errors.values()) + scores["passed"] + scores["infra_errors"] == scores["asked"]
    assert all(part.median_s <= part.p90_s <= part.p99_s for part in found.latency)
    assert sum(part.reported for part in found.latency) == 2 * found.latency_s_reported


@given(submissions())
@settings(max_examples=examples(25))
def test_no_figure_depends_on_candidates_behind_a_pass(results: list[Result]) -> None:
    """So it is no loss that they are not run."""
    passed = set[str]()
    short = []
    for each in results:
        behind = each.task in passed
        short.append(
            result(each.task, Outcome.NOT_RUN, each.rank, confidence=each.confidence, text=each.text, usage=each.usage)
            if behind
            else each
        )
        passed |= {each.task} if each.finding.outcome is PASS else set()
    assert summary(frame_of(results), CALLS, ERROR).equals(summary(frame_of(short), CALLS, ERROR))


@given(st.tuples(submissions("one"), submissions("two")), st.randoms(use_true_random=False))
@settings(max_examples=examples(15))
def test_the_order_of_records_leaves_no_trace(both: tuple[list[Result], list[Result]], order: random.Random) -> None:
    """Shuffled results and shuffled facts of tasks give exactly the same figures."""
    results = [*both[0], *both[1]]
    once = summary(frame_of(results), CALLS, ERROR)
    again = summary(
        frame_of(order.sample(results, len(results))), CALLS.sample(fraction=1, shuffle=True, seed=1), ERROR
    )
    assert once.equals(again)


@given(submissions(), st.data())
@settings(max_examples=examples(15))
def test_another_submission_changes_nobodys_figures(results: list[Result], data: st.DataObject) -> None:
    """The figures of a submission do not depend on other submissions."""
    other = data.draw(submissions("two"))
    alone = summary(frame_of(results), CALLS, ERROR)
    beside = summary(frame_of([*results, *other]), CALLS, ERROR).filter(pl.col("submission") == "one")
    assert alone.equals(beside)


@given(submissions(), st.data())
@settings(max_examples=examples(15))
def test_a_pass_more_never_lowers_ranking_or_weighted_accuracy(results: list[Result], data: st.DataObject) -> None:
    """If one more first candidate passes, no figure that counts passes falls."""
    firsts = [number for number, each in enumerate(results) if each.rank == 1]
    chosen = data.draw(st.sampled_from(firsts))
    better = list(results)
    better[chosen] = result(results[chosen].task, PASS, text=results[chosen].text)
    before, after = figures(results), figures(better)
    for name in ("mrr", "utility_weighted", "judge_low", "judge_high", "session_score"):
        assert getattr(after, name) >= getattr(before, name) - 1e-12
