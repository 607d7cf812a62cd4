"""What a run's jobs were, and what each said for itself."""

from __future__ import annotations

import pytest

from evaluator.errors import UsageError
from evaluator.github.jobs import Job, Notice, jobs_of_run, notices
from tests.doubles.github import Annotation, Run
from tests.github.github_bench import Bench

READ = {"actions": "read", "checks": "read"}


def started(bench: Bench) -> Run:
    return bench.github.start(bench.board, "publish", "push", bench.board.git.resolve("refs/heads/main"))


def test_each_jobs_notices_are_its_own(bench: Bench) -> None:
    """Found by its check run; a job that still runs has said some already."""
    run = started(bench)
    one = bench.github.add_job(run, "execute (one)", notices=[("evidence", "one core 01"), ("evidence", "one box 02")])
    two = bench.github.add_job(run, "execute (two)", "failure", [("evidence", "one core 99")])
    three = bench.github.add_job(run, "judge", None)
    other = bench.github.add_job(started(bench), "execute (one)", notices=[("evidence", "one core 77")])
    jobs = jobs_of_run(bench.connect(READ), run.id)
    assert jobs == (
        Job("execute (one)", "success", one.check_run),
        Job("execute (two)", "failure", two.check_run),
        Job("judge", None, three.check_run),
    )
    said = [notices(bench.connect(READ), job.check_run) for job in jobs]
    assert said[0] == (Notice("evidence", "one core 01"), Notice("evidence", "one box 02"))
    assert (said[1], said[2]) == ((Notice("evidence", "one core 99"),), ())
    assert other.check_run not in {job.check_run for job in jobs}


def test_warnings_and_errors_are_no_notices(bench: Bench) -> None:
    job = bench.github.add_job(started(bench), "execute (one)", notices=[("", "::error::x\n%0A")])
    job.annotations += [Annotation("warning", "w", "evidence"), Annotation("failure", "exit code 1")]
    assert notices(bench.connect(READ), job.check_run) == (Notice("", "::error::x\n%0A"),)


def test_an_earlier_attempt_is_over(bench: Bench) -> None:
    run = started(bench)
    bench.github.add_job(run, "execute (one)", "failure")
    run.attempt += 1
    again = bench.github.add_job(run, "execute (one)")
    assert jobs_of_run(bench.connect(READ), run.id) == (Job("execute (one)", "success", again.check_run),)


def test_every_page_is_read(bench: Bench) -> None:
    run = started(bench)
    for each in range(130):
        bench.github.add_job(run, f"execute ({each})")
    run.jobs[0].annotations += [Annotation("notice", str(each), "t") for each in range(130)]
    jobs = jobs_of_run(bench.connect(READ), run.id)
    assert [job.name for job in jobs] == [f"execute ({each})" for each in range(130)]
    assert len(notices(bench.connect(READ), jobs[0].check_run)) == 130


def test_a_run_or_check_that_is_not_there_is_told(bench: Bench) -> None:
    with pytest.raises(UsageError, match="listing the jobs of run 7"):
        jobs_of_run(bench.connect(READ), 7)
    with pytest.raises(UsageError, match="reading what check run 7 said"):
        notices(bench.connect(READ), 7)
