"""The pool: a command's failure is its evidence, an engine's failure is retried, and a bug is raised."""

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
    """Return the results in the order of the commands."""
    asked = requests(*commands)
    with Pool(workers.start, size, wall_s=1, sleep=workers.sleep) as pool:
        answers = {request.run_key: answer for request, answer in pool.execute(asked)}
    assert workers.closed == workers.started
    return [answers[request.run_key] for request in asked]


def origins(workers: ScriptedWorkers, *commands: str) -> list[ExecutionOrigin | None]:
    """Return the origins of the results, in the order of the commands, from one slot."""
    with Pool(workers.start, 1, wall_s=1, sleep=workers.sleep) as pool:
        found = {request.run_key: request.origin for request, _ in pool.execute(requests(*commands))}
    return [found[str(position), 0] for position in range(len(commands))]


def test_each_result_names_its_container_and_its_position_there() -> None:
    """Positions start at 1 in each container. A container's start is in UTC."""
    later = FIRST_START + timedelta(seconds=1)
    found = origins(ScriptedWorkers([echoes(), echoes(), dies(), echoes(), echoes()]), "a", "b", "c", "d")
    assert found == [
        ExecutionOrigin("container 1", FIRST_START, 1),
        ExecutionOrigin("container 1", FIRST_START, 2),
        ExecutionOrigin("container 2", later, 1),
        ExecutionOrigin("container 2", later, 2),
    ]


def test_a_charged_death_names_the_second_container_and_an_error_names_none() -> None:
    """The third container runs only the command that does nothing."""
    charged, failed = origins(ScriptedWorkers([dies(), dies(), echoes(), says({"error": "x"})]), "killer", "next")
    assert charged == ExecutionOrigin("container 2", FIRST_START + timedelta(seconds=1), 1)
    assert failed is None


def outputs(answers: list[ExecutionResult]) -> list[str]:
    return [answer.stdout.data.decode() if isinstance(answer, Evidence) else "failure" for answer in answers]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_request_is_answered_once(size: int) -> None:
    """This holds with fewer and with more workers than requests."""
    commands = ["a", "b", "c", "a"]
    workers = ScriptedWorkers()
    assert outputs(execute(workers, *commands, size=size)) == commands
    assert len(workers.jobs) == 4


def test_no_request_needs_no_worker() -> None:
    """No worker starts without a request."""
    workers = ScriptedWorkers()
    assert execute(workers) == []
    assert workers.started == 0


def test_a_world_is_told_once_to_each_worker() -> None:
    """This includes a worker that replaces another."""
    workers = ScriptedWorkers([echoes(), dies(), echoes()])
    execute(workers, "a", "b", "c")
    assert [line["op"] for line in workers.notices] == ["world", "world"]


def test_a_death_is_tried_once_more_in_a_fresh_container() -> None:
    """One death may be chance, so the evidence of the second run counts."""
    workers = ScriptedWorkers([dies(), shows("alive")])
    assert outputs(execute(workers, "a")) == ["alive"]
    assert (workers.started, workers.pauses) == (2, [])


@pytest.mark.parametrize(("out_of_memory", "ending"), [(False, Ending.CRASH), (True, Ending.MEMORY)])
def test_two_deaths_are_charged_to_the_command(out_of_memory: bool, ending: Ending) -> None:
    """The evidence records that the command ended two containers, and the next command has a new container."""
    workers = ScriptedWorkers([dies(), dies(out_of_memory=out_of_memory), echoes()])
    first, second = execute(workers, "killer", "next")
    assert first == Evidence(ending=ending)
    assert outputs([second]) == ["next"]


MEMORY: Act = shows(ending="memory", status=None)


def test_the_memory_limit_is_tried_once_more_in_a_fresh_container() -> None:
    """An earlier job may have left something in the first container, so the evidence of the second run counts."""
    workers = ScriptedWorkers([echoes(), MEMORY, shows("fits"), echoes()])
    assert outputs(execute(workers, "a", "b", "c")) == ["a", "fits", "c"]
    assert workers.started == 2


def test_the_memory_limit_counts_in_a_second_container() -> None:
    """The worker of the second run is replaced too, because it may hold the memory."""
    workers = ScriptedWorkers([MEMORY, MEMORY, echoes()])
    first, second = execute(workers, "hog", "next")
    assert isinstance(first, Evidence)
    assert first.ending == Ending.MEMORY
    assert (outputs([second]), workers.started) == (["next"], 3)


def test_a_job_that_a_worker_refuses_runs_in_a_fresh_container() -> None:
    """The leftovers are those of an earlier job. Nothing is charged, and there is no pause."""
    workers = ScriptedWorkers([echoes(), fails(RetiredError("local sockets: 3")), shows("ran")])
    assert outputs(execute(workers, "a", "b")) == ["a", "ran"]
    assert (workers.started, workers.pauses) == (2, [])


def test_a_job_that_the_runner_does_not_finish_is_tried_once_more() -> None:
    """A busy machine may be the cause."""
    workers = ScriptedWorkers([fails(OverdueError("not read")), shows("read")])
    assert outputs(execute(workers, "a")) == ["read"]
    assert workers.started == 2


def test_a_job_that_the_runner_never_finishes_is_an_infra_error() -> None:
    """It is no evidence, and the next request has a new worker."""
    late = fails(OverdueError("not read"))
    workers = ScriptedWorkers([late, late, echoes()])
    first, second = execute(workers, "a", "b")
    assert isinstance(first, SandboxError)
    assert (str(first), outputs([second]), workers.started, workers.pauses) == ("not read", ["b"], 3, [])


