"""Graded candidates for the metrics' tests: one result from a few words, and whole submissions drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from hypothesis import strategies as st

from evaluator.metrics.frames import TaskFacts, results_frame
from evaluator.records import BleuCounts, Finding, Outcome, Result, RunMetrics, TextMetrics, Usage

TASKS = {
    f"t{number}": TaskFacts(
        topic="files" if number % 2 else "text",
        difficulty=1 + number % 3,
        calls={"find": 1.0, "sort": 0.5} if number % 2 else {"find": 2.0},
    )
    for number in range(40)
}


def result(task: str, outcome: Outcome = Outcome.PASS, rank: int = 1, **fields: Any) -> Result:
    """A result of the submission `one`; `collateral` goes to its finding, everything else to itself."""
    values: dict[str, Any] = {"submission": "one", "command": b"ls", "confidence": 1.0, "nlc2cmd": 0.5} | fields
    finding = Finding(outcome=outcome, collateral=bool(values.pop("collateral", False)))
    return Result(suite="core", task=task, rank=rank, finding=finding, **values)


def frame_of(results: Sequence[Result]) -> pl.DataFrame:
    """The results' frame, with the facts of TASKS."""
    return results_frame(results, TASKS)


def _shares() -> st.SearchStrategy[float]:
    return st.integers(0, 20).map(lambda step: step / 20)


@st.composite
def texts(draw: st.DrawFn) -> TextMetrics:
    """A command's likeness to references, in which verbatim implies the full command and that the template."""
    depth = draw(st.integers(0, 3))
    tokens = draw(st.integers(0, 6))
    most = [max(0, tokens - order) for order in range(4)]
    one, two, three, four = (draw(st.integers(0, each)) for each in most)
    counts = BleuCounts(matches=(one, two, three, four), tokens=tokens, reference_tokens=draw(st.integers(1, 6)))
    return TextMetrics(verbatim=depth > 2, full_command=depth > 1, template=depth > 0, bleu=counts)


@st.composite
def runs(draw: st.DrawFn) -> RunMetrics:
    """How a command ran; what is not valid is not runnable."""
    valid = draw(st.booleans())
    return RunMetrics(
        valid=valid,
        runnable=valid and draw(st.booleans()),
        exit_zero=draw(st.booleans()),
        clean_stderr=draw(st.booleans()),
        wall_ms=draw(st.integers(0, 900)),
    )


@st.composite
def submissions(draw: st.DrawFn, slug: str = "one") -> list[Result]:
    """All results of one submission: of every task one to five candidates, or nothing given."""
    found = []
    for number in range(draw(st.integers(1, 8))):
        usage = draw(st.none() | st.builds(Usage, latency_s=st.none() | _shares(), output_tokens=st.integers(0, 50)))
        for rank in range(1, draw(st.integers(1, 5)) + 1):
            outcome = draw(st.sampled_from(list(Outcome)))
            found.append(
                result(
                    f"t{number}",
                    outcome,
                    rank,
                    submission=slug,
                    confidence=draw(_shares()),
                    text=draw(texts()),
                    run=draw(st.none() | runs()),
                    usage=usage,
                )
            )
    return found
