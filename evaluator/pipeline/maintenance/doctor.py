"""Diagnose this machine: explain the state of its engine, and of each suite's base image and sandbox image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from evaluator.errors import BashboardError
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import SuiteManifest
from evaluator.sandbox.base import ensure_base, find_base
from evaluator.sandbox.benchmark import slowness
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.diagnostics import Fact, engine_facts
from evaluator.sandbox.engine import Engine, ensure_engine, find_engine
from evaluator.sandbox.image import KEPT, SuiteImage, earlier_images, find_image, prune_images, repair_image
from evaluator.sandbox.image_recipe import image_reference
from evaluator.sandbox.world_bases import find_world_base

SLOW: Final = 3.0
"""From this factor on, a command that is within its CPU limit on the reference machine may exceed the limit here."""


def machine_facts(project: Project, progress: Progress, *, fix: bool, test: bool = True) -> list[Fact]:
    """Return the entries of the `doctor` report about the container engine and the suites' images.

    If `fix` is set, first install, start and build the missing parts. If `test` is set, start a sandbox of each image,
    which tests itself and the speed of this machine. Raises MissingError if this machine has no engine. The error
    message ends with the command that installs or starts an engine.
    """
    engine = ensure_engine(os.environ, progress.say) if fix else find_engine(os.environ)
    facts = engine_facts(engine)
    manifests: dict[str, list[SuiteManifest]] = {}
    for suite in project.suites():
        manifests.setdefault(image_reference(suite.manifest), []).append(suite.manifest)
    for sharing in manifests.values():
        image, own = _image_facts(engine, sharing, progress, fix=fix)
        facts += own
        if test and image is not None:
            facts += _sandbox_facts(f"sandbox {sharing[0].name}", engine, WorkerPlan(image, sharing[0]))
    return facts


def _image_facts(
    engine: Engine, sharing: Sequence[SuiteManifest], progress: Progress, *, fix: bool
) -> tuple[SuiteImage | None, list[Fact]]:
    """Return an image, or None, and the entries about it and its bases. `sharing` are the suites with this image."""
    manifest, suites = sharing[0], ", ".join(each.name for each in sharing)
    name = manifest.base.release
    base = ensure_base(engine, name, progress.say) if fix else find_base(engine, name)
    image = repair_image(engine, manifest, progress.say) if fix else find_image(engine, manifest)
    facts = [Fact(f"base {name}", base.digest if base else "missing", base.why if base else "built when needed")]
    for name, each in manifest.bases.items():
        world_base = find_world_base(engine, name, each)
        state = "ready" if world_base.reference else "missing"
        facts.append(Fact(f"base {name}", state, world_base.why))
    if image is None:
        missing = Fact(f"image {manifest.name}", "missing", f"{image_reference(manifest)}, built when needed")
        return None, [*facts, missing]
    facts.append(
        Fact(f"image {manifest.name}", image.reference, f"its name contains a hash of all its inputs; suites: {suites}")
    )
    if fix:
        prune_images(engine, manifest)
    if earlier := earlier_images(engine, manifest):
        why = f"built from other inputs; {KEPT} are kept for other checkouts, and --fix removes older unused ones"
        facts.append(Fact("earlier images", str(len(earlier)), why))
    facts.append(Fact("fingerprint", image.fingerprint[:16], f"{image.architecture}, {len(image.packages)} packages"))
    why = "the image was built without this base; if a registry has it now, --fix builds the image again"
    facts += [Fact(f"worlds on {name}", "use the suite's base", why) for name in image.missing_bases]
    return image, facts


def _sandbox_facts(name: str, engine: Engine, plan: WorkerPlan) -> list[Fact]:
    """Check that a sandbox worker starts and that its jail isolates commands, and measure the speed of commands."""
    cpu_s = plan.manifest.limits.cpu_s
    try:
        worker = ContainerWorker(engine, plan)
    except BashboardError as error:
        return [Fact(name, "does not hold", str(error))]
    why = "; ".join(("a worker tested its own jail: capabilities, filter, mounts, clock", *worker.weaknesses))
    try:
        return [Fact(name, "holds", why), speed_fact(slowness(worker), cpu_s)]
    except BashboardError as error:
        return [Fact(name, "holds", why), Fact("speed", "unknown", str(error))]
    finally:
        worker.close()


def speed_fact(slowness: float, cpu_s: float) -> Fact:
    """Return the fact about this machine's speed. `slowness` is its CPU time divided by that of the reference machine.

    `cpu_s` is the suite's limit of CPU time in seconds.

    >>> speed_fact(1.31, 3.0)
    Fact(name='speed', value='1.3 x slower than the reference', why='CPU limit 3.0 s')
    """
    limit = f"CPU limit {cpu_s:.1f} s"
    if slowness > SLOW:
        limit += "; this limit may end commands that pass on the reference machine, so scores are only a preview"
    if round(slowness, 1) == 1:
        return Fact("speed", "as fast as the reference", limit)
    times = f"{slowness:.1f} x slower" if slowness > 1 else f"{1 / slowness:.1f} x faster"
    return Fact("speed", f"{times} than the reference", limit)
