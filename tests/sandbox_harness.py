"""A bench for tests that execute commands: one worker container, small worlds, evidence in a line.

It speaks to the worker as the pool does, but retries nothing: a worker that dies under a test is what the test
wants to hear about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from evaluator.records import Evidence
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.requests import Request, layer_digest
from evaluator.sandbox.runner.protocol import World

BUILD = b"""
set -eu
mkdir -p /srv/tiny/full /srv/tiny/empty
cd /srv/tiny
printf 'alpha\\nbeta\\n' > file
printf 'same\\n' > full/one
printf 'same\\n' > full/two
printf 'kept\\n' > full/.hidden
printf '#!/bin/sh\\necho ran\\n' > tool; chmod 755 tool
ln -s file link
ln full/one hard
mkfifo pipe
echo "$VARIANT $SEED" > built
printf 'tess:x:1500:1600::/home/tess:/bin/bash\\n' >> /etc/passwd
printf 'tess:x:1600:\\ncrew:x:1700:tess\\n' >> /etc/group
mkdir -p /home/tess; chown 1500:1600 /home/tess
"""

TINY = World("", "tiny", "plain", 7, BUILD, None, None, "/srv/tiny", "root")
TESS = replace(TINY, cwd="/home/tess", user="tess")


@dataclass(frozen=True, slots=True)
class Shown:
    """A job's evidence, and whether the wall clock ended it."""

    evidence: Evidence
    by_wall: bool


class SandboxHarness:
    """One worker of one suite. `place` is the CPU it is pinned to."""

    def __init__(self, engine: Engine, plan: WorkerPlan) -> None:
        self.engine, self.plan = engine, plan
        self.worker = ContainerWorker(engine, plan)
        self._known: set[str] = set()

    def show(
        self,
        command: str | bytes,
        *,
        world: World = TINY,
        observe: Iterable[str] = (),
        verify: bytes | None = None,
        text_files: Iterable[str] = (),
        timeout_s: float = 120,
    ) -> Shown:
        """Run one command. Raises AssertionError with the runner's words where it could not be run."""
        request = Request.of(
            world,
            command.encode() if isinstance(command, str) else command,
            verify=verify,
            observe=frozenset(observe),
            text_files=frozenset(path.encode() for path in text_files),
        )
        answer = self.ask(request, timeout_s)
        assert "error" not in answer, answer["error"]
        return Shown(Evidence.model_validate(answer["evidence"]), answer["by_wall"])

    def ask(self, request: Request, timeout_s: float = 120) -> dict[str, Any]:
        """The runner's own line for a request."""
        if request.world.layer not in self._known:
            self.worker.tell(request.world.to_line())
            self._known.add(layer_digest(request.world))
        return self.worker.ask(request.job.to_line(), timeout_s)

    def run(self, command: str | bytes, **asked: Any) -> Evidence:
        """The evidence of one command; arguments as for `show`."""
        return self.show(command, **asked).evidence

    def close(self) -> None:
        """Take the worker down."""
        self.worker.close()


def planned(plan: WorkerPlan, **limits: float) -> WorkerPlan:
    """The same plan with other limits; limits are no part of the image."""
    manifest = plan.manifest
    return replace(plan, manifest=manifest.model_copy(update={"limits": manifest.limits.model_copy(update=limits)}))
