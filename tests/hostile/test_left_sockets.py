"""Sockets that a job may leave behind: the kernel counts every kind that a job can make, also in a new network."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.sandbox.container import WorkerPlan, container_options
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine

pytestmark = pytest.mark.engine

SOCKETS = {
    "local stream": (1, 1, 0),
    "local datagram": (1, 2, 0),
    "local sequenced packets": (1, 5, 0),
    "TCP": (2, 1, 0),
    "TCP 6": (10, 1, 0),
    "UDP": (2, 2, 0),
    "UDP 6": (10, 2, 0),
    "ICMP": (2, 2, 1),
    "ICMP 6": (10, 2, 58),
    "netlink": (16, 3, 0),
}
"""Family, type and protocol of each kind of socket that the filter allows."""

IN_FLIGHT = ("local stream", "local datagram", "local sequenced packets")
NETWORKS = ("the first network", "a new network")

SCRIPT = """
import sys; sys.path.insert(0, "/opt/bashboard")
import ctypes, json, os, platform, socket, time
from evaluator.sandbox.runner import kernel
from evaluator.sandbox.runner.__main__ import KEPT_MOUNTS, RUN
from evaluator.sandbox.runner.census import Census, ContainerUsage

SOCKET, PAIR = {"x86_64": (41, 53), "aarch64": (198, 199)}[platform.machine()]
call = ctypes.CDLL(None, use_errno=True).syscall

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def open_one(numbers):
    return [checked(call(SOCKET, *numbers))]

def open_in_flight(numbers):
    pair = (ctypes.c_int * 2)()
    checked(call(PAIR, *numbers, pair))
    with socket.socket(fileno=pair[0]) as sender:
        socket.send_fds(sender, [b"x"], list(pair))
    os.close(pair[1])
    return []

def counts():
    return [network.sockets_in_use(), network.local_sockets()]

def show(opened, numbers):
    left = opened(numbers)
    shown = {"left": counts()}
    if left:
        shown["census"] = census.settle()
    for descriptor in left:
        os.close(descriptor)
    for _ in range(500):  # the kernel frees some sockets late
        shown["settled"] = census.settle()
        shown["closed"] = counts()
        if not shown["closed"][0]:
            break
        time.sleep(0.01)
    return shown

usage = ContainerUsage(RUN)
kernel.leave_mounts(KEPT_MOUNTS)
network = kernel.Network()
census = Census(network, usage)
sockets, flying, networks = json.loads(sys.argv[1])
found = {}
for name in networks:
    for kind, numbers in sockets.items():
        found[f"{name}: {kind}"] = show(open_one, numbers)
    for kind in flying:
        found[f"{name}: {kind} in flight"] = show(open_in_flight, sockets[kind])
    with socket.socket() as refused:
        refused.connect_ex(("127.0.0.1", 1))
    found[f"{name} is renewed"] = network.renew()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def shown(engine: Engine, plan: WorkerPlan) -> dict[str, Any]:
    """Return what the runner's own functions show in a container with a runner's rights."""
    arguments = json.dumps([SOCKETS, IN_FLIGHT, NETWORKS])
    command = ["python3", "-I", "-S", "-c", SCRIPT, arguments]
    options = {**container_options(engine, plan), "command": command, "log_config": {"type": "json-file"}}
    with engine_errors("the container with the script could not be run"):
        container = engine.client.containers.create(plan.image.reference, **options)
        try:
            container.start()
            container.wait(timeout=120)
            output = container.logs().decode()
        finally:
            container.remove(force=True)
    shown: dict[str, Any] = json.loads(output.splitlines()[-1])
    return shown


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", SOCKETS)
def test_every_socket_is_counted(shown: dict[str, Any], network: str, kind: str) -> None:
    """An open socket is in the kernel's counter, and a local one is a leftover. A closed one is neither."""
    found, is_local = shown[f"{network}: {kind}"], kind in IN_FLIGHT
    assert found["left"] == [1, int(is_local)]
    assert found["census"].partition(";")[0] == ("local sockets: 1" if is_local else "")
    assert found["closed"] == [0, 0]
    assert found["settled"] == ""


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", IN_FLIGHT)
def test_sockets_in_flight_are_counted(shown: dict[str, Any], network: str, kind: str) -> None:
    """A pair in its own queue is counted, although no process has it. The census makes the kernel collect it."""
    found = shown[f"{network}: {kind} in flight"]
    assert found["left"] == [2, 2]
    assert found["closed"] == [0, 0]
    assert found["settled"] == ""


@pytest.mark.parametrize("network", NETWORKS)
def test_a_used_network_is_renewed(shown: dict[str, Any], network: str) -> None:
    """A refused connection changes the counters of the network."""
    assert shown[f"{network} is renewed"] is True
