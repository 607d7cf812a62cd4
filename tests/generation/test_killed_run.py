"""A run of `bashboard generate` that is killed at random moments repeats no reply and ends like another run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.generation.generate_submission import generate
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from tests.doubles.model_server import JudgeServer
from tests.generation.generation_harness import TASKS, forty_tasks, options_for
from tests.generation.killed_run import PARALLEL, answers, kill_and_continue, varied


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 1), *(pytest.param(10, seed, marks=pytest.mark.soak) for seed in (2, 3, 4))]
)
def test_a_killed_run_asks_for_no_logged_reply_again(project: Project, tmp_path: Path, kills: int, seed: int) -> None:
    """Each kill costs at most the requests in flight. Commands, candidates and tokens equal an uninterrupted run."""
    run = kill_and_continue(project, kills, seed)
    uninterrupted = forty_tasks(tmp_path / "uninterrupted")
    with JudgeServer(varied) as server:
        made = generate(uninterrupted, options_for(server, "parser", parallel=16), NullProgress())
    assert (made.answered, made.requested) == (TASKS, run.requests)
    assert run.requests > TASKS
    assert max(run.unlogged) <= PARALLEL
    assert run.repeats <= sum(run.unlogged)
    assert answers(project) == answers(uninterrupted)
