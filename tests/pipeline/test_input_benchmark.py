"""Tests of the most expensive inputs for the checks, and of the process that measures the cost of one input."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.benchmarks.input_benchmark import MOST_MB, check_cost, judgement_cost, worst_inputs
from evaluator.pipeline.project import Project
from evaluator.submissions import SubmissionLimits

PROJECT = Project(Path(__file__).parents[2])
INPUTS = {worst.name: worst for worst in worst_inputs(PROJECT)}


def test_every_input_is_as_large_as_a_manifest_may_be() -> None:
    most = SubmissionLimits().manifest_bytes
    assert {name: len(worst.data) for name, worst in INPUTS.items() if not most * 0.9 < len(worst.data) <= most} == {}
    assert len(INPUTS) >= 70


@pytest.mark.slow
@pytest.mark.parametrize("name", ["key of 32,000 parts", "key of quoted parts", "a row of quotes"])
def test_a_check_of_the_worst_inputs_takes_little_memory(name: str) -> None:
    cost = check_cost(PROJECT, INPUTS[name])
    assert cost.bytes == len(INPUTS[name].data)
    assert 0 < cost.peak_mb <= MOST_MB
    assert cost.cpu_s > 0


@pytest.mark.slow
def test_a_judgement_ends_with_its_cost() -> None:
    cost = judgement_cost("processes")
    assert cost.bytes > 1_000_000
    assert judgement_cost("no such case").within is False
