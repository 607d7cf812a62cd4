"""Requests to the sandbox to execute a command, and the cache keys of the evidence that the execution gives.

Requests with the same key always have the same evidence. The key is a digest of the command's bytes, the task's driver
and verifier, its wall-clock limit, all inputs of the world's build, the choice of observations, the limits of the
suite, the clock and the base image's packages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from evaluator.errors import InfraError
from evaluator.records import Evidence, SuiteManifest, canonical_json, digest_of, framed
from evaluator.sandbox.runner.protocol import SandboxJob, World
from evaluator.sandbox.worker import ExecutionOrigin


def layer_digest(world: World) -> str:
    """Return the digest of all inputs to the build of a world's variant, including the set-up script of the task.

    >>> layer_digest(World("", "w", "a", 1, b"true", None, None, "/srv", "root"))[:8]
    '13d259d4'
    """
    facts: dict[str, object] = {
        "name": world.name,
        "variant": world.variant,
        "seed": world.seed,
        "cwd": world.cwd,
        "user": world.user,
    }
    facts |= {name: value for name in ("base", "clock_s", "like") if (value := getattr(world, name)) is not None}
    if world.hidden:
        facts["hidden"] = sorted(world.hidden)
    scripts = (world.build, world.start or b"", world.setup or b"")
    return digest_of(canonical_json(facts), *scripts)


@lru_cache(maxsize=4096)
def named(world: World) -> World:
    """Return a copy of a world. The copy's `layer` is the digest of all inputs to the world's build."""
    return replace(world, layer=layer_digest(world))


@dataclass(frozen=True, slots=True)
class Request:
    """A request to execute one command in one variant of a world.

    `not_before` is the earliest start, as a value of `time.monotonic`. A command may run twice, so that the caller can
    compare the evidence. `run_key` is the evidence key and the number of the run: 0 or 1. `expected_s` is the expected
    duration in seconds. The pool begins the longest commands first. `is_alone` is true if no other command may use the
    core meanwhile, because the first try exceeded the wall-clock limit and may have lost an unknown time. The pool sets
    `origin` when it returns the request. These five values are not part of the evidence key.
    """

    world: World
    job: SandboxJob
    not_before: float = 0.0
    run_key: tuple[str, int] = ("", 0)
    expected_s: float = 0.0
    is_alone: bool = False
    origin: ExecutionOrigin | None = None

    @staticmethod
    def of(
        world: World,
        command: bytes,
        *,
        verify: bytes | None = None,
        observe: frozenset[str] = frozenset(),
        text_files: frozenset[bytes] = frozenset(),
        driver: bytes | None = None,
        answer: bytes | None = None,
        wall_s: float | None = None,
    ) -> Request:
        """Return a request for a command. If the world has no layer name, the digest of its inputs becomes the name."""
        world = world if world.layer else named(world)
        return Request(world, SandboxJob(world.layer, command, verify, observe, text_files, driver, answer, wall_s))

    def second_run(self) -> Request:
        """Return a request to run this command a second time. Both runs have the same evidence key."""
        return replace(self, run_key=(self.run_key[0], 1))


def machine_digest(manifest: SuiteManifest, fingerprint: str) -> bytes:
    """Return the digest of the inputs that all commands of a suite share: shell, limits, clock, environment, image.

    `fingerprint` is the digest of the image's properties that can affect evidence.
    """
    shared = manifest.model_dump(mode="json", include={"shell", "limits", "clock", "environment"})
    return digest_of(canonical_json(shared), fingerprint.encode()).encode()


class TaskKeys:
    """Computes the cache keys of the evidence of all commands for one task, in some variants of the task's world.

    `job` is a job of the task, whose command does not matter. `layers` maps each variant to its layer. `machine` is the
    result of `machine_digest` for the suite. Of a key, only the command and the layer differ between runs of a task, so
    everything else is encoded once.
    """

    def __init__(self, job: SandboxJob, layers: Mapping[str, str], machine: bytes) -> None:
        observed = _observed(job.observe, job.text_files, job.wall_s)
        driven = (job.driver or b"", job.answer or b"") if job.driver or job.answer else ()
        verify = b"" if job.verify is None else job.verify
        self._behind = {
            name: framed(verify, layer.encode(), observed, machine, *driven) for name, layer in layers.items()
        }

    def of(self, command: bytes) -> dict[str, str]:
        """Return the key of a command's evidence in each variant."""
        before = framed(command)
        return {name: hashlib.sha256(before + behind).hexdigest() for name, behind in self._behind.items()}


def evidence_key(request: Request, machine: bytes) -> str:
    """Return the cache key of a request's evidence. `machine` is the result of `machine_digest` for the suite."""
    return TaskKeys(request.job, {"": request.job.layer}, machine).of(request.job.command)[""]


@lru_cache(maxsize=1024)
def _observed(observe: frozenset[str], text_files: frozenset[bytes], wall_s: float | None) -> bytes:
    observed: dict[str, object] = {
        "observe": sorted(observe),
        "text_files": sorted(path.decode() for path in text_files),
    }
    return canonical_json(observed if wall_s is None else observed | {"wall_s": wall_s})


ExecutionResult = Evidence | InfraError
"""The result of a request: evidence, or the infrastructure error that prevented it."""
