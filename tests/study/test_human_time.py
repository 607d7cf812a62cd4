"""The time that a person takes for a task, and the share of tasks that a system solves within multiples of it."""

from __future__ import annotations

import doctest
import statistics
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pydantic import ValidationError

from evaluator.errors import FormatError
from evaluator.metrics import horizon as horizon_module
from evaluator.metrics import human_time as human_time_module
from evaluator.metrics.accuracy import execution_accuracy
from evaluator.metrics.frames import TaskFacts, results_frame
from evaluator.metrics.horizon import horizon
from evaluator.metrics.human_time import count_tokens, human_time, reference_tokens
from evaluator.records import Finding, Outcome, Result, RunMetrics, Task, Tier, Timing, Usage
from evaluator.suites.load import Suite, load_suite
from evaluator.testing.checkouts import small_task, write_suite
from tests.properties import examples

TIMES = {
    "empirical": Timing(human_s=10, provenance="empirical"),
    "estimated": Timing(human_s=20, provenance="estimated"),
}
SECONDS = st.none() | st.floats(0, 100)
ANSWERS = st.lists(
    st.tuples(st.sampled_from(list(Outcome)), SECONDS, SECONDS, st.sampled_from([*TIMES, None])), min_size=1, max_size=9
)


def task(*references: str, timing: Timing | None = None) -> Task:
    return Task.model_validate(
        {
            "id": "t",
            "nl": "do it",
            "references": references,
            "world": "w",
            "output": "none",
            "topic": "files",
            "difficulty": 1,
            "timing": timing,
        }
    )


def graded(answers: Sequence[tuple[Outcome, float | None, float | None, str | None]]) -> pl.DataFrame:
    """Return a results frame of one submission with one row per answer.

    An answer is an outcome, a latency in seconds, a wall time in seconds, and the provenance of the person's time.
    """
    facts, results = {}, []
    for number, (outcome, latency, wall, provenance) in enumerate(answers):
        facts[f"t{number}"] = TaskFacts("files", timing=TIMES[provenance] if provenance else None)
        measured = None if wall is None else wall * 1000
        results.append(
            Result(
                submission="one",
                suite="core",
                task=f"t{number}",
                rank=1,
                command=b"ls",
                confidence=1,
                finding=Finding(outcome=outcome),
                nlc2cmd=0,
                run=RunMetrics(valid=True, runnable=True, exit_zero=True, clean_stderr=True, wall_ms=measured),
                usage=Usage(latency_s=latency),
            )
        )
    return results_frame(results, facts)


def shares(frame: pl.DataFrame) -> dict[str, list[float] | None]:
    return {
        row["slice"]: row["within"] and [point["share"] for point in row["within"]]
        for row in horizon(frame).iter_rows(named=True)
    }


@pytest.mark.parametrize(
    ("command", "tokens"),
    [
        ("", 0),
        ("ls", 1),
        ("ls -la | wc -l", 5),
        ("ls|wc", 3),
        ("a && b || c", 5),
        ("sort <in >out 2>&1", 8),
        (r"find . \( -empty \) -exec rm {} \;", 9),
        ("awk '{ print $1 }' log", 6),
        ("for f in *; do\n  echo $f\ndone", 9),
        ("echo 'no end", 3),
    ],
)
def test_tokens_are_words_and_operators(command: str, tokens: int) -> None:
    """Words and operators are counted, even inside quotes and in text that no shell can read.

    An escaped operator counts as a word.
    """
    assert count_tokens(command.encode()) == tokens


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_tokens_of_two_lines_add_up(one: bytes, other: bytes) -> None:
    """A line break ends a token unless a backslash precedes the break, so the counts of two lines add up."""
    if not one.endswith(b"\\"):
        assert count_tokens(one + b"\n" + other) == count_tokens(one) + count_tokens(other)


def test_an_estimate_is_of_the_shortest_reference() -> None:
    """The estimate for a shortest reference of three tokens and two words is 7 s plus 3 s for each 3 1/6 tokens."""
    found = human_time(task("find . -type f -name '*'", "ls -R ."))
    assert (found.human_s, found.provenance, found.measurements) == (16.501, "estimated", None)


def test_a_timing_of_its_own_is_taken_as_it_is() -> None:
    """If a task has a timing in the suite, this timing replaces the estimate."""
    own = Timing(human_s=31, provenance="empirical", measurements=4)
    assert human_time(task("ls", timing=own)) == own


def test_only_what_is_measured_rests_on_measurements() -> None:
    """An estimated timing with a number of measurements is refused, because it contradicts itself."""
    with pytest.raises(ValidationError, match="expected none for an estimated time"):
        Timing(human_s=9, provenance="estimated", measurements=2)


