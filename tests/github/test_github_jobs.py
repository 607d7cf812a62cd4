"""The client reads the jobs of a workflow run and the notices of each job."""

from __future__ import annotations

import pytest

from evaluator.errors import UsageError
from evaluator.github.jobs import GithubJob, Notice, jobs_of_run, notices
from tests.doubles.github import Annotation, WorkflowRun
from tests.github.github_harness import GithubHarness

READ = {"actions": "read", "checks": "read"}


def started(harness: GithubHarness) -> WorkflowRun:
    return harness.github.start(harness.board, "publish", "push", harness.board.git.resolve("refs/heads/main"))


def test_each_jobs_notices_are_its_own(harness: GithubHarness) -> None:
    """Each job's notices are found by its check run, also while the job is running."""
    run = started(harness)
    one = harness.github.add_job(
        run, "execute (one)", notices=[("evidence", "one core 01"), ("evidence", "one box 02")]
    )
    two = harness.github.add_job(run, "execute (two)", "failure", [("evidence", "one core 99")])
    three = harness.github.add_job(run, "judge", None)
    other = harness.github.add_job(started(harness), "execute (one)", notices=[("evidence", "one core 77")])
    jobs = jobs_of_run(harness.connect(READ), run.id)
    assert jobs == (
        GithubJob("execute (one)", "success", one.check_run),
        GithubJob("execute (two)", "failure", two.check_run),
        GithubJob("judge", None, three.check_run),
    )
    said = [notices(harness.connect(READ), job.check_run) for job in jobs]
    assert said[0] == (Notice("evidence", "one core 01"), Notice("evidence", "one box 02"))
    assert (said[1], said[2]) == ((Notice("evidence", "one core 99"),), ())
    assert other.check_run not in {job.check_run for job in jobs}


def test_warnings_and_errors_are_no_notices(harness: GithubHarness) -> None:
    job = harness.github.add_job(started(harness), "execute (one)", notices=[("", "::error::x\n%0A")])
    job.annotations += [Annotation("warning", "w", "evidence"), Annotation("failure", "exit code 1")]
    assert notices(harness.connect(READ), job.check_run) == (Notice("", "::error::x\n%0A"),)


def test_an_earlier_attempt_is_over(harness: GithubHarness) -> None:
    run = started(harness)
    harness.github.add_job(run, "execute (one)", "failure")
    run.attempt += 1
    again = harness.github.add_job(run, "execute (one)")
    assert jobs_of_run(harness.connect(READ), run.id) == (GithubJob("execute (one)", "success", again.check_run),)


def test_every_page_is_read(harness: GithubHarness) -> None:
    run = started(harness)
    for each in range(130):
        harness.github.add_job(run, f"execute ({each})")
    run.jobs[0].annotations += [Annotation("notice", str(each), "t") for each in range(130)]
    jobs = jobs_of_run(harness.connect(READ), run.id)
    assert [job.name for job in jobs] == [f"execute ({each})" for each in range(130)]
    assert len(notices(harness.connect(READ), jobs[0].check_run)) == 130


def test_a_run_or_check_that_is_not_there_is_told(harness: GithubHarness) -> None:
    with pytest.raises(UsageError, match="listing the jobs of run 7"):
        jobs_of_run(harness.connect(READ), 7)
    with pytest.raises(UsageError, match="reading the annotations of check run 7"):
        notices(harness.connect(READ), 7)
