"""The conformance suite for every other engine and runtime of this machine that passes a worker's own check.

The engines are those at the usual addresses and at the addresses in BASHBOARD_ENGINES. Each engine is tried with its
default runtime and with its other runtimes. An engine in BASHBOARD_ENGINES must pass with its default runtime.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from evaluator.errors import BashboardError
from evaluator.records import SuiteManifest
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine, engine_addresses, find_engine
from evaluator.sandbox.image import ensure_image

pytestmark = [pytest.mark.engine, pytest.mark.soak]

SUITE = Path(__file__).parent
HERE = {name: value for name, value in os.environ.items() if name not in ("DOCKER_HOST", "BASHBOARD_RUNTIME")}

NAMED = os.environ.get("BASHBOARD_ENGINES", "").split()

Configuration = Mapping[str, str]
"""The variables that choose an engine and a runtime."""


def configurations(used: Engine) -> Iterator[Configuration]:
    """Yield every engine that answers with each of its runtimes, except the configuration that the other tests use."""
    places = [address.host for address in engine_addresses(HERE, os.getuid())]
    for host in dict.fromkeys([used.host, *places, *NAMED]):
        try:
            engine = find_engine({**HERE, "DOCKER_HOST": host})
        except BashboardError:
            continue
        engine.client.close()
        others = engine.runtimes[1:] if engine.name == "docker" else ()  # podman ignores a runtime in a request
        names = ["", *(name for name in others if not name.startswith("io.containerd."))]
        yield from ({"DOCKER_HOST": host, "BASHBOARD_RUNTIME": name} for name in names if (host, name) != key_of(used))


def key_of(engine: Engine) -> tuple[str, str]:
    return engine.host, engine.runtime


def refusal(configuration: Configuration, manifest: SuiteManifest) -> str:
    """Return the reason why no worker starts with a configuration, or an empty text if a worker starts."""
    engine = find_engine({**HERE, **configuration})
    try:
        image = ensure_image(engine, manifest, print)
        ContainerWorker(engine, WorkerPlan(image, manifest)).close()
    except BashboardError as error:
        return str(error)
    finally:
        engine.client.close()
    return ""


def test_every_configuration_that_serves_conforms(engine: Engine, manifest: SuiteManifest) -> None:
    """Every configuration in which a worker starts passes all engine tests of this folder.

    In the other configurations, the worker's check fails before any command runs.
    """
    refusals = {tuple(choice.values()): refusal(choice, manifest) for choice in configurations(engine)}
    print(*(f"{key}: {why or 'serves'}" for key, why in refusals.items()), sep="\n")  # noqa: T201
    asked_for = {(host, "") for host in NAMED} - {key_of(engine)}
    assert {key: refusals.get(key, "it does not answer") for key in asked_for} == dict.fromkeys(asked_for, "")
    serving = [configuration for configuration, why in refusals.items() if not why]
    if not serving:
        pytest.skip("no other engine or runtime serves here; BASHBOARD_ENGINES may hold further addresses")
    for host, runtime in serving:
        chosen = {**HERE, "DOCKER_HOST": host, "BASHBOARD_RUNTIME": runtime}
        command = [sys.executable, "-m", "pytest", "-q", "-m", "engine and not soak", str(SUITE)]
        ended = subprocess.run(command, env=chosen, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, (host, runtime, ended.stdout[-3000:])
