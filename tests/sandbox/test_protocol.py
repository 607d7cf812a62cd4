"""Tests of the protocol: a message is equal after a round trip, and a key covers all inputs of the evidence."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.records import SuiteManifest
from evaluator.sandbox.requests import Request, evidence_key, layer_digest, machine_digest
from evaluator.sandbox.runner.protocol import SandboxJob, World, bytes_of, json_of

NAMES = st.text(min_size=1, max_size=8)
SCRIPTS = st.binary(max_size=40)
WORLDS = st.builds(
    World, NAMES, NAMES, NAMES, st.integers(), SCRIPTS, st.none() | SCRIPTS, st.none() | SCRIPTS, NAMES, NAMES
)
PATHS = st.frozensets(st.text(max_size=8).map(str.encode))
JOBS = st.builds(
    SandboxJob, NAMES, SCRIPTS, st.none() | SCRIPTS, st.frozensets(st.sampled_from(["shell", "mtime"])), PATHS
)


def over_the_line(line: dict[str, Any]) -> Any:
    text = json.dumps(line)
    assert "\n" not in text
    return json.loads(text)


@given(st.binary())
def test_any_bytes_survive_json(data: bytes) -> None:
    """Any bytes, text or not, are equal after a round trip through JSON."""
    assert bytes_of(json.loads(json.dumps(json_of(data)))) == data


@given(WORLDS)
def test_a_world_comes_out_as_it_went_in(world: World) -> None:
    """A world is equal after a round trip, and its message is one line."""
    assert World.from_line(over_the_line(world.to_line())) == world


@given(JOBS)
def test_a_job_comes_out_as_it_went_in(job: SandboxJob) -> None:
    """A job is equal after a round trip, and its message is one line."""
    assert SandboxJob.from_line(over_the_line(job.to_line())) == job


@given(WORLDS, WORLDS)
def test_two_worlds_have_one_digest_only_if_they_are_one(one: World, other: World) -> None:
    """Two worlds have the same digest only if they are equal. The name of a world in the protocol does not count."""
    alike = replace(one, layer="") == replace(other, layer="")
    # a missing script and an empty script have the same effect
    emptied = [replace(world, layer="", start=world.start or b"", setup=world.setup or b"") for world in (one, other)]
    assert (layer_digest(one) == layer_digest(other)) == (alike or emptied[0] == emptied[1])


WORLD = World("", "w", "v", 1, b"build", None, None, "/", "root")
REQUEST = Request.of(WORLD, b"true")
OTHERS = {
    "command": Request.of(WORLD, b"false"),
    "verify": Request.of(WORLD, b"true", verify=b"true"),
    "observe": Request.of(WORLD, b"true", observe=frozenset({"shell"})),
    "text_files": Request.of(WORLD, b"true", text_files=frozenset({b"/x"})),
    "driver": Request.of(WORLD, b"true", driver=b"x"),
    "answer": Request.of(WORLD, b"true", answer=b"/x"),
    "wall_s": Request.of(WORLD, b"true", wall_s=10),
    "name": Request.of(replace(WORLD, name="x"), b"true"),
    "variant": Request.of(replace(WORLD, variant="x"), b"true"),
    "seed": Request.of(replace(WORLD, seed=2), b"true"),
    "build": Request.of(replace(WORLD, build=b"x"), b"true"),
    "start": Request.of(replace(WORLD, start=b"x"), b"true"),
    "setup": Request.of(replace(WORLD, setup=b"x"), b"true"),
    "base": Request.of(replace(WORLD, base="x"), b"true"),
    "clock_s": Request.of(replace(WORLD, clock_s=5), b"true"),
    "like": Request.of(replace(WORLD, like="x"), b"true"),
    "hidden": Request.of(replace(WORLD, hidden=("/x",)), b"true"),
    "cwd": Request.of(replace(WORLD, cwd="/x"), b"true"),
    "user": Request.of(replace(WORLD, user="x"), b"true"),
}


@pytest.mark.parametrize("part", OTHERS)
def test_evidence_of_another_request_has_another_key(part: str) -> None:
    """A change of any part of a request changes the key of its evidence."""
    assert evidence_key(OTHERS[part], b"m") != evidence_key(REQUEST, b"m")


def test_every_part_of_a_request_is_in_its_key() -> None:
    """The list of changed requests above covers every field of a request."""
    parts = {field.name for message in (World, SandboxJob) for field in fields(message)}
    assert parts - {"layer"} == set(OTHERS)


@pytest.mark.parametrize(
    ("field", "value"), [("limits", {"cpu_s": 4.0}), ("clock", "2026-01-01T00:00:00Z"), ("environment", {"PATH": "/x"})]
)
def test_another_machine_has_another_key(manifest: SuiteManifest, field: str, value: Any) -> None:
    """A change of the limits, the clock, the environment or the base's fingerprint changes the machine's digest."""
    other = SuiteManifest.model_validate({**manifest.model_dump(mode="json"), field: value})
    assert machine_digest(other, "f") != machine_digest(manifest, "f")
    assert machine_digest(manifest, "g") != machine_digest(manifest, "f")


def test_wording_of_a_suite_is_no_part_of_a_key(manifest: SuiteManifest) -> None:
    """A new title of a suite does not change the machine's digest, so no command runs again."""
    assert machine_digest(manifest.model_copy(update={"title": "x"}), "f") == machine_digest(manifest, "f")
