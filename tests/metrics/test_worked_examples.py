"""The worked examples in docstrings of the metrics, of limits and of the sandbox give the printed values."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import evaluator.metrics
import evaluator.shell.nlc2cmd.score

OTHERS = [
    "evaluator.pipeline.grading.executor",
    "evaluator.pipeline.maintenance.doctor",
    "evaluator.sandbox.cores",
    "evaluator.sandbox.requests",
    "evaluator.shell.nlc2cmd.score",
    "evaluator.suites.wall_limits",
]
MODULES = sorted(f"evaluator.metrics.{each.name}" for each in pkgutil.iter_modules(evaluator.metrics.__path__))


@pytest.mark.parametrize("name", [*MODULES, *OTHERS])
def test_examples_come_out(name: str) -> None:
    """Every function returns the value that its docstring shows."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
