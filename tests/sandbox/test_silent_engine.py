"""Tests of an engine that hangs: every kind of request has a time limit, and the error names the request."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.errors import MissingError, SilentEngineError
from evaluator.records import SuiteManifest
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.daemon import Daemon
from evaluator.sandbox.docker_client import TIMEOUTS, Timeouts
from evaluator.sandbox.engine import Engine, ensure_engine, find_engine
from evaluator.sandbox.image import SuiteImage, find_image
from evaluator.sandbox.leftovers import remove_leftovers, worker_group
from evaluator.testing.host import ScriptedHost
from tests.doubles.hanging_engine import WELL, HangingEngine

HASTY = Timeouts(probe_s=0.1, call_s=0.2, work_s=0.3)


@pytest.fixture
def mute() -> Iterator[HangingEngine]:
    with HangingEngine(WELL) as engine:
        yield engine


@pytest.fixture
def hanging(mute: HangingEngine) -> Iterator[Engine]:
    """An engine that answers the first requests and then hangs."""
    engine = find_engine({"DOCKER_HOST": mute.host}, HASTY)
    yield engine
    engine.client.close()


@pytest.mark.parametrize("answers", [{}, {"/version": WELL["/version"]}], ids=["from the start", "after its version"])
def test_one_that_never_says_who_it_is_is_named(answers: dict[str, object]) -> None:
    with HangingEngine(answers) as mute, pytest.raises(MissingError) as caught:
        find_engine({"DOCKER_HOST": mute.host}, HASTY)
    assert f"{mute.host}: it accepts connections, but does not answer" in str(caught.value)


@pytest.mark.skipif(Path("/run/podman/podman.sock").exists(), reason="podman's system socket would be used instead")
def test_no_engine_is_started_beside_one_that_hangs(tmp_path: Path) -> None:
    """If the engine hangs, no other engine is started, because the hanging engine uses the address."""
    machine = ScriptedHost(programs=["apt-get", "dockerd", "/run/systemd/system"])
    with HangingEngine({}) as mute:
        environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
        daemon = Daemon(("false",), mute.host, tmp_path / "d.pid", tmp_path / "d.log")
        with pytest.raises(MissingError, match=r"sudo systemctl restart docker$"):
            ensure_engine(environment, lambda _: None, machine, daemon, HASTY)
    assert machine.calls == []


def start(engine: Engine, manifest: SuiteManifest, _: Path) -> object:
    return ContainerWorker(
        engine, WorkerPlan(SuiteImage("bashboard-suite:none", "sha256:0", "amd64", (), manifest), manifest)
    )


def look(engine: Engine, manifest: SuiteManifest, _: Path) -> object:
    return find_image(engine, manifest)


def clear(engine: Engine, _: SuiteManifest, __: Path) -> object:
    return remove_leftovers(engine)


@pytest.mark.parametrize(
    ("work", "endpoint"),
    [(start, "POST .*/containers/create"), (look, "GET .*/images/.*/json"), (clear, "/containers/json")],
)
def test_what_it_does_not_answer_is_told(
    hanging: Engine, manifest: SuiteManifest, work: Callable[[Engine, SuiteManifest, Path], object], endpoint: str
) -> None:
    """If the engine does not answer a request, the error names the request and the time waited."""
    with pytest.raises(SilentEngineError, match=rf"the engine does not answer \(.*{endpoint}, waited 0 s\)"):
        work(hanging, manifest, Path())


def test_one_that_hangs_by_now_is_not_asked_for_a_container(
    mute: HangingEngine, hanging: Engine, manifest: SuiteManifest
) -> None:
    """Before a container is created, a ping, which has the shortest limit, detects that the engine hangs."""
    mute.answers.clear()
    with pytest.raises(SilentEngineError, match="_ping"):
        start(hanging, manifest, Path())
    assert not any("create" in line for line in mute.asked)


def test_a_worker_group_ends_although_its_engine_hangs(mute: HangingEngine, hanging: Engine, tmp_path: Path) -> None:
    """A worker group ends although its engine hangs. Its note file remains for the next run."""
    with worker_group(hanging, tmp_path):
        mute.answers.clear()
    assert len(list(tmp_path.iterdir())) == 1


def test_limits_grow_with_the_kind_of_request() -> None:
    """The time limit is shortest for a ping, longer for the creation of a container, and longest for the build of an
    image.
    """
    assert TIMEOUTS.probe_s < TIMEOUTS.call_s < TIMEOUTS.work_s
    assert HASTY.of("/v1.48/build?t=x") == HASTY.of("/v1.48/images/create") == HASTY.work_s
    assert HASTY.of("/v1.48/exec/ab12/start") == HASTY.of("/v1.48/containers/ab12/archive?path=/x") == HASTY.work_s
    assert HASTY.of("/v1.48/containers/ab12/start") == HASTY.of("/v1.48/images/json?all=1") == HASTY.call_s
    assert HASTY.of("/v1.48/_ping") == HASTY.of("/version") == HASTY.probe_s


@pytest.mark.engine
def test_limits_of_the_caller_stand() -> None:
    """A timeout that the caller sets is not replaced. For example, a caller sets the wait for a container's end."""
    engine = find_engine(os.environ)
    with contextlib.closing(engine.client) as client:
        assert client.api.get(f"{client.api.base_url}/_ping", timeout=(3, 4)).text == "OK"
