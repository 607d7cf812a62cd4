"""The worked examples in the docstrings of the metrics give the printed values."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import evaluator.metrics
import evaluator.shell.nlc2cmd.score

MODULES = sorted(f"evaluator.metrics.{each.name}" for each in pkgutil.iter_modules(evaluator.metrics.__path__))


@pytest.mark.parametrize("name", [*MODULES, "evaluator.shell.nlc2cmd.score"])
def test_examples_come_out(name: str) -> None:
    """Every function returns the value that its docstring shows."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
