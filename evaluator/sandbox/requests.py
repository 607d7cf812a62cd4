"""Requests to the sandbox, and the keys of their evidence.

Requests with the same key always have the same evidence. The key covers the command's bytes, all inputs of the
world's build, the observed parts, the limits, the clock and the packages of the base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evaluator.errors import InfraError
from evaluator.records import Evidence, SuiteManifest, canonical_json, digest_of
from evaluator.sandbox.runner.protocol import SandboxJob, World
from evaluator.sandbox.worker import ExecutionOrigin


def layer_digest(world: World) -> str:
    """Return the digest of all inputs to the build of a world's variant, including the task's set-up.

    >>> layer_digest(World("", "w", "a", 1, b"true", None, None, "/srv", "root"))[:8]
    '13d259d4'
    """
    facts = {"name": world.name, "variant": world.variant, "seed": world.seed, "cwd": world.cwd, "user": world.user}
    scripts = (world.build, world.start or b"", world.setup or b"")
    return digest_of(canonical_json(facts), *scripts)


def named(world: World) -> World:
    """Return a copy of the world whose layer name is the world's digest."""
    return replace(world, layer=layer_digest(world))


@dataclass(frozen=True, slots=True)
class Request:
    """A request to execute one command in one variant of a world, not before `not_before` (a `time.monotonic` value).

    `run_key` identifies the run for the caller. It is the evidence key with 0 (first run) or 1 (second run). `is_retry`
    is true if the first try exceeded the wall-clock limit. The pool sets `origin` in the request that it yields with a
    result, to the execution that gave the result. None of these fields is part of the evidence key.
    """

    world: World
    job: SandboxJob
    not_before: float = 0.0
    run_key: tuple[str, int] = ("", 0)
    is_retry: bool = False
    origin: ExecutionOrigin | None = None

    @staticmethod
    def of(
        world: World,
        command: bytes,
        *,
        verify: bytes | None = None,
        observe: frozenset[str] = frozenset(),
        text_files: frozenset[bytes] = frozenset(),
    ) -> Request:
        """Return a request for a command. A world without a layer name gets its digest as the name."""
        world = world if world.layer else named(world)
        return Request(world, SandboxJob(world.layer, command, verify, observe, text_files))

    def second_run(self) -> Request:
        """Return a request for the second run of this command, with the same evidence key."""
        return replace(self, run_key=(self.run_key[0], 1))


def machine_digest(manifest: SuiteManifest, fingerprint: str) -> bytes:
    """Return the digest of the common inputs of all commands of a suite: limits, clock, environment and base."""
    shared = manifest.model_dump(mode="json", include={"shell", "limits", "clock", "environment"})
    return digest_of(canonical_json(shared), fingerprint.encode()).encode()


def evidence_key(request: Request, machine: bytes) -> str:
    """Return the cache key of a request's evidence. `machine` is the suite's `machine_digest`."""
    job = request.job
    observed = {"observe": sorted(job.observe), "text_files": sorted(path.decode() for path in job.text_files)}
    verify = b"" if job.verify is None else job.verify
    return digest_of(job.command, verify, job.layer.encode(), canonical_json(observed), machine)


ExecutionResult = Evidence | InfraError
"""The result of a request: evidence, or the infrastructure error that prevented it."""