def test_every_task_of_our_suites_has_a_time(core: Suite) -> None:
    """Every task has a time between ten seconds and four hours, and a harder tier takes longer over both suites."""
    tasks = (*core.tasks, *load_suite(core.folder.with_name("programs")).tasks)
    times = {each.id: human_time(each) for each in tasks}
    assert {time.provenance for time in times.values()} <= {"empirical", "estimated"}
    assert all(10 < time.human_s < 4 * 3600 for time in times.values())
    assert all(reference_tokens(each) >= 1 for each in tasks)
    everyday, middle, expert = (
        statistics.median(times[each.id].human_s for each in tasks if each.tier == tier) for tier in Tier
    )
    assert 4 * everyday < 2 * middle < expert


def test_the_curve_counts_what_passes_in_time() -> None:
    """A passed task counts if latency plus wall time is at most 1, 2 or 4 times the person's time."""
    answers = [
        (Outcome.PASS, 9.0, 1.0, "empirical"),
        (Outcome.PASS, 9.0, 1.1, "empirical"),
        (Outcome.PASS, 79.0, 1.0, "estimated"),
        (Outcome.FAIL, 0.1, 0.1, "estimated"),
    ]
    assert shares(graded(answers)) == {"all": [0.25, 0.5, 0.75], "empirical": [0.5, 1, 1], "estimated": [0, 0, 0.5]}


def test_excess_is_negative_where_a_person_takes_longer() -> None:
    """The excess is the median over passed tasks only. It is negative if a person takes longer than the system."""
    answers = [(Outcome.PASS, 2.0, 1.0, "empirical"), (Outcome.FAIL, 90.0, 1.0, "empirical")]
    (whole, _) = horizon(graded(answers)).rows(named=True)
    assert (whole["excess_s"], whole["timed"], whole["asked"]) == (-7.0, 2, 2)


@pytest.mark.parametrize(("latency", "wall"), [(None, 1.0), (1.0, None)])
def test_without_times_there_is_no_curve(latency: float | None, wall: float | None) -> None:
    """Without a latency or a wall time, the curve and the excess are null, not zero."""
    (whole, _) = horizon(graded([(Outcome.PASS, latency, wall, "estimated")])).rows(named=True)
    assert (whole["within"], whole["excess_s"]) == (None, None)
    assert whole["timed"] == (latency is not None)


def test_a_task_without_a_persons_time_is_not_asked_about() -> None:
    """A task without a person's time gives no row of the curve."""
    assert horizon(graded([(Outcome.PASS, 1.0, 1.0, None)])).is_empty()


@settings(max_examples=examples(40))
@given(ANSWERS)
def test_the_curve_grows_and_stays_below_accuracy(
    answers: list[tuple[Outcome, float | None, float | None, str]],
) -> None:
    """Shares lie in [0, 1], never fall as the time bound grows, and never exceed the accuracy."""
    frame = graded(
        [(outcome, latency, wall, provenance or "empirical") for outcome, latency, wall, provenance in answers]
    )
    (accuracy,) = execution_accuracy(frame)["accuracy"]
    for found in shares(frame).values():
        assert found is None or (found == sorted(found) and found[0] >= 0 and found[-1] <= 1)
    whole = shares(frame)["all"]
    assert whole is None or whole[-1] <= accuracy + 1e-12


@settings(max_examples=examples(40))
@given(ANSWERS)
def test_the_order_of_tasks_leaves_no_trace(
    answers: list[tuple[Outcome, float | None, float | None, str | None]],
) -> None:
    """The order of the rows in a results frame does not change the curve."""
    frame = graded(answers)
    assert_frame_equal(horizon(frame.sample(fraction=1, shuffle=True, seed=7)), horizon(frame))


@pytest.mark.parametrize("module", [horizon_module, human_time_module], ids=["horizon", "human_time"])
def test_a_worked_example_comes_out(module: ModuleType) -> None:
    """The examples in the module's docstrings give the documented results."""
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_how_many_were_measured_needs_the_format_that_brought_it(tmp_path: Path) -> None:
    """The field `timing.measurements` is refused before format 3, because older readers do not know this field."""
    timing = Timing(human_s=31, provenance="empirical", measurements=4)
    folder = write_suite(tmp_path, [small_task("files-1", timing=timing)])
    with pytest.raises(FormatError, match=r"timing\.measurements: expected format = 3 in suite\.toml"):
        load_suite(folder)
    manifest = folder / "suite.toml"
    manifest.write_text(manifest.read_text().replace("format = 1", "format = 3"))
    assert load_suite(folder).tasks[0].timing == timing
