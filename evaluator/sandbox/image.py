"""The sandbox image of a suite: the container image in which the suite's commands run.

An image is built once for each set of inputs (packages, clock and files). Suites with equal inputs share it.
Another checkout or an earlier commit may need an image of earlier files, so the latest few images are kept. A build and
`doctor --fix` remove older images. They never remove an image without our label and tag, or an image that a container
uses.
"""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from docker.errors import APIError, ImageNotFound

from evaluator.errors import ImageError
from evaluator.records import SuiteManifest
from evaluator.sandbox.base import BaseImage, ensure_base
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image_build import build_image
from evaluator.sandbox.image_recipe import (
    REPOSITORY,
    build_arguments,
    build_context,
    declared_base,
    fingerprint,
    image_reference,
)
from evaluator.sandbox.leftovers import LABEL, owner_label
from evaluator.sandbox.world_bases import WorldBase, ensure_world_base

PACKAGES_FILE: Final = "/opt/bashboard/packages"

MISSING: Final = "=missing"
"""The end of a line in the list of packages. The line names a further base that the image lacks."""

BASE_LABEL: Final = "bashboard.declared-base"
"""The label of our images. Its value is the digest of the base that the image's suites declare."""

KEPT: Final = 3
"""The number of images of a suite's base that stay, besides the current one."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SuiteImage:
    """An image for the commands of a suite. `packages` lists the packages that commands see, as `name=version`.

    A package of a further base has the base's name and a slash before its own name.
    """

    reference: str
    image_id: str
    architecture: str
    packages: tuple[str, ...]
    manifest: SuiteManifest

    @property
    def fingerprint(self) -> str:
        """Return the digest of the image's properties that can affect the evidence of a command."""
        digest = fingerprint(self.architecture, self.packages)
        return self.manifest.mark_missing_bases(digest, self.missing_bases)

    @property
    def missing_bases(self) -> tuple[str, ...]:
        """Return the names of the suite's further bases that the image lacks. Their worlds use the suite's base."""
        return tuple(name.removesuffix(MISSING) for name in self.packages if name.endswith(MISSING))


def find_image(engine: Engine, manifest: SuiteManifest) -> SuiteImage | None:
    """Return the suite's image, or None if it does not exist. Raises EngineError if the engine fails."""
    reference = image_reference(manifest)
    with engine_errors(f"the engine could not show {reference}"):
        try:
            attributes = engine.client.images.get(reference).attrs
        except ImageNotFound:
            return None
        packages = _read_file(engine, reference, PACKAGES_FILE).decode().split()
    return SuiteImage(reference, attributes["Id"], attributes["Architecture"], tuple(packages), manifest)


def ensure_image(engine: Engine, manifest: SuiteManifest, progress: Progress) -> SuiteImage:
    """Return the suite's image, and build it first if it is missing.

    Raises ImageError if the build fails. The message contains the last lines of the build's output.
    """
    if image := find_image(engine, manifest):
        return image
    base = ensure_base(engine, manifest.base.release, progress)
    world_bases = [ensure_world_base(engine, name, each, progress) for name, each in manifest.bases.items()]
    for missing in (each for each in world_bases if each.reference is None):
        progress(f"base {missing.name} is missing, so its worlds use {manifest.base}: {missing.why}")
    _build(engine, base, world_bases, manifest, progress)
    if image := find_image(engine, manifest):
        prune_images(engine, manifest)
        return image
    raise ImageError(f"{image_reference(manifest)} was built, but the engine does not list it")


def repair_image(engine: Engine, manifest: SuiteManifest, progress: Progress) -> SuiteImage:
    """Return the suite's image. Build it if it is missing, or if it lacks a base that an image registry has now.

    Raises the same errors as `ensure_image`.
    """
    image = ensure_image(engine, manifest, progress)
    lacking = {name: manifest.bases[name] for name in image.missing_bases if name in manifest.bases}
    if not any(ensure_world_base(engine, name, base, progress).reference for name, base in lacking.items()):
        return image
    with engine_errors(f"the engine could not remove {image.reference}"):
        engine.client.images.remove(image.reference, noprune=True)
    return ensure_image(engine, manifest, progress)


def earlier_images(engine: Engine, manifest: SuiteManifest) -> list[str]:
    """Return the tags of images of the suite's base that were built from other files, the latest first.

    Another checkout or an earlier commit may need them. Images for other packages or another clock are not listed,
    because another suite may need them.
    """
    current = image_reference(manifest)
    with engine_errors("the engine could not list the sandbox images"):
        images = engine.client.images.list(filters={"label": f"{BASE_LABEL}={declared_base(manifest)}"})
    images.sort(key=lambda image: str(image.attrs["Created"]), reverse=True)
    tags = [tag.rpartition("/")[2] for image in images for tag in image.tags]  # podman puts a registry before them
    return [tag for tag in tags if tag.startswith(f"{REPOSITORY}:{manifest.base.release}-") and tag != current]


def prune_images(engine: Engine, manifest: SuiteManifest) -> list[str]:
    """Remove the tags of the suite's earlier images except the latest few, and return the removed tags.

    The engine removes an image when the image loses its last tag.
    """
    removed = []
    for tag in earlier_images(engine, manifest)[KEPT:]:
        with contextlib.suppress(APIError):  # a container uses it, or another process removed it first
            engine.client.images.remove(tag)
            removed.append(tag)
    return removed


def _build(
    engine: Engine,
    base: BaseImage,
    world_bases: Sequence[WorldBase],
    manifest: SuiteManifest,
    progress: Progress,
) -> None:
    progress(f"building the sandbox image of suite {manifest.name} (once; a minute or two)")
    context = build_context({base.name: base.reference for base in world_bases if base.reference})
    arguments = {"ROOT": base.reference, **build_arguments(manifest)}
    build_image(engine, context, image_reference(manifest), arguments, {BASE_LABEL: declared_base(manifest)}, progress)


def _read_file(engine: Engine, image: str, path: str) -> bytes:
    """Return the content of a file in an image. It is read through a container that is never started."""
    container = engine.client.api.create_container(image, ["true"], labels={LABEL: owner_label(os.getpid())})
    try:
        chunks, _ = engine.client.api.get_archive(container["Id"], path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            member = archive.extractfile(path.rsplit("/", 1)[-1])
            if member is None:
                raise ImageError(f"{image} has no file {path}")
            return member.read()
    finally:
        engine.client.api.remove_container(container["Id"], force=True)