def test_a_world_that_ends_its_container_is_the_suites_fault() -> None:
    """A command that does nothing dies in it as well. Further requests for this world fail without a try."""
    workers = ScriptedWorkers([dies(), dies(), dies()])
    answers = execute(workers, "a", "b")
    assert all(isinstance(answer, SandboxError) for answer in answers)
    assert str(answers[0]).startswith("world w, variant plain: its build.sh")
    assert answers[0] == answers[1]
    assert [line["command"] for line in workers.jobs] == ["a", "a", ":"]


def test_a_failure_of_the_engine_while_blame_is_found_blames_nobody() -> None:
    """The command that does nothing is retried as any other is."""
    workers = ScriptedWorkers([dies(), dies(), fails(), echoes()])
    assert execute(workers, "a") == [Evidence(ending=Ending.CRASH)]
    assert workers.pauses == list(PAUSES_S[:1])


@pytest.mark.parametrize("failures", range(1, len(PAUSES_S) + 1))
def test_the_engine_is_given_time_to_come_back(failures: int) -> None:
    """A longer pause and another try follow each failure."""
    workers = ScriptedWorkers([*[fails()] * failures, shows("back")])
    assert outputs(execute(workers, "a")) == ["back"]
    assert workers.pauses == list(PAUSES_S[:failures])


def test_an_engine_that_stays_away_is_an_infra_error() -> None:
    """After the last try the result is the error, which is no evidence."""
    workers = ScriptedWorkers([fails()] * (len(PAUSES_S) + 1))
    (answer,) = execute(workers, "a")
    assert isinstance(answer, EngineError)
    assert workers.pauses == list(PAUSES_S)


def test_a_container_that_will_not_start_is_an_infra_error() -> None:
    """A start is retried as often as any other failure of the engine."""
    workers = ScriptedWorkers(starts=[EngineError("no room")] * (len(PAUSES_S) + 1))
    (answer,) = execute(workers, "a")
    assert isinstance(answer, InfraError)
    assert str(answer) == "no room"


def test_an_engine_that_hangs_is_waited_for_once() -> None:
    """Each try costs its whole timeout, so the next requests are not tried."""
    workers = ScriptedWorkers(starts=[SilentEngineError("no answer")] * (len(PAUSES_S) + 1))
    answers = execute(workers, *"abcdefgh")
    assert [str(answer) for answer in answers] == ["no answer"] * 8
    assert (workers.started, workers.pauses) == (0, list(PAUSES_S))


def test_a_worker_that_is_there_is_asked_although_the_engine_hangs() -> None:
    """Its connection may still work. After its result the engine is tried again."""
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
    """A command is charged with two deaths of its own and nothing else."""
    workers = ScriptedWorkers([dies(), fails(), fails(), shows("fine")])
    assert outputs(execute(workers, "a")) == ["fine"]


def test_a_command_that_kills_between_failures_is_charged() -> None:
    """Two deaths count, whatever happened in between."""
    assert execute(ScriptedWorkers([dies(), fails(), dies()]), "a") == [Evidence(ending=Ending.CRASH)]


@pytest.mark.parametrize(
    "line",
    [
        {"error": "BrokenError: the world w/plain build.sh ended with status 3"},
        {"evidence": {"ending": "not an ending"}, "by_wall": False},
        {"evidence": {"ending": "exited"}},
        {},
    ],
)
def test_a_runner_that_fails_or_babbles_is_an_infra_error(line: dict[str, object]) -> None:
    """It is not the command's failure, and another try would have the same result."""
    workers = ScriptedWorkers([says(line)])
    (answer,) = execute(workers, "a")
    assert isinstance(answer, SandboxError)
    assert len(workers.jobs) == 1


def test_a_wall_timeout_is_tried_once_more_when_nothing_else_runs() -> None:
    """A busy machine may have caused the first timeout. The second try comes last, and its result counts."""
    slow: Act = shows("slow", by_wall=True, ending="timeout", status=None)
    workers = ScriptedWorkers([slow, echoes(), echoes(), shows("in time")])
    assert outputs(execute(workers, "a", "b", "c")) == ["in time", "b", "c"]
    assert [line["command"] for line in workers.jobs] == ["a", "b", "c", "a"]


def test_a_second_wall_timeout_stands() -> None:
    """There is no third try."""
    slow: Act = shows(by_wall=True, ending="timeout", status=None)
    workers = ScriptedWorkers([slow, slow])
    (answer,) = execute(workers, "a")
    assert isinstance(answer, Evidence)
    assert (answer.ending, len(workers.jobs)) == (Ending.TIMEOUT, 2)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("bug", [ZeroDivisionError("ours"), KeyboardInterrupt()])
def test_a_bug_of_ours_is_raised(size: int, bug: BaseException) -> None:
    """It is neither evidence nor retried, and no worker remains."""
    workers = ScriptedWorkers([fails(bug)])
    with pytest.raises(type(bug)):
        execute(workers, "a", "b", "c", size=size)
    assert workers.closed == workers.started


def test_who_stops_listening_leaves_no_worker_behind() -> None:
    """The caller may stop iterating before the end."""
    workers = ScriptedWorkers()
    with Pool(workers.start, 2, wall_s=1, sleep=workers.sleep) as pool:
        next(iter(pool.execute(requests(*"abcdefgh"))))
    assert workers.closed == workers.started
