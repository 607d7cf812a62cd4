"""What is asked of the sandbox, and the key under which its answer holds.

Two requests with one key give the same evidence, whoever asks and whenever: the key covers the command's
bytes, everything the world is built from, what is observed, the limits, the clock and the base's packages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evaluator.errors import InfraError
from evaluator.records import Evidence, SuiteManifest, canonical_json, digest_of
from evaluator.sandbox.runner.protocol import SandboxJob, World


def layer_digest(world: World) -> str:
    """Digest of everything one variant of a world is built from, a task's set-up included.

    >>> layer_digest(World("", "w", "a", 1, b"true", None, None, "/srv", "root"))[:8]
    '9a9c8a5e'
    """
    facts = {"name": world.name, "variant": world.variant, "seed": world.seed, "cwd": world.cwd, "user": world.user}
    scripts = (world.build, world.start or b"", world.setup or b"")
    return digest_of(canonical_json(facts), *scripts)


def named(world: World) -> World:
    """The world with its digest as the name of its layer."""
    return replace(world, layer=layer_digest(world))


@dataclass(frozen=True, slots=True)
class Request:
    """One execution of a command in one variant of a world, at `not_before` (`time.monotonic`) or later.

    `run_key` identifies the execution to the caller: the evidence key, and 0 for the first run or 1 for the second.
    `is_retry` is set if an earlier try ended at the wall clock. Neither is part of the evidence key.
    """

    world: World
    job: SandboxJob
    not_before: float = 0.0
    run_key: tuple[str, int] = ("", 0)
    is_retry: bool = False

    @staticmethod
    def of(
        world: World,
        command: bytes,
        *,
        verify: bytes | None = None,
        observe: frozenset[str] = frozenset(),
        text_files: frozenset[bytes] = frozenset(),
    ) -> Request:
        """A request whose world is named by its digest, as `named` names it."""
        world = world if world.layer else named(world)
        return Request(world, SandboxJob(world.layer, command, verify, observe, text_files))

    def second_run(self) -> Request:
        """Return the request of the second run under the same evidence key."""
        return replace(self, run_key=(self.run_key[0], 1))


def machine_digest(manifest: SuiteManifest, fingerprint: str) -> bytes:
    """Digest of what is the same for every command of a suite: limits, clock, environment, base."""
    shared = manifest.model_dump(mode="json", include={"shell", "limits", "clock", "environment"})
    return digest_of(canonical_json(shared), fingerprint.encode()).encode()


def evidence_key(request: Request, machine: bytes) -> str:
    """The key of a request's evidence; `machine` is the suite's `machine_digest`."""
    job = request.job
    asked = {"observe": sorted(job.observe), "text_files": sorted(path.decode() for path in job.text_files)}
    verify = b"" if job.verify is None else job.verify
    return digest_of(job.command, verify, job.layer.encode(), canonical_json(asked), machine)


ExecutionResult = Evidence | InfraError
"""What became of a request: evidence, or the failure of ours that kept us from having any."""
