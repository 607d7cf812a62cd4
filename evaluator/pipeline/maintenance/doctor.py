"""Diagnose this machine: explain the state of its engine, and of each suite's base image and sandbox image."""

from __future__ import annotations

import os
from collections.abc import Sequence

from evaluator.errors import BashboardError
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import SuiteManifest
from evaluator.sandbox.base import ensure_base, find_base
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.diagnostics import Fact, engine_facts
from evaluator.sandbox.engine import Engine, ensure_engine, find_engine
from evaluator.sandbox.image import KEPT, earlier_images, find_image, prune_images, repair_image
from evaluator.sandbox.image_recipe import image_reference
from evaluator.sandbox.world_bases import find_world_base


def machine_facts(project: Project, progress: Progress, *, fix: bool) -> list[Fact]:
    """Return the entries of the `doctor` report about the container engine and the suites' images.

    If `fix` is set, first install, start and build the missing parts. Raises MissingError if this machine has no
    engine. The error message ends with the command that installs or starts an engine.
    """
    engine = ensure_engine(os.environ, progress.say) if fix else find_engine(os.environ)
    facts = engine_facts(engine)
    manifests: dict[str, list[SuiteManifest]] = {}
    for suite in project.suites():
        manifests.setdefault(image_reference(suite.manifest), []).append(suite.manifest)
    for sharing in manifests.values():
        facts += _image_facts(engine, sharing, progress, fix=fix)
    return facts


def _image_facts(engine: Engine, sharing: Sequence[SuiteManifest], progress: Progress, *, fix: bool) -> list[Fact]:
    """Return the entries about an image and its bases. `sharing` are the suites with this image."""
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
        return [
            *facts,
            Fact(f"image {suites}", "missing", f"{image_reference(manifest)}, built when needed"),
        ]
    facts.append(Fact(f"image {suites}", image.reference, "its name contains a hash of all its inputs"))
    if fix:
        prune_images(engine, manifest)
    if earlier := earlier_images(engine, manifest):
        why = f"built from other inputs; {KEPT} are kept for other checkouts, and --fix removes older unused ones"
        facts.append(Fact("earlier images", str(len(earlier)), why))
    facts.append(Fact("fingerprint", image.fingerprint[:16], f"{image.architecture}, {len(image.packages)} packages"))
    why = "the image was built without this base; if a registry has it now, --fix builds the image again"
    facts += [Fact(f"worlds on {name}", "use the suite's base", why) for name in image.missing_bases]
    return [*facts, Fact(f"sandbox {suites}", *_sandbox(engine, WorkerPlan(image, manifest)))]


def _sandbox(engine: Engine, plan: WorkerPlan) -> tuple[str, str]:
    """Check that a sandbox worker starts and that its jail isolates commands. Return the result with an explanation."""
    try:
        worker = ContainerWorker(engine, plan)
    except BashboardError as error:
        return "does not hold", str(error)
    worker.close()
    return "holds", "; ".join(("a worker tested its own jail: capabilities, filter, mounts, clock", *worker.weaknesses))
