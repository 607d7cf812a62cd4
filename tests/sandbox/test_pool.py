"""Tests of the pool: a command's failure is its evidence, an engine's failure is retried, and a bug is raised."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from evaluator.errors import EngineError, InfraError, SandboxError, SilentEngineError
from evaluator.records import Ending, Evidence
from evaluator.sandbox.pool import PAUSES_S, Pool, RetryPolicy
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.sandbox.runner.protocol import World
from evaluator.sandbox.worker import ExecutionOrigin, OverdueError, RetiredError
from evaluator.testing.workers import FIRST_START, Act, ScriptedWorkers, dies, echoes, fails, says, shows

WORLD = World("", "w", "plain", 1, b"true", None, None, "/", "root")


def requests(*commands: str, world: World = WORLD) -> list[Request]:
    """Return requests with their positions as run keys."""
    return [
        replace(Request.of(world, command.encode()), run_key=(str(position), 0))
        for position, command in enumerate(commands)
    ]


def execute(workers: ScriptedWorkers, *commands: str, size: int = 1) -> list[ExecutionResult]:
    """Execute these commands with a pool, and return the results in the order of the commands."""
    asked = requests(*commands)
    with Pool(workers.start, size, wall_s=1, sleep=workers.sleep) as pool:
        answers = {request.run_key: answer for request, answer in pool.execute(asked)}
    assert workers.closed == workers.started
    return [answers[request.run_key] for request in asked]


def origins(workers: ScriptedWorkers, *commands: str) -> list[ExecutionOrigin | None]:
    """Execute these commands with one worker slot, and return the results' origins in the order of the commands."""
    with Pool(workers.start, 1, wall_s=1, sleep=workers.sleep) as pool:
        found = {request.run_key: request.origin for request, _ in pool.execute(requests(*commands))}
    return [found[str(position), 0] for position in range(len(commands))]


def test_each_result_names_its_container_and_its_position_there() -> None:
    """Each result names its container, the container's start time in UTC, and its position in that container.

    Positions start at 1 in each container.
    """
    later = FIRST_START + timedelta(seconds=1)
    found = origins(ScriptedWorkers([echoes(), echoes(), dies(), echoes(), echoes()]), "a", "b", "c", "d")
    assert found == [
        ExecutionOrigin("container 1", FIRST_START, 1),
        ExecutionOrigin("container 1", FIRST_START, 2),
        ExecutionOrigin("container 2", later, 1),
        ExecutionOrigin("container 2", later, 2),
    ]


def test_a_charged_death_names_the_second_container_and_an_error_names_none() -> None:
    """A command that ended two containers has the second container as its origin. An error has no origin.

    A third container runs only a command that does nothing.
    """
    charged, failed = origins(ScriptedWorkers([dies(), dies(), echoes(), says({"error": "x"})]), "killer", "next")
    assert charged == ExecutionOrigin("container 2", FIRST_START + timedelta(seconds=1), 1)
    assert failed is None


def outputs(answers: list[ExecutionResult]) -> list[str]:
    return [answer.stdout.data.decode() if isinstance(answer, Evidence) else "failure" for answer in answers]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_request_is_answered_once(size: int) -> None:
    """Every request is answered once, with fewer and with more workers than requests."""
    commands = ["a", "b", "c", "a"]
    workers = ScriptedWorkers()
    assert outputs(execute(workers, *commands, size=size)) == commands
    assert len(workers.jobs) == 4


def test_no_request_needs_no_worker() -> None:
    """Without a request, no worker starts."""
    workers = ScriptedWorkers()
    assert execute(workers) == []
    assert workers.started == 0


def test_a_world_is_told_once_to_each_worker() -> None:
    """Each worker receives a world once, including a worker that replaces another worker."""
    workers = ScriptedWorkers([echoes(), dies(), echoes()])
    execute(workers, "a", "b", "c")
    assert [line["op"] for line in workers.notices] == ["world", "world"]


def test_a_death_is_tried_once_more_in_a_fresh_container() -> None:
    """If a worker dies during a command, the command runs again in a new container, and the second evidence counts."""
    workers = ScriptedWorkers([dies(), shows("alive")])
    assert outputs(execute(workers, "a")) == ["alive"]
    assert (workers.started, workers.pauses) == (2, [])


@pytest.mark.parametrize(("out_of_memory", "ending"), [(False, Ending.CRASH), (True, Ending.MEMORY)])
def test_two_deaths_are_charged_to_the_command(out_of_memory: bool, ending: Ending) -> None:
    """If a command ends two containers, its evidence records this. The next command has a new container."""
    workers = ScriptedWorkers([dies(), dies(out_of_memory=out_of_memory), echoes()])
    first, second = execute(workers, "killer", "next")
    assert first == Evidence(ending=ending)
    assert outputs([second]) == ["next"]


