"""The benchmark of `bashboard generate` runs the real command against a server with a fixed time for each reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import InfraError
from evaluator.pipeline.benchmarks.generation_benchmark import bench_generation
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress

PROJECT = Project(Path(__file__).parents[2])


@pytest.mark.slow
def test_a_run_takes_at_least_the_time_of_its_replies_and_leaves_no_file() -> None:
    before = set((PROJECT.root / "submissions").iterdir())
    (timing,) = bench_generation(
        PROJECT, NullProgress(), suite="core", tasks=9, reply_ms=300, parallel=4, methods=["parser"], runs=1
    )
    assert timing.least_seconds == pytest.approx(0.9)
    assert 0.9 < timing.seconds < timing.with_start
    assert timing.cpu_seconds > 0
    assert set((PROJECT.root / "submissions").iterdir()) == before


@pytest.mark.slow
def test_a_run_that_answers_nothing_is_an_error() -> None:
    with pytest.raises(InfraError, match=r"did not answer 1 task: .*--method unheard-of"):
        bench_generation(
            PROJECT, NullProgress(), suite="core", tasks=1, reply_ms=0, parallel=1, methods=["unheard-of"], runs=1
        )
