"""Tests of the half length: a known curve comes out, its interval holds it, and poor data give nothing."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import scipy  # imports `scipy.optimize` at its first use

from evaluator.metrics import half_length as half_length_module
from evaluator.metrics.half_length import fit_half_length

SECONDS = 2 ** np.random.default_rng(7).uniform(3, 11, 500)
TRUE_S = 128.0


def drawn(seed: int) -> np.ndarray:
    """Return the passes of a system that passes half of the tasks of 128 s."""
    share = 1 / (1 + np.exp(np.log2(SECONDS / TRUE_S)))
    passed: np.ndarray = np.random.default_rng(seed).random(500) < share
    return passed


def test_the_interval_holds_the_true_length_as_often_as_it_says() -> None:
    """Of 200 systems with the same true length, 91 % to 99 % have an interval with this length."""
    found = [fit_half_length(SECONDS, drawn(seed)) for seed in range(200)]
    held = [each for each in found if each and (each.half_low_s or 0) <= TRUE_S <= (each.half_high_s or np.inf)]
    assert len([each for each in found if each]) == 200
    assert 182 <= len(held) <= 198


def test_the_curve_is_that_of_maximum_likelihood() -> None:
    """A general optimiser finds the same half length."""
    passed, x = drawn(1), np.log2(SECONDS)

    def loss(weights: np.ndarray) -> float:
        return float(np.logaddexp(0, np.where(passed, -1, 1) * (weights[0] + weights[1] * (x - 7))).sum())

    a, b = scipy.optimize.minimize(loss, np.zeros(2)).x
    found = fit_half_length(SECONDS, passed)
    assert found is not None
    assert found.half_s == pytest.approx(2 ** (7 - a / b), rel=0.005)


@pytest.mark.parametrize(
    "passed",
    [
        np.zeros(500, dtype=bool),
        np.ones(500, dtype=bool),
        np.arange(500) < 2,
        SECONDS > TRUE_S,
        np.random.default_rng(1).random(500) < 0.99,
    ],
    ids=["none", "all", "two", "the long ones", "nearly all"],
)
def test_poor_data_have_no_half_length(passed: np.ndarray) -> None:
    """There is no half length without passes and failures, or if longer tasks are passed more often."""
    assert fit_half_length(SECONDS, passed) is None


def test_a_perfect_separation_has_a_length_at_the_gap() -> None:
    """If all tasks below a time are passed and no other, the half length is at this time."""
    found = fit_half_length(SECONDS, SECONDS < TRUE_S)
    assert found is not None
    assert found.half_s == pytest.approx(TRUE_S, rel=0.05)


def test_the_worked_example_comes_out() -> None:
    assert doctest.testmod(half_length_module) == (0, 2)
