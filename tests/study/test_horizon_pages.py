"""The parts of the site that compare systems' times with a person's time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.leaderboard.charts import has_horizon, horizon_chart
from evaluator.leaderboard.horizon_part import render_horizon
from evaluator.leaderboard.task_page import render_task
from evaluator.records import HorizonSlice, Standing, SubmissionMetrics, Timing
from evaluator.testing.boards import drawn_board

ROWS = drawn_board(3, 8).standings


def timed(row: Standing, within: dict[int, float] | None, excess: float | None = -1.25) -> Standing:
    part = HorizonSlice(slice="all", asked=8, timed=0 if within is None else 6, within=within, excess_s=excess)
    return row.model_copy(update={"figures": SubmissionMetrics(horizon=(part,))})


def test_only_systems_that_report_latencies_are_drawn() -> None:
    """The chart has one point per time bound for each system that reports latencies, and none for the other systems."""
    rows = [timed(ROWS[0], None), timed(ROWS[1], {1: 0.25, 2: 0.5, 4: 0.5}), ROWS[2]]
    (values,) = horizon_chart(rows).to_dict()["datasets"].values()
    assert [(each["system"], each["time"], each["share"]) for each in values] == [
        (ROWS[1].system, "1×", 0.25),
        (ROWS[1].system, "2×", 0.5),
        (ROWS[1].system, "4×", 0.5),
    ]


def test_without_latencies_there_is_no_chart() -> None:
    """If no system reports a latency, there is no chart, because an empty chart would look like zeros."""
    assert not has_horizon([timed(row, None, None) for row in ROWS])
    assert has_horizon([timed(ROWS[0], {1: 0.0})])


@pytest.mark.parametrize(
    ("within", "said"),
    [(None, ["reports no latency"]), ({1: 0.25, 2: 0.5}, ["25.0", "50.0", "−1.2", "6</td>", "Within 2×"])],
)
def test_a_submissions_page_says_how_it_stands(within: dict[int, float] | None, said: list[str]) -> None:
    """A submission's page has a table of the shares solved in time, or says that the submission reports no latency."""
    shown = render_horizon(timed(ROWS[0], within))
    assert [each for each in said if each not in shown] == []


def test_a_page_of_old_figures_says_nothing() -> None:
    """The page of a submission whose figures have no horizon says nothing about times."""
    assert render_horizon(ROWS[0]) == ""


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        (Timing(human_s=12.4, provenance="estimated"), '12.4 s <small class="note">estimated, nobody timed'),
        (Timing(human_s=31, provenance="empirical", measurements=4), '31.0 s <small class="note">the median of 4 '),
        (Timing(human_s=31, provenance="empirical"), '31.0 s <small class="note">measured<'),
    ],
)
def test_a_tasks_page_says_how_its_time_is_known(timing: Timing, said: str) -> None:
    """A task's page shows a person's time, and whether the time is estimated or a median of measurements."""
    board = drawn_board(1, 2)
    task = board.tasks[0]
    assert said in render_task(replace(board, times={task.id: timing}), task, {})
    assert "A person's time" not in render_task(board, task, {})
