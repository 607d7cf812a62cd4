"""How measured times become median times of tasks, fitted lines, and timings in the suite."""

from __future__ import annotations

import contextlib
import doctest
import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.cli import app
from evaluator.metrics.human_time import human_time, task_size
from evaluator.pipeline.maintenance.study_timings import fit_study, write_timings
from evaluator.records import Measurement, json_lines
from evaluator.study import fit as fit_module
from evaluator.study.fit import fit_lines, task_times, without_outliers
from evaluator.suites.load import load_suite
from evaluator.testing.checkouts import small_checkout, small_task
from tests.command_runner import CommandRunner
from tests.properties import examples

TASKS = [
    small_task(f"files-{n}", [f"echo {'a ' * n}", f"printf {'a ' * 20}"], nl="twelve words " * 6) for n in range(1, 9)
]
SIZES = {task.id: task_size(task) for task in TASKS}


def measured(task: str, seconds: float, participant: int = 1, **fields: object) -> Measurement:
    values = {"format": 1, "participant": f"{participant:016x}", "suite": "tiny", "version": "1.0.0", "passed": True}
    return Measurement.model_validate({**values, "task": task, "seconds": seconds, **fields})


def test_a_known_line_comes_out() -> None:
    """Both fits return the exact line of times without noise: 5 s plus 1.5 s for each unit of size, with R2 = 1."""
    times = task_times((measured(name, 5 + 1.5 * n) for name, n in SIZES.items()), SIZES)
    for line in fit_lines(times):
        assert line is not None
        assert (line.a, line.b, line.r2) == pytest.approx((5, 1.5, 1))


def test_noise_has_the_r2_of_its_share_of_the_variance() -> None:
    """R2 is one minus the noise's share of the variance.

    The sizes are 3 to 10. The noise is +1 s or -1 s and orthogonal to the line, so R2 is 1 - 8 / (42 · 2² + 8).
    """
    off = [1, -1, -1, 1, 1, -1, -1, 1]
    lines = [measured(name, 20 + 2 * n + e) for (name, n), e in zip(SIZES.items(), off, strict=True)]
    line, _ = fit_lines(task_times(lines, SIZES))
    assert line is not None
    assert (line.a, line.b) == pytest.approx((20, 2))
    assert line.r2 == pytest.approx(1 - 8 / (42 * 4 + 8), abs=1e-4)


def test_the_robust_line_stands_where_one_task_is_absurd() -> None:
    """If one of eight medians is fifty times too long, Theil-Sen keeps the slope and least squares does not."""
    lines = [measured(name, (5 + 1.5 * n) * (50 if n == 10 else 1)) for name, n in SIZES.items()]
    square, robust = fit_lines(task_times(lines, SIZES))
    assert square is not None
    assert robust is not None
    assert robust.b == pytest.approx(1.5, rel=0.01)
    assert square.b > 10


@pytest.mark.parametrize("count", [0, 1, 2])
def test_through_two_points_there_is_always_a_line(count: int) -> None:
    """No line is fitted to fewer than three tasks, or to tasks that all have the same number of tokens."""
    names = list(SIZES)[:count]
    assert fit_lines(task_times([measured(name, 9) for name in names], SIZES)) == (None, None)
    same = task_times([measured(name, 9) for name in SIZES], dict.fromkeys(SIZES, 4))
    assert fit_lines(same) == (None, None)


def test_a_median_is_of_those_who_passed_the_first_time_each() -> None:
    """The median uses only each participant's first measurement of the task. A skip is counted and gives no time."""
    lines = [measured("files-1", seconds, n) for n, seconds in enumerate([10, 12, 30])]
    lines += [measured("files-1", 1, 0), measured("files-1", 99, 7, passed=False)]
    (time,) = task_times(lines, SIZES)
    assert (time.median_s, time.measurements, time.skipped, time.outliers) == (12, 3, 1, 0)


def test_who_was_called_away_is_left_out() -> None:
    """A time that is far longer than the others is left out of the median and counted as an outlier."""
    lines = [measured("files-1", seconds, n) for n, seconds in enumerate([9, 10, 10.5, 11, 12, 600])]
    (time,) = task_times(lines, SIZES)
    assert (time.median_s, time.measurements, time.outliers) == (10.5, 5, 1)


@settings(max_examples=examples(60))
@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_outliers_are_few_and_never_the_middle(seconds: list[float], chance: random.Random) -> None:
    """Removing outliers keeps at least half of the times and does not depend on their order."""
    given_ = np.array(seconds)
    kept = without_outliers(given_)
    assert 2 * kept.size >= given_.size
    chance.shuffle(seconds)
    assert sorted(without_outliers(np.array(seconds))) == sorted(kept)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a file of measurements: those of two participants, and three that give no time for the suite."""
    root = small_checkout(tmp_path, TASKS, {}).root
    lines = [measured(name, 5 + 1.5 * n + person, person) for name, n in SIZES.items() for person in (1, 2)]
    lines += [measured("files-1", 3, suite="other"), measured("gone", 3), measured("files-1", 3, 9, passed=False)]
    (root / "m.jsonl").write_text(json_lines(lines))
    return root


def test_measurements_that_tell_nothing_of_the_suite_are_counted(root: Path) -> None:
    """Measurements of another suite or of an unknown task are left out and counted by reason."""
    fit = fit_study(load_suite(root / "fixtures" / "tiny"), [root / "m.jsonl"])
    assert fit.left_out == {"of suite other": 1, "of a task that the suite has no more": 1}
    assert (fit.n, fit.participants) == (8, 3)


def test_medians_become_timings_of_the_suite(root: Path) -> None:
    """Medians are written into the suite as empirical timings, with their numbers of measurements.

    The line of a task without a measurement keeps its bytes, and a second run changes no file.
    """
    folder = root / "fixtures" / "tiny"
    file = folder / "tasks" / "files.jsonl"
    lines = (root / "m.jsonl").read_text().splitlines(keepends=True)
    (root / "m.jsonl").write_text("".join(line for line in lines if '"files-8"' not in line))
    last = file.read_bytes().splitlines()[-1]
    changed = write_timings(load_suite(folder), fit_study(load_suite(folder), [root / "m.jsonl"]))
    assert changed == [file, folder / "suite.toml"]
    suite = load_suite(folder)
    assert [human_time(task).provenance for task in suite.tasks] == ["empirical"] * 7 + ["estimated"]
    first = human_time(suite.tasks[0])
    assert (first.human_s, first.measurements) == (5 + 1.5 * SIZES["files-1"] + 1.5, 2)
    assert file.read_bytes().splitlines()[-1] == last
    assert write_timings(suite, fit_study(suite, [root / "m.jsonl"])) == []


def test_the_command_prints_what_it_fitted(root: Path) -> None:
    """The command prints the fitted lines as text, and the same figures as JSON with `--json`."""
    arguments = ["study", "fit", "m.jsonl", "--suite", "tiny"]
    with contextlib.chdir(root):
        text = CommandRunner().invoke(app, arguments)
        shown = CommandRunner().invoke(app, [*arguments, "--json"])
    assert (text.exit_code, "8 tasks, 3 participants" in text.stdout) == (0, True)
    assert "least squares: 6.50 s + 1.500 s * size, R2 1.000" in text.stdout
    found = json.loads(shown.stdout)
    assert (found["least_squares"]["a"], found["theil_sen"]["b"], found["n"]) == (6.5, 1.5, 8)
    assert found["present"]["a"] == 7


def test_a_worked_example_of_outliers_comes_out() -> None:
    """The example in the module's docstrings gives the documented result."""
    assert doctest.testmod(fit_module) == (0, 1)