MEMORY: Act = shows(ending="memory", status=None)


def test_the_memory_limit_is_tried_once_more_in_a_fresh_container() -> None:
    """A command that reaches the memory limit runs again in a new container, and the second evidence counts.

    An earlier job may have left memory in use in the first container.
    """
    workers = ScriptedWorkers([echoes(), MEMORY, shows("fits"), echoes()])
    assert outputs(execute(workers, "a", "b", "c")) == ["a", "fits", "c"]
    assert workers.started == 2


def test_the_memory_limit_counts_in_a_second_container() -> None:
    """If a command reaches the memory limit twice, this is its evidence.

    The worker of the second run is replaced too, because memory may still be in use there.
    """
    workers = ScriptedWorkers([MEMORY, MEMORY, echoes()])
    first, second = execute(workers, "hog", "next")
    assert isinstance(first, Evidence)
    assert first.ending == Ending.MEMORY
    assert (outputs([second]), workers.started) == (["next"], 3)


def test_a_job_that_a_worker_refuses_runs_in_a_fresh_container() -> None:
    """A job that a worker refuses because of an earlier job's leftovers runs in a new container without a pause.

    The refusal does not count against the command.
    """
    workers = ScriptedWorkers([echoes(), fails(RetiredError("local sockets: 3")), shows("ran")])
    assert outputs(execute(workers, "a", "b")) == ["a", "ran"]
    assert (workers.started, workers.pauses) == (2, [])


def test_a_job_that_the_runner_does_not_finish_is_tried_once_more() -> None:
    """A job that the runner does not finish in time is tried once more, because a busy machine may be the cause."""
    workers = ScriptedWorkers([fails(OverdueError("not read")), shows("read")])
    assert outputs(execute(workers, "a")) == ["read"]
    assert workers.started == 2


def test_a_job_that_the_runner_never_finishes_is_an_infra_error() -> None:
    """If the runner does not finish a job in time in both tries, the result is an infrastructure error and not
    evidence.

    The next request has a new worker.
    """
    late = fails(OverdueError("not read"))
    workers = ScriptedWorkers([late, late, echoes()])
    first, second = execute(workers, "a", "b")
    assert isinstance(first, SandboxError)
    assert (str(first), outputs([second]), workers.started, workers.pauses) == ("not read", ["b"], 3, [])


def test_a_world_that_ends_its_container_is_the_suites_fault() -> None:
    """If a command that does nothing also ends its container, the world is at fault.

    Further requests for this world fail and are not executed.
    """
    workers = ScriptedWorkers([dies(), dies(), dies()])
    answers = execute(workers, "a", "b")
    assert all(isinstance(answer, SandboxError) for answer in answers)
    assert str(answers[0]).startswith("world w, variant plain: its build.sh")
    assert answers[0] == answers[1]
    assert [line["command"] for line in workers.jobs] == ["a", "a", ":"]


def test_a_failure_of_the_engine_while_blame_is_found_blames_nobody() -> None:
    """If the engine fails during the command that does nothing, this command is retried like any other command."""
    workers = ScriptedWorkers([dies(), dies(), fails(), echoes()])
    assert execute(workers, "a") == [Evidence(ending=Ending.CRASH)]
    assert workers.pauses == list(PAUSES_S[:1])


@pytest.mark.parametrize("failures", range(1, len(PAUSES_S) + 1))
def test_the_engine_is_given_time_to_come_back(failures: int) -> None:
    """After each failure of the engine, the request is tried again after a longer pause."""
    workers = ScriptedWorkers([*[fails()] * failures, shows("back")])
    assert outputs(execute(workers, "a")) == ["back"]
    assert workers.pauses == list(PAUSES_S[:failures])


def test_an_engine_that_stays_away_is_an_infra_error() -> None:
    """If the engine still fails at the last try, the result is an infrastructure error and not evidence."""
    workers = ScriptedWorkers([fails()] * (len(PAUSES_S) + 1))
    (answer,) = execute(workers, "a")
    assert isinstance(answer, EngineError)
    assert workers.pauses == list(PAUSES_S)


def test_a_container_that_will_not_start_is_an_infra_error() -> None:
    """A container's start is retried as often as any other request to the engine.

    If it still fails, the result is an infrastructure error.
    """
    workers = ScriptedWorkers(starts=[EngineError("no room")] * (len(PAUSES_S) + 1))
    (answer,) = execute(workers, "a")
    assert isinstance(answer, InfraError)
    assert str(answer) == "no room"


