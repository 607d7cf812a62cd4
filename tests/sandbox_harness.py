"""A harness for tests that execute commands: one worker container, small worlds, and evidence in one call.

It uses the worker as the pool does, but without retries, because a worker that dies is a result of the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from evaluator.records import Evidence
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.requests import Request, layer_digest
from evaluator.sandbox.runner.protocol import World
from evaluator.sandbox.worker import RetiredError

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

SLOWNESS = float(os.environ.get("BASHBOARD_SLOWNESS", "1"))
"""The ratio of this machine's time to an ordinary machine's time. It is set on emulated machines for larger limits."""

ANSWER_S = 120 * SLOWNESS
"""The longest wait for the evidence of a job."""

TINY = World("", "tiny", "plain", 7, BUILD, None, None, "/srv/tiny", "root")
TESS = replace(TINY, cwd="/home/tess", user="tess")


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job's evidence, whether the wall clock ended the job, and whether the job's lost time is known then."""

    evidence: Evidence
    by_wall: bool
    lost_time_known: bool


class SandboxHarness:
    """One worker of one suite, and the worlds that it has received.

    `retired` lists the reasons for which a runner refused a job. The harness then replaces the worker.
    """

    def __init__(self, engine: Engine, plan: WorkerPlan) -> None:
        self.engine, self.plan = engine, plan
        self.retired: list[str] = []
        self._open()

    def _open(self) -> None:
        self.worker = ContainerWorker(self.engine, self.plan)
        self._known: set[str] = set()

    def show(
        self,
        command: str | bytes,
        *,
        world: World = TINY,
        observe: Iterable[str] = (),
        verify: bytes | None = None,
        text_files: Iterable[str] = (),
        driver: bytes | None = None,
        answer: bytes | None = None,
        wall_s: float | None = None,
        timeout_s: float = ANSWER_S,
    ) -> JobResult:
        """Run one command and return its result. Raise AssertionError with the runner's message if it cannot run."""
        request = Request.of(
            world,
            command.encode() if isinstance(command, str) else command,
            verify=verify,
            observe=frozenset(observe),
            text_files=frozenset(path.encode() for path in text_files),
            driver=driver,
            answer=answer,
            wall_s=wall_s,
        )
        reply = self.ask(request, timeout_s)
        assert "error" not in reply, reply["error"]
        return JobResult(Evidence.model_validate(reply["evidence"]), reply["by_wall"], reply["lost_time_known"])

    def ask(self, request: Request, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """Return the runner's answer to a request. If the runner refuses the request, send it to a new worker."""
        try:
            return self._ask(request, timeout_s)
        except RetiredError as error:
            self.retired.append(str(error))
            self.close()
            self._open()
            return self._ask(request, timeout_s)

    def _ask(self, request: Request, timeout_s: float) -> dict[str, Any]:
        if request.world.layer not in self._known:
            self.worker.tell(request.world.to_line())
            self._known.add(layer_digest(request.world))
        return self.worker.ask(request.job.to_line(), timeout_s)

    def run(self, command: str | bytes, **options: Any) -> Evidence:
        """Return the evidence of one command. The arguments are those of `show`."""
        return self.show(command, **options).evidence

    def close(self) -> None:
        """Remove the worker."""
        self.worker.close()


def planned(plan: WorkerPlan, **limits: float) -> WorkerPlan:
    """Return the plan with other limits, which are not part of the image. `cpu_s` is multiplied by SLOWNESS."""
    if "cpu_s" in limits:
        limits["cpu_s"] *= SLOWNESS
    manifest = plan.manifest
    return replace(plan, manifest=manifest.model_copy(update={"limits": manifest.limits.model_copy(update=limits)}))
