"""Tests of the job queue.

A worker takes requests for its own worlds first, then for worlds without a worker, then from the longest queue.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.job_queue import JobQueue
from evaluator.sandbox.pool import Pool
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.protocol import World
from evaluator.testing.workers import ScriptedWorkers, shows


def request(world: str, command: str, not_before: float = 0.0, expected_s: float = 0.0) -> Request:
    at_once = Request.of(World("", world, "plain", 1, b"true", None, None, "/", "root"), command.encode())
    return replace(at_once, not_before=not_before, expected_s=expected_s)


def queue_of(*requests: Request) -> JobQueue:
    jobs = JobQueue()
    for item in requests:
        jobs.add(item)
    return jobs


def take(jobs: JobQueue, *built: Request) -> str:
    request = jobs.take({item.world.layer for item in built})
    return request.job.command.decode() if request else "over"


A, B, C = request("w", "a"), request("x", "b"), request("x", "c")


def test_requests_of_one_world_are_taken_in_the_order_they_came() -> None:
    jobs = queue_of(B, A, C)
    assert [take(jobs, B), take(jobs, B), take(jobs, B)] == ["b", "c", "a"]


def test_a_world_that_nobody_has_comes_before_one_that_another_worker_has() -> None:
    jobs = queue_of(B, C, A)
    assert [take(jobs), take(jobs)] == ["b", "a"]


def test_a_worker_without_work_takes_from_where_there_is_most() -> None:
    jobs = queue_of(A, B, request("w", "d"), C, request("x", "e"))
    assert [take(jobs), take(jobs), take(jobs)] == ["a", "b", "c"]


def test_long_commands_of_a_world_come_first() -> None:
    jobs = queue_of(A, request("w", "long", expected_s=3), request("w", "middle", expected_s=2), request("w", "d"))
    assert [take(jobs) for _ in range(4)] == ["long", "middle", "a", "d"]


@pytest.mark.parametrize(("expected_s", "order"), [(1.0, ["a", "other"]), (2.0, ["other", "a"])])
def test_only_a_long_command_is_worth_a_new_world(expected_s: float, order: list[str]) -> None:
    jobs = queue_of(A, request("x", "other", expected_s=expected_s))
    assert [take(jobs, A), take(jobs, A)] == order


def test_what_is_not_due_yet_is_passed_over_and_then_waited_for() -> None:
    due = time.monotonic() + 0.2
    jobs = queue_of(request("w", "late", due), A)
    assert [take(jobs), take(jobs)] == ["a", "late"]
    assert time.monotonic() >= due


def test_whoever_waits_is_woken_by_what_is_added_and_by_the_end() -> None:
    jobs, got = JobQueue(), []
    waits = threading.Thread(target=lambda: got.extend([take(jobs), take(jobs)]))
    waits.start()
    jobs.add(A)
    jobs.close()
    waits.join()
    assert got in (["a", "over"], ["over", "over"])


def test_what_is_appended_while_answers_are_taken_is_executed_too() -> None:
    workers, requests = ScriptedWorkers(), [A]
    answers = []
    with Pool(workers.start, 2, wall_s=1, sleep=workers.sleep) as pool:
        for _, answer in pool.execute(requests):
            assert isinstance(answer, Evidence)
            answers.append(answer.stdout.data)
            if len(requests) < 5:
                requests += [B, C]
    assert sorted(answers) == [b"a", b"b", b"b", b"c", b"c"]
    assert workers.closed == workers.started <= 2


def test_time_in_jobs_is_what_the_runner_tells_of_its_phases() -> None:
    phases = {"phases": {"scratch": 1.0, "command": 1500.0, "reading": 499.0}}
    told = [lambda line: {**shows("done")(line), **phases}] * 3
    workers = ScriptedWorkers(told)
    with Pool(workers.start, 2, wall_s=1, sleep=workers.sleep) as pool:
        assert pool.worker_time.jobs_s == 0.0
        for _ in pool.execute([A, B, C]):
            pass
        assert pool.worker_time.jobs_s == 6.0
        assert 0.0 <= pool.worker_time.answers_s < 6.0