def test_an_engine_that_hangs_is_waited_for_once() -> None:
    """If the engine hangs for one request, the next requests fail and are not tried, because each try takes a whole
    timeout.
    """
    workers = ScriptedWorkers(starts=[SilentEngineError("no answer")] * (len(PAUSES_S) + 1))
    answers = execute(workers, *"abcdefgh")
    assert [str(answer) for answer in answers] == ["no answer"] * 8
    assert (workers.started, workers.pauses) == (0, list(PAUSES_S))


def test_a_worker_that_is_there_is_asked_although_the_engine_hangs() -> None:
    """A running worker is used even if the engine hangs, because the worker's connection may still work.

    After a result of the worker, the engine is tried again.
    """
    patience = RetryPolicy()
    (request,) = requests("a")
    hangs = SilentEngineError("no answer")
    patience.exhaust(hangs)
    assert (patience.known_failure(request, has_worker=True), patience.known_failure(request, has_worker=False)) == (
        None,
        hangs,
    )
    patience.reset()
    assert patience.known_failure(request, has_worker=False) is None


def test_the_engines_failures_do_not_count_as_deaths() -> None:
    """Failures of the engine do not count as deaths of a command's worker."""
    workers = ScriptedWorkers([dies(), fails(), fails(), shows("fine")])
    assert outputs(execute(workers, "a")) == ["fine"]


def test_a_command_that_kills_between_failures_is_charged() -> None:
    """Two deaths of a worker count against the command, even if the engine fails between them."""
    assert execute(ScriptedWorkers([dies(), fails(), dies()]), "a") == [Evidence(ending=Ending.CRASH)]


@pytest.mark.parametrize(
    "line",
    [
        {"error": "BrokenError: the world w/plain build.sh ended with status 3"},
        {"evidence": {"ending": "not an ending"}, "by_wall": False},
        {"evidence": {"ending": "exited"}},
        {"evidence": {"ending": "exited"}, "by_wall": True},
        {},
    ],
)
def test_a_runner_that_fails_or_babbles_is_an_infra_error(line: dict[str, object]) -> None:
    """A runner's error or invalid answer is an infrastructure error, and the request is not tried again.

    It is not a failure of the command, and another try would have the same result.
    """
    workers = ScriptedWorkers([says(line)])
    (answer,) = execute(workers, "a")
    assert isinstance(answer, SandboxError)
    assert len(workers.jobs) == 1


TIMEOUT: Act = shows(by_wall=True, ending="timeout", status=None)
DOUBTFUL: Act = shows(by_wall=True, lost_time_known=False, ending="timeout", status=None)


def test_a_wall_timeout_is_final_after_one_run() -> None:
    """The runner has given the command its lost time back. The worker stays, because nothing was left behind."""
    workers = ScriptedWorkers([TIMEOUT, echoes()])
    first, second = execute(workers, "slow", "next")
    assert isinstance(first, Evidence)
    assert (first.ending, outputs([second])) == (Ending.TIMEOUT, ["next"])
    assert (len(workers.jobs), workers.started) == (2, 1)


def test_a_wall_timeout_of_unknown_cause_is_tried_once_more() -> None:
    """If the lost time is unknown, a busy machine may have caused the timeout. The second result counts."""
    play = {"a": [DOUBTFUL, shows("in time")]}
    workers = ScriptedWorkers([lambda line: play.get(line["command"], [echoes()]).pop(0)(line)] * 4)
    assert outputs(execute(workers, "a", "b", "c")) == ["in time", "b", "c"]
    assert sorted(line["command"] for line in workers.jobs) == ["a", "a", "b", "c"]


def test_a_second_wall_timeout_of_unknown_cause_stands() -> None:
    workers = ScriptedWorkers([DOUBTFUL, DOUBTFUL])
    (answer,) = execute(workers, "a")
    assert isinstance(answer, Evidence)
    assert (answer.ending, len(workers.jobs)) == (Ending.TIMEOUT, 2)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("bug", [ZeroDivisionError("ours"), KeyboardInterrupt()])
def test_a_bug_of_ours_is_raised(size: int, bug: BaseException) -> None:
    """An unexpected exception is raised and not retried. All workers are closed."""
    workers = ScriptedWorkers([fails(bug)])
    with pytest.raises(type(bug)):
        execute(workers, "a", "b", "c", size=size)
    assert workers.closed == workers.started


def test_who_stops_listening_leaves_no_worker_behind() -> None:
    """All workers are closed even if the caller stops to iterate before the end."""
    workers = ScriptedWorkers()
    with Pool(workers.start, 2, wall_s=1, sleep=workers.sleep) as pool:
        next(iter(pool.execute(requests(*"abcdefgh"))))
    assert workers.closed == workers.started
